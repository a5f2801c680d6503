"""What a fitted tree knows of its columns: their names, and how much they vary among the rows of every node."""

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from trees import four_groups

from mdh_dask import (
    PDDP,
    DivisiveClustering,
    HierarchicalMDH,
    MinimumDensityHyperplane,
    PCATree,
    RandomProjectionTree,
)
from mdh_dask.report import write_report

MODELS = [
    RandomProjectionTree(n_projections=100),
    HierarchicalMDH(),
    PCATree(),
    PDDP(max_clusters=2),
    MinimumDensityHyperplane(),
]


def people(n=2000, seed=0):
    """Rows of two groups that differ in a column of large numbers only, in a frame."""
    rng = np.random.default_rng(seed)
    income = np.repeat([20_000.0, 90_000.0], n // 2) + rng.normal(0, 5000, n)
    others = {"age": rng.normal(45, 12, n), "height": rng.normal(1.7, 0.1, n), "rooms": rng.normal(4, 1, n)}
    return pa.table(others | {"income": income})


def rows_of_nodes(tree, rows):
    """Yield the rows of every node."""
    leaf, level = tree.apply(rows), tree.level
    for node in range(tree.n_nodes):
        after = next((other for other in range(node + 1, tree.n_nodes) if level[other] <= level[node]), tree.n_nodes)
        yield rows[(leaf >= node) & (leaf < after)]


@pytest.mark.parametrize(
    "model", [RandomProjectionTree(n_projections=100), HierarchicalMDH(), MinimumDensityHyperplane()]
)
def test_the_cause_of_a_split_is_named_first_whatever_its_unit(model, tmp_path):
    frame = people()
    model = clone(model).fit(frame)
    for unit in (1.0, 1e-9):
        tree = clone(model).fit(np.asarray(frame) * [1, 1, 1, unit]).tree_
        assert tree.to_text().split("  ")[1].startswith(f"{tree.planes[0, 3]:.3g}*x3 ")
        assert tree.to_dict()["nodes"][0]["features"][0]["name"] == "x3"
    report = write_report(tmp_path / "r.html", model.tree_, title="t", facts={}).read_text(encoding="utf-8")
    assert f"<i>v·x</i> = {model.tree_.planes[0, 3]:.3g}*income" in report


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_deviations_are_those_of_the_rows_of_the_node(model):
    rows = four_groups() * [1, 1e3, 1e-5]
    tree = clone(model).fit(rows).tree_
    for deviation, own in zip(tree.deviations, rows_of_nodes(tree, rows)):
        np.testing.assert_allclose(deviation, own.std(axis=0), rtol=2**-12)


@pytest.mark.parametrize("options", [{"sample_size": 500}, {"sample_size": None}, {"sample_size": 500, "refine": True}])
def test_deviations_of_many_rows_come_from_samples_without_a_pass(options):
    rows = four_groups(40_000)
    model = DivisiveClustering(n_projections=30, **options).fit(rows)
    assert model.n_clusters_ == 4
    for deviation, own in zip(model.tree_.deviations, rows_of_nodes(model.tree_, rows)):
        np.testing.assert_allclose(deviation, own.std(axis=0), rtol=0.15)
    lazy = clone(model).fit(da.from_array(rows, chunks=(7_001, 3)))
    np.testing.assert_array_equal(lazy.tree_.deviations, model.tree_.deviations)
    assert lazy.n_passes_ == model.n_passes_ == {500: 2, None: 4}[options["sample_size"]] + 5 * ("refine" in options)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_deviations_of_the_largest_and_smallest_numbers_are_finite(size):
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 2)) * [1, size]
    tree = (
        RandomProjectionTree(n_projections=20, scale=False).fit(rows * [1, 1]).tree_
        if size < 1
        else PCATree().fit(rows).tree_
    )
    np.testing.assert_allclose(tree.deviations[0] / [1, size], rows.std(axis=0) / [1, size], rtol=1e-3)
