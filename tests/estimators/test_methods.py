"""The composable estimator, and the named methods that are configurations of it."""

import inspect
import pickle
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
from cases import new
from helpers import at_night, counted_computes, same_partition, single_columns
from sklearn.base import clone

from mdh_dask import (
    PDDP,
    ConsensusClustering,
    DePDDP,
    DivisiveClustering,
    HierarchicalMDH,
    KernelKMeans,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    PCATree,
    RandomProjectionTree,
    continued,
    load_model,
)
from mdh_dask.estimators.divisive_tree import DivisiveTree
from mdh_dask.estimators.parameters import rows_of_share
from mdh_dask.estimators.registry import all_estimators, estimators
from mdh_dask.projections import PROJECTIONS, projection_of
from mdh_dask.simulate import gaussian_mixture

FOR_FOUR = {
    "PDDP": {"max_clusters": 4},
    "BisectingKernelKMeans": {"max_clusters": 4},
    "DePDDP": {"min_cluster_size": 100},
    "HierarchicalKernelMDH": {"feature_map": "quadratic"},
    "HierarchicalSpectral": {"max_clusters": 4},
}
"""Parameters with which each finds the four groups of `mixture`."""

METHODS = [
    new(name, **FOR_FOUR.get(name, {}))
    for name, cls in estimators().items()
    if issubclass(cls, DivisiveTree) and cls is not MinimumDensityHyperplane
]


@pytest.fixture(params=METHODS, ids=lambda method: type(method).__name__)
def method(request):
    """Each method, not fitted."""
    return clone(request.param)


@pytest.fixture(scope="module")
def mixture():
    """Rows and their groups; no group lies around the mean of a branch, so that splits at the mean find them, too."""
    return [array.compute() for array in gaussian_mixture(2600, 5, 4, sd=0.5, random_state=3)]


@pytest.fixture(scope="module")
def rows(mixture):
    return mixture[0]


@pytest.fixture(scope="module")
def groups(mixture):
    return mixture[1]


@pytest.mark.slow
def test_separated_clusters_are_found_and_new_rows_find_theirs(method, rows, groups):
    model = method.fit(rows)
    assert model.n_clusters_ == 4
    assert same_partition(model.labels_, groups)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_bad_parameters_are_named_before_any_work(method):
    X = da.from_array(np.ones((100, 2))).map_blocks(lambda block: pytest.fail("rows were read"), meta=np.ones((0, 0)))
    for name in method.get_params(deep=False):
        expected = rf"The '{name}' parameter of {type(method).__name__} must be .* Got <object"
        with pytest.raises(ValueError, match=expected):
            clone(method).set_params(**{name: object()}).fit(X)


def test_values_out_of_range_are_refused():
    least = {"n_projections": 0, "bandwidth": -1.0, "quantile": 1.0, "min_cluster_size": 0, "max_clusters": 0}
    for name, value in {**least, "max_levels": -1, "min_relative_depth": -0.1, "alpha": 0.0, "sample_size": 0}.items():
        with pytest.raises(ValueError, match=f"'{name}'"):
            DivisiveClustering(**{name: value}).fit(np.ones((5, 2)))


@pytest.mark.parametrize(
    ("cls", "hidden"), [(PCATree, "projection"), (PDDP, "threshold_rule"), (HierarchicalMDH, "alpha_max")]
)
def test_the_error_for_a_parameter_that_a_method_fixes_says_how_to_set_it(cls, hidden):
    with pytest.raises(TypeError, match=rf"no parameter '{hidden}': write {cls.__name__}\(\)\.as_divisive\({hidden}="):
        cls(**{hidden: "gap"})
    with pytest.raises(ValueError, match=f"Invalid parameter '{hidden}'"):
        cls().set_params(**{hidden: "gap"})


def test_main_classes_have_at_most_sixteen_parameters():
    many = {name: len(inspect.signature(cls).parameters) for name, cls in all_estimators().items()}
    assert [name for name, n in many.items() if n > 16] == ["DivisiveClustering"]


def test_every_method_is_the_composable_class_with_its_settings(method, rows):
    assert method.as_divisive().fit(rows[::10]).tree_ == clone(method).fit(rows[::10]).tree_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"projection": "mdh", "projection_params": {"start": "pca2"}}, "'mdh' has starts, .*did you mean 'starts'"),
        ({"projection": "pca", "projection_params": {"starts": "pca2"}}, "'pca' has none; got 'starts'"),
        ({"projection": "mdh", "projection_params": {"alpha_max": -1}}, "'alpha_max' parameter of projection_params"),
        ({"projection": "pursuit", "criterion": "variance"}, "does not depend on the variance"),
    ],
)
def test_options_of_a_projection_are_checked(given, said, rows):
    with pytest.raises(ValueError, match=said):
        DivisiveClustering(**given).fit(rows)


def test_parameters_have_names_in_every_call_and_the_error_says_so():
    for cls in estimators().values():
        with pytest.raises(TypeError, match="takes parameters by name, such as"):
            cls(5, 5)


@pytest.mark.parametrize("starts", ["balanced", "valleys", "pca2"])
def test_starts_bounds_and_components_reach_the_pursuit(starts, rows, monkeypatch):
    given = []

    def directions(rows, rng, coarse, **parameters):
        given.append(parameters)
        return [np.eye(rows.shape[1])]

    monkeypatch.setattr("mdh_dask.projections.mdh_families", directions)
    HierarchicalMDH(starts=starts).as_divisive(alpha_max=0.7, max_components=None, max_levels=1).fit(rows)
    least = given[0].pop("min_rows")
    assert 0 < least < rows_of_share(None, len(rows))  # of the half that scores
    assert given == [{"n_directions": 1000, "starts": starts, "alpha_max": 0.7, "max_components": None}]


