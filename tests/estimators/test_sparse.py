"""Sparse rows have the models and labels of the same rows as a dense array, whatever their form and chunks."""

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import in_turns
from scipy.sparse import coo_array, csc_matrix, csr_array, random_array

from mdh_dask import (
    DensityTree,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    KernelKMeans,
    MinimumDensityHyperplane,
    RandomProjectionTree,
    TruncatedSVDFeatures,
    drift,
    load_model,
)
from mdh_dask._sparse import SparseRows, sparse_rows
from mdh_dask.chunks import reduce_rows, sparse_blocks
from mdh_dask.kernels.truncated_svd import SparseSamplePass, TruncatedSVDMap
from mdh_dask.metrics import adjusted_rand_index


def mostly_zeros(n_rows=240, n_columns=5):
    """Three groups of rows with more zeros than other values."""
    rng = np.random.default_rng(0)
    centres = 6.0 * rng.integers(0, 2, (3, n_columns))
    rows = centres[np.arange(n_rows) % 3] + rng.normal(size=(n_rows, n_columns))
    return np.where(np.abs(rows) < 1, 0.0, rows)


def words(n_rows=300, n_columns=1500):
    """Counts of words of three topics."""
    rng = np.random.default_rng(1)
    rows = rng.poisson(0.02, (n_rows, n_columns))
    for topic in range(3):
        own = slice(topic * n_columns // 3, (topic + 1) * n_columns // 3)
        rows[topic::3, own] += rng.poisson(0.3, rows[topic::3, own].shape)
    return rows.astype(np.float32)


def blocks(rows, make=csr_array, chunks=(70, 4)):
    """The rows in a Dask array of sparse blocks, several for the columns."""
    meta = make(np.zeros((1, rows.shape[1]), rows.dtype))[:0]
    return da.from_array(rows, chunks=chunks).map_blocks(make, dtype=rows.dtype, meta=meta)


@pytest.fixture(scope="module")
def rows():
    return mostly_zeros()


@pytest.fixture(scope="module")
def texts():
    return words()


@pytest.mark.slow
@pytest.mark.parametrize("form", [csc_matrix, coo_array, lambda rows: csr_array(rows.astype(np.float32))])
def test_any_format_of_scipy_is_taken(rows, form):
    rows = rows.astype(np.float32)
    np.testing.assert_array_equal(
        RandomProjectionTree(n_projections=50).fit(form(rows)).labels_,
        RandomProjectionTree(n_projections=50).fit(rows).labels_,
    )


def test_values_of_one_place_are_added_without_changing_the_input():
    twice = csr_array((np.ones(3), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    np.testing.assert_array_equal(sparse_rows(twice).dense(), [[0, 2], [1, 0]])
    assert twice.nnz == 3


def test_arrays_of_the_package_sparse_are_taken(rows):
    sparse = pytest.importorskip("sparse")
    dense = RandomProjectionTree(n_projections=50).fit(rows)
    lazy = da.from_array(rows, chunks=(70, 4)).map_blocks(sparse.COO, dtype=float, meta=sparse.COO(np.zeros((0, 0))))
    np.testing.assert_array_equal(RandomProjectionTree(n_projections=50).fit(sparse.COO(rows)).labels_, dense.labels_)
    np.testing.assert_array_equal(RandomProjectionTree(n_projections=50).fit(lazy).labels_.compute(), dense.labels_)


@pytest.mark.slow
def test_profiles_drift_and_updates_are_those_of_dense_rows(rows, tmp_path):
    dense, sparse = RandomProjectionTree().fit(rows), RandomProjectionTree().fit(csr_array(rows))
    texts = []
    for model, X in ((dense, rows), (sparse, csr_array(rows)), (sparse, blocks(rows))):
        model.report(tmp_path / "r.html", X, overwrite=True)
        texts.append((tmp_path / "r.html").read_text())
    assert texts[0] == texts[1] == texts[2]
    expected = drift(dense, rows[:120])
    for X in (csr_array(rows[:120]), blocks(rows[:120])):
        np.testing.assert_array_equal(drift(sparse, X).new.n_rows, expected.new.n_rows)
    np.testing.assert_array_equal(sparse.partial_fit(blocks(rows)).tree_.bins, dense.partial_fit(rows).tree_.bins)


class TestManyColumns:
    """Sparse rows of many columns are mapped to singular vectors and never become dense."""

    @pytest.mark.slow
    @pytest.mark.parametrize("cls", [RandomProjectionTree, HierarchicalMDH, DensityTree])
    def test_trees_find_topics_and_save_the_map(self, texts, cls, tmp_path):
        model = cls().fit(csr_array(texts))
        assert adjusted_rand_index(np.arange(300) % 3, model.labels_) == 1
        assert isinstance(model.feature_map_.map_, TruncatedSVDMap)
        model.save(tmp_path / "m.zarr")
        again = load_model(tmp_path / "m.zarr")
        np.testing.assert_array_equal(again.predict(csr_array(texts)), model.labels_)
        np.testing.assert_array_equal(again.exemplars_, texts[model.exemplar_indices_])

    @pytest.mark.slow
    def test_features_are_products_with_singular_vectors_of_length_one_or_as_they_are(self, texts):
        texts = texts[:60, :1200]
        _, singular, vectors = np.linalg.svd(texts.astype(np.float64), full_matrices=False)
        made = TruncatedSVDFeatures(n_components=3).fit(csr_array(texts))
        products = np.abs(texts @ vectors[:3].T)
        of_length_one = products / np.linalg.norm(products, axis=1, keepdims=True)
        np.testing.assert_allclose(np.abs(made.transform(csr_array(texts))), of_length_one, atol=1e-3)
        longer = TruncatedSVDFeatures(n_components=3, unit_length=False).fit_transform(csr_array(texts))
        np.testing.assert_allclose(np.abs(longer), products, atol=0.01)
        np.testing.assert_allclose(made.eigenvalues_, singular[:3] ** 2 / 60, rtol=1e-3)

    @pytest.mark.slow
    def test_rows_do_not_become_dense_but_for_the_few_that_are_remembered(self, texts, monkeypatch):
        dense = SparseRows.dense

        def few(rows):
            assert len(rows) < 40, f"{rows.shape} became dense"
            return dense(rows)

        monkeypatch.setattr(SparseRows, "dense", few)
        model = RandomProjectionTree(n_projections=50)
        with dask.config.set(scheduler="synchronous"):
            model.fit(blocks(texts, chunks=(100, 1500))).confidence(csr_array(texts))
            assert model.predict(blocks(texts)).compute().shape == (300,)

    @pytest.mark.parametrize(
        ("model", "remedy"),
        [
            (HierarchicalKernelMDH(), "TruncatedSVDFeatures"),
            (KernelKMeans(n_clusters=2, feature_map="rbf"), "feature_map='truncated_svd'"),
            (RandomProjectionTree(merge=True), "TruncatedSVDFeatures"),
        ],
    )
    def test_models_that_need_dense_samples_name_a_remedy(self, texts, model, remedy):
        with pytest.raises(ValueError, match=f"at most 1000 columns of sparse ones.*got 1500 columns.*{remedy}"):
            model.fit(csr_array(texts))


@pytest.mark.parametrize(("most", "chunks"), in_turns([1, 7, 40, 90, 10**6], [(1, 20, 9, 30), (1,) * 60]))
def test_a_sample_of_limited_values_is_the_same_for_any_chunks(most, chunks):
    X = random_array((60, 30), density=0.1, rng=0).toarray()
    X[::4] = 1  # chunks behind such a long row, by hashes, may have room for a short one
    X = csr_array(X)
    statistic = SparseSamplePass(3, 2**63, most)
    whole = statistic.chunk(0, sparse_rows(X))
    chunked = reduce_rows(statistic, sparse_blocks(blocks(X.toarray(), chunks=(chunks, 30))))
    for a, b in zip(whole, chunked):
        np.testing.assert_array_equal(a, b)
    assert len(whole.data) <= most or len(whole.hashes) == 1


@pytest.mark.parametrize(("value", "n_columns"), in_turns([np.nan, np.inf], [5, 1500]))
def test_stored_values_that_are_not_finite_are_refused_with_their_row(value, n_columns):
    X = np.zeros((20, n_columns))
    X[:, 0], X[7, 3] = np.arange(20), value
    with pytest.raises(ValueError, match=r"expected finite values.*in row 7\."):
        RandomProjectionTree().fit(csr_array(X))
    model = RandomProjectionTree().fit(csr_array(np.nan_to_num(X, posinf=0)))
    with pytest.raises(ValueError, match="the first in its row 7"):
        model.predict(csr_array(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"missing": "mean"}, "expected missing='error' for sparse rows"),
        ({"column_types": {"ordinal": [0]}}, "kinds of"),
    ],
)
def test_parameters_for_other_tables_are_refused(rows, parameters, message):
    with pytest.raises(ValueError, match=message):
        RandomProjectionTree(**parameters).fit(csr_array(rows))


def test_blocks_that_dask_takes_for_dense_ones_are_refused_with_a_remedy(rows):
    hidden = da.from_delayed(dask.delayed(csr_array)(rows), rows.shape, float)
    with pytest.raises(TypeError, match=r"expected dense rows; got a sparse csr_array.*meta=scipy\.sparse"):
        MinimumDensityHyperplane().fit(hidden)
