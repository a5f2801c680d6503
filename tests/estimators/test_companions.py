"""Packages that take models of ours, or whose objects hold rows: BERTopic and AnnData, if they are installed."""

import numpy as np
import pytest

from mdh_dask import DensityTree, HierarchicalMDH, RandomProjectionTree

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs

TOPICS = ("rain wind storm", "goal match team", "bank rate loan", "virus cell drug")


@pytest.fixture(scope="module")
def labels():
    return np.random.default_rng(0).integers(len(TOPICS), size=800)


@pytest.fixture(scope="module")
def rows(labels):
    rng = np.random.default_rng(1)
    return 4 * rng.normal(size=(len(TOPICS), 30))[labels] + rng.normal(size=(len(labels), 30))


@pytest.mark.parametrize("cls", [RandomProjectionTree, HierarchicalMDH, DensityTree])
def test_models_are_the_cluster_model_of_bertopic(cls, rows, labels):
    pytest.importorskip("hdbscan")  # without which BERTopic.transform fails for any model
    bertopic = pytest.importorskip("bertopic")
    from bertopic.dimensionality import BaseDimensionalityReduction

    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(f"{TOPICS[y]} the said".split(), 10)) for y in labels]
    model = bertopic.BERTopic(
        embedding_model=None,
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=cls(),
        calculate_probabilities=False,
    )
    topics, _ = model.fit_transform(texts, rows)
    for topic in range(len(TOPICS)):
        own = {TOPICS[y] for y in labels[np.array(topics) == topic]}
        assert len(own) == 1
        assert {*own.pop().split()} <= {word for word, _ in model.get_topic(topic)}
    assert model.transform(texts[:9], rows[:9])[0] == topics[:9]


def test_principal_components_of_anndata_give_a_column_of_its_cells(rows, labels, tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(rows.astype(np.float32), obsm={"X_pca": rows})
    model = HierarchicalMDH().fit(cells.obsm["X_pca"])
    cells.obs["cluster"], cells.obs["confidence"] = model.labels_, model.probabilities_
    cells.obs["cluster"] = cells.obs["cluster"].astype("category")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    np.testing.assert_array_equal(again.obs["cluster"].astype(int), model.predict(again.obsm["X_pca"]))
    assert len({*zip(model.labels_, labels)}) == model.n_clusters_ == len(TOPICS)
