"""What holds for every estimator, whatever its options: about counts and about the units of rows and directions."""

from itertools import cycle, islice

import numpy as np
import pytest
from helpers import in_turns
from sklearn.base import clone

from mdh_dask import (
    PDDP,
    DePDDP,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    ICATree,
    MinimumDensityHyperplane,
    PCATree,
    ProjectionPursuitTree,
    drift,
)
from mdh_dask.projections import PROJECTIONS
from mdh_dask.simulate import gaussian_mixture
from mdh_dask.splits.rules import CRITERIA

ANY = {"stop_rule": "none", "min_cluster_size": 20}
"""Every split that can be placed is made, so that there are many."""

MODELS = {
    "random": DivisiveClustering(n_projections=30, **ANY),
    "random, refined": DivisiveClustering(n_projections=30, refine=True, **ANY),
    "sphere, by variance": DivisiveClustering(projection="achlioptas", n_projections=20, criterion="variance", **ANY),
    "at the mean, by scatter": DivisiveClustering(
        projection="pca", n_projections=2, threshold_rule="mean", order="scatter", max_clusters=9, **ANY
    ),
    "pca, in gaps": PCATree().as_divisive(**ANY, threshold_rule="gap"),
    "pca, refined": PCATree().as_divisive(**ANY, refine=True),
    "ica": ICATree().as_divisive(**ANY),
    "PDDP": PDDP(),
    "mdh, refined": HierarchicalMDH(starts="pca2").as_divisive(**ANY, refine=True),
    "hyperplane, refined": MinimumDensityHyperplane(starts="pca2", refine=True),
    "kernel mdh": HierarchicalKernelMDH(starts="pca2", feature_map="quadratic").as_divisive(**ANY),
    "kernel dePDDP": DePDDP(feature_map="quadratic", min_cluster_size=20),
    "pursuit": ProjectionPursuitTree(n_projections=60),
}

SAMPLES = {"all rows in the sample": {}, "several passes": {"sample_size": 60}, "raw columns": {"scale": False}}


def each(start):
    """Each model with one of the options, which take turns from one of them."""
    turns = islice(cycle(SAMPLES.items()), start, None)
    cases = {f"{name}, {turn[0]}": (model, turn[1]) for (name, model), turn in zip(MODELS.items(), turns)}
    marks = [pytest.mark.nightly if i > 3 and start else () for i in range(len(cases))]
    parameters = [pytest.param(*case, marks=mark, id=name) for mark, (name, case) in zip(marks, cases.items())]
    return pytest.mark.parametrize(("model", "options"), parameters)


def tied_rows():
    """Rows of which many have the same projections, and many lie where splits do."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    return {
        "a line": np.outer(np.arange(41), np.ones(2)),
        "a grid of thirds": grid / 3,
        "few integers": rng.integers(0, 3, (400, 3)),
        "a single column of tenths": rng.integers(0, 5, (500, 1)) * 0.1,
        "integers far from zero": rng.integers(0, 6, (500, 2)) + 1000,
    }


@each(0)
def test_the_counts_of_the_tree_are_those_of_the_labels_though_rows_lie_on_the_splits(model, options):
    model = clone(model).set_params(**options)
    for name, rows in tied_rows().items():
        tree = model.fit(rows).tree_
        inner = tree.left >= 0
        counts = np.bincount(model.labels_, minlength=tree.n_leaves)
        np.testing.assert_array_equal(tree.cluster_rows, counts, err_msg=name)
        children = tree.n_rows[tree.left[inner]] + tree.n_rows[tree.right[inner]]
        np.testing.assert_array_equal(tree.n_rows[inner], children, err_msg=name)
        assert tree.n_rows[0] == len(rows)
        for node in range(tree.n_nodes):
            assert len(tree.histogram(node)) == 0 or tree.histogram(node).sum() == tree.n_rows[node]


@pytest.fixture(scope="module")
def mixture():
    return gaussian_mixture(1200, 6, 4, sd=2.0, random_state=1)[0].compute().astype(np.float64)


@each(1)
def test_a_constant_added_to_the_columns_changes_no_label_no_depth_and_no_drift(model, options, mixture):
    model = clone(model).set_params(**options)
    if model.feature_map == "quadratic":
        model.set_params(feature_map="rbf")  # a quadratic form depends on where zero is, if columns are not scaled
    constant = np.linspace(-777, 1e5, mixture.shape[1])
    moved = mixture[:300] + 3.0 * (mixture[:300, :1] > 0)
    near, far = clone(model).fit(mixture), clone(model).fit(mixture + constant)
    np.testing.assert_array_equal(far.labels_, near.labels_)
    # Features are float32: in the last bits, with which a row may change its bin, they depend on where zero is.
    rtol = 1e-6 if model.feature_map is None else 0.02
    np.testing.assert_allclose(far.tree_.relative_depth, near.tree_.relative_depth, rtol=rtol)
    for new in (mixture[:300], moved):
        alarms = [[alarm.split(":")[0] for alarm in d.alarms] for d in (drift(far, new + constant), drift(near, new))]
        assert alarms[0] == alarms[1]


@pytest.mark.parametrize("refine", [False, True])
def test_what_is_known_of_a_hyperplane_is_in_units_of_the_columns_if_these_are_not_scaled(refine, mixture):
    rows = mixture[:400, :3]
    small, large = (MinimumDensityHyperplane(scale=False, refine=refine).fit(rows * size) for size in (1.0, 2.0**60))
    for model, unit in ((small, 1.0), (large, 2.0**60)):
        assert np.linalg.norm(model.direction_) == pytest.approx(1)
        np.testing.assert_allclose(model.direction_, small.direction_, atol=1e-4)
        assert model.offset_ / unit == pytest.approx(small.offset_, abs=1e-4)
        assert model.density_ * unit == pytest.approx(small.density_, rel=1e-4)


@pytest.mark.parametrize(("criterion", "sample_size"), in_turns(CRITERIA, [500, None]))
def test_no_criterion_depends_on_the_lengths_of_directions(criterion, sample_size, mixture):
    def stretched(rows, rng, n_directions):
        directions = PROJECTIONS["row_combinations"](rows, rng, n_directions)
        return directions * np.exp2(np.arange(len(directions)) % 7 - 3)[:, None]

    trees = [
        DivisiveClustering(projection=p, criterion=criterion, n_projections=40, sample_size=sample_size).fit(mixture)
        for p in (PROJECTIONS["row_combinations"], stretched)
    ]
    np.testing.assert_array_equal(trees[0].labels_, trees[1].labels_)