@pytest.mark.slow
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_every_projection_finds_separated_clusters(projection, rows):
    searched = rows[:, :3] if projection == "brute_force" else rows
    features = "affinities" if projection_of(projection).from_origin else None
    model = DivisiveClustering(projection=projection, n_projections=60, feature_map=features).fit(searched)
    assert model.n_clusters_ == 4


def test_a_function_is_a_projection_and_gets_what_it_needs(rows):
    given = []

    def projection(rows, rng, n_directions):
        given.append((rows.shape, type(rng), n_directions))
        return single_columns(rows, rng, n_directions)

    model = DivisiveClustering(projection=projection, n_projections=4, sample_size=500).fit(rows)
    assert model.n_clusters_ == 4
    assert {(d, rng, n) for (_, d), rng, n in given} == {(5, np.random.Generator, 4)}
    assert max(n for (n, _), *_ in given) <= 500
    assert (np.count_nonzero(model.tree_.planes, axis=1) <= 1).all()


def test_a_model_with_a_function_is_not_saved_but_one_with_its_registered_name_is(rows, tmp_path, monkeypatch):
    model = DivisiveClustering(projection=single_columns).fit(rows)
    with pytest.raises(
        TypeError, match=r"got the function <function single_columns.*Register it, as mdh_dask.projections"
    ):
        model.save(tmp_path / "model.zarr")
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(PROJECTIONS, "columns", single_columns)
    named = DivisiveClustering(projection="columns").fit(rows)
    assert named.tree_ == model.tree_
    named.save(tmp_path / "model.zarr")
    monkeypatch.undo()
    np.testing.assert_array_equal(load_model(tmp_path / "model.zarr").predict(rows), model.labels_)


@pytest.mark.parametrize(
    ("directions", "message"),
    [
        (np.ones(5), r"shape \(n_directions, 5\) from the projection; got an array of shape \(5,\)"),
        (np.ones((5, 2)), r"got an array of shape \(5, 2\) and dtype float64. Return one direction in each row"),
        (np.ones((2, 5), dtype=complex), "dtype complex128"),
        (np.full((2, 5), np.nan), "expected finite directions from the projection"),
        (None, r"got an array of shape \(\) and dtype object"),
    ],
)
def test_what_is_no_direction_is_refused(directions, message, rows):
    with pytest.raises(ValueError, match=message):
        DivisiveClustering(projection=lambda rows, rng, n: directions).fit(rows)


def test_density_between_the_outermost_modes_ends_where_it_has_one_mode():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    assert DePDDP(min_cluster_size=100).fit(X).n_clusters_ == 1
    assert PDDP(max_clusters=4).fit(X).n_clusters_ == 4


@pytest.mark.slow
def test_workers_label_rows_without_scikit_learn(rows):
    named = (PCATree(), PCATree(feature_map="rbf"), KernelKMeans(n_clusters=2), ConsensusClustering(n_trees=2))
    rows = rows[::5]
    models = [model.fit(rows) for model in named]
    program = (
        "import pickle, sys; label, rows = pickle.load(sys.stdin.buffer);"
        "pickle.dump(([one(rows) for one in label], 'sklearn' in sys.modules), sys.stdout.buffer)"
    )
    sent = pickle.dumps(([model._block_labels() for model in models], rows))
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True)
    assert done.returncode == 0, done.stderr
    labels, imported = pickle.loads(done.stdout)
    assert not imported
    np.testing.assert_array_equal(labels, [model.labels_ for model in models])


@pytest.mark.slow
@pytest.mark.parametrize(("d", "seed"), at_night([(100, 0), (20, 1), (20, 2), (100, 1)], 2))
def test_pursuit_finds_clusters_that_differ_in_one_of_many_columns(d, seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, 3000)
    rows = rng.normal(size=(3000, d))
    rows[:, 3] += 5 * groups
    model = HierarchicalMDH(random_state=seed).fit(rows)
    assert model.n_clusters_ == 2
    assert np.abs(np.mean(model.labels_ == groups) - 0.5) > 0.48


def test_labels_of_another_length_are_refused_before_any_pass():
    rows = da.from_array(np.where(np.eye(60, 3) > 0, np.nan, 1.0), chunks=(20, 3))
    with counted_computes() as computes, pytest.raises(ValueError, match="60"):
        RandomProjectionTree(missing="mean").fit(rows, np.arange(9))
    assert computes == []


def test_other_seeds_reach_a_map_that_was_given(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0], [9]], 150, axis=0)
    model = RandomProjectionTree(n_projections=10, feature_map=KernelPCAFeatures(kernel="rbf")).fit(rows)
    seeds, fit = [], RandomProjectionTree.fit
    monkeypatch.setattr(
        RandomProjectionTree, "fit", lambda own, X, **also: (seeds.append(own.feature_map.random_state), fit(own, X))[1]
    )
    model.repeats(rows, n=3)
    assert len({0, *seeds}) == 4


def test_an_update_checks_parameters_that_were_set_after_the_fit():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    model = RandomProjectionTree().partial_fit(rows)
    with pytest.raises(ValueError, match="'decay' parameter"):
        model.set_params(decay=1.5).partial_fit(rows)


def test_a_model_that_continues_another_knows_its_probabilities():
    rows = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    first, second = (RandomProjectionTree(random_state=seed).fit(rows) for seed in (0, 1))
    np.testing.assert_array_equal(continued(second, first, rows).probabilities_, second.probabilities_)
