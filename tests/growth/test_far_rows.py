"""Rows far from all others change no cluster: scale, directions and bins come from the bulk."""

import numpy as np
import pytest
from helpers import at_night, in_turns, look_at
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mdh_dask import (
    IPDDP,
    PDDP,
    DensityTree,
    DePDDP,
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    ICATree,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    PCATree,
    RandomProjectionTree,
    SupportVectorClustering,
)
from mdh_dask.growth.bounds import bounds_of, clipped, near_rows, without_far_rows
from mdh_dask.growth.scaling import standardiser
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.simulate import gaussian_mixture

MODELS = {
    "random": RandomProjectionTree(n_projections=100),
    "random, raw columns": RandomProjectionTree(n_projections=100, scale=False),
    "random, several passes": RandomProjectionTree(n_projections=100, sample_size=500),
    "random, exact": RandomProjectionTree(n_projections=30, sample_size=None),
    "random, refined": DivisiveClustering(n_projections=100, refine=True),
    "mdh": HierarchicalMDH(starts="pca2"),
    "pca": PCATree(),
    "ica": ICATree(),
    "dePDDP": DePDDP(),
    "IPDDP": IPDDP(scale=False),
    "PDDP": PDDP(max_clusters=3),
    "hyperplane": MinimumDensityHyperplane(starts="pca2"),
}


def blobs(n=2000):
    rng = np.random.default_rng(0)
    centres = np.array([[-6, 0, 0, 0], [18, 0, 0, 2], [0, 9, 3, 0]])
    return centres[rng.integers(0, 3, n)] + rng.normal(size=(n, 4))


def far_rows(kind, rows):
    rng = np.random.default_rng(1)
    low, high = rows.min(axis=0), rows.max(axis=0)
    return {
        "three at 1000": 1000 + rng.normal(size=(3, 4)),
        "one at 1e6": np.full((1, 4), 1e6),
        "one at 1e12": np.array([[1e12, -1e12, 0, 0]]),
        "one in a hundred in a box ten times as wide": (low + high) / 2
        + (high - low) * rng.uniform(-5, 5, (len(rows) // 100, 4)),
    }[kind]


FAR = ("three at 1000", "one at 1e6", "one at 1e12", "one in a hundred in a box ten times as wide")


@pytest.mark.slow
@pytest.mark.parametrize("name", at_night(MODELS, 6))
def test_the_clusters_are_those_without_the_far_rows(name):
    model, rows = MODELS[name], blobs()
    without = model.fit(rows).labels_
    # Rows that are not quite far move a mean, and decide between two valleys of about the same depth.
    for kind in FAR[:-1] if name in ("PDDP", "hyperplane") else FAR:
        with_far = model.fit(np.concatenate([rows, far_rows(kind, rows)])).labels_
        assert adjusted_rand_index(without, with_far[: len(rows)]) > 0.97, kind


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("dtype", "model"),
    in_turns([np.float64, np.float32], [DensityTree(), HierarchicalKernelMDH(), SupportVectorClustering()]),
)
def test_fill_values_hide_no_clusters_from_methods_that_compare_distances(model, dtype):
    rows = blobs(200).astype(dtype)
    fills = np.where(np.random.default_rng(1).random((5, 4)) < 0.5, 1e30, -1e30)
    labels = model.fit(np.concatenate([rows, fills.astype(dtype)])).labels_
    assert adjusted_rand_index(model.fit(rows).labels_, labels[:200]) > 0.97


@pytest.mark.slow
def test_kernel_trees_find_clusters_of_one_column_beside_others_with_long_tails():
    rng = np.random.default_rng([0, 20_000, 5])
    y = rng.random(20_000) < 0.16
    rows = np.column_stack([rng.normal(size=len(y)) + 5 * y, rng.standard_t(2, size=(len(y), 5))])
    labels = HierarchicalKernelMDH(random_state=0).fit(rows).labels_
    assert adjusted_rand_index(y, labels) > 0.92  # .89 by the distances of rows in tails


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [DensityTree(scale=False), SupportVectorClustering(scale=False)])
def test_fill_values_in_a_constant_column_hide_no_clusters_without_scaling(model):
    rows = np.column_stack([blobs(200), np.zeros(200)])
    labels = model.fit(np.concatenate([rows, np.full((5, 5), 1e20)])).labels_  # an IndexError of DensityTree
    assert adjusted_rand_index(model.fit(rows).labels_, labels[:200]) > 0.97


@pytest.mark.parametrize("scaled", [False, True])
def test_only_values_very_far_from_the_bulk_are_clipped(scaled):
    rows = np.column_stack([blobs(), np.arange(2000) == 1999])
    rows[:10] += 1000
    assert clipped(rows, scaled) is rows
    rows[0] = 1e20
    assert_array_equal(clipped(rows, scaled)[1:], rows[1:])
    assert clipped(rows, scaled)[0, :4].max() < 1e5
    assert (clipped(rows, scaled)[0, 4] < 1e5) != scaled


def test_a_group_as_large_as_the_smallest_cluster_is_a_cluster_however_far_it_is():
    rows = blobs()
    group = 1000 + np.random.default_rng(2).normal(size=(80, 4))
    for model in (RandomProjectionTree(n_projections=100), HierarchicalMDH()):
        labels = model.fit(np.concatenate([group, rows])).labels_
        assert len(set(labels[:80])) == 1
        assert labels[0] not in labels[80:]
        assert model.n_clusters_ == 4


def test_far_rows_are_counted_and_labelled_like_any():
    rows = np.concatenate([blobs(), far_rows("one in a hundred in a box ten times as wide", blobs())])
    model = RandomProjectionTree(n_projections=100, sample_size=500).fit(rows)
    assert_array_equal(model.tree_.cluster_rows, np.bincount(model.labels_))
    assert model.tree_.histogram(0).sum() == len(rows)


def test_values_at_a_bound_are_near_whatever_the_rounding_errors():
    column = np.repeat([0.0, 4.0, 16.0], [50, 945, 5])[:, None]
    for scale in (1.0, 0.1, 1 / 3, 1 / 7.7):
        assert bounds_of(column * scale).contain((column * np.float32(scale)).astype(np.float32)).all()


def test_columns_without_far_values_keep_the_moments_of_all_rows_to_the_last_bit():
    rows = blobs()
    columns, sample, *_ = look_at(rows)
    assert without_far_rows(columns, sample) == (columns, sample)
    rows[7, 2] = 1e9
    columns, sample, *_ = look_at(rows)
    bulk, near = without_far_rows(columns, sample)
    assert_array_equal(near.numbers, np.delete(np.arange(len(rows)), 7))
    kept = [0, 1, 3]
    assert_array_equal(bulk.mean[kept], columns.mean[kept])
    assert_array_equal(bulk.deviations[kept], columns.deviations[kept])
    spread = np.sqrt(bulk.deviations[2] / bulk.n)
    assert spread == pytest.approx(np.delete(rows[:, 2], 7).std(), rel=1e-6)


def test_a_far_value_that_the_sample_does_not_hold_changes_no_scale():
    rows = blobs(5000)
    look = look_at(rows)
    sample = look.sample.take(np.arange(1000))
    rows[4000, 1] = 1e12
    far = standardiser(look_at(rows).columns, sample, True)
    near = standardiser(look.columns, sample, True)
    np.testing.assert_allclose(far.scale, near.scale, rtol=0.1)
    assert_array_equal(far.scale[[0, 2, 3]], near.scale[[0, 2, 3]])


@given(st.integers(20, 300), st.integers(0, 2**32 - 1), st.sampled_from([1e3, 1e9, 1e300]))
def test_bounds_move_with_the_rows_and_not_with_far_ones(n, seed, far):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 2))
    rows[0] = far
    low, high = bounds_of(rows)
    assert -20 < low.min() < high.max() < 20
    assert not bounds_of(rows).contain(rows)[0]
    np.testing.assert_allclose(bounds_of(rows[:, ::-1] * 4 + 64), np.array([low, high])[:, ::-1] * 4 + 64, rtol=1e-9)


columns_of_any_kind = st.sampled_from(["normal", "lognormal", "standard_t", "integers", "constant", "far"])


@given(st.integers(0, 400), st.lists(columns_of_any_kind, min_size=1, max_size=4), st.integers(0, 99), st.booleans())
def test_near_rows_are_those_within_all_bounds(n, kinds, seed, few):
    rng = np.random.default_rng(seed)
    draws = {"standard_t": lambda: rng.standard_t(2, n), "integers": lambda: rng.integers(0, 3, n) == 0}
    draws |= {"constant": lambda: np.ones(n), "far": lambda: np.where(np.arange(n) % 50 == 7, 1e3, rng.normal(size=n))}
    rows = np.column_stack([draws.get(kind, lambda kind=kind: getattr(rng, kind)(size=n))() for kind in kinds])
    rows = rows.astype(np.float32)
    scoring, share = rows[:: 1 + few], 0.02 if few else None
    bounds = bounds_of(scoring, share)
    for found, some in zip(near_rows(rows, scoring, share), (rows, scoring)):
        assert_array_equal(found, some[bounds.contain(some)])


def test_rows_without_far_ones_are_known_without_order_statistics(monkeypatch):
    monkeypatch.setattr("mdh_dask.growth.bounds.bounds_of", None)
    rows = np.random.default_rng(0).normal(size=(3000, 3)) * [1.0, 1e6, 0.0]
    found, scoring = near_rows(rows, rows[::2])
    assert found is rows
    assert len(scoring) == 1500


def test_no_landmark_is_far_from_all_other_rows():
    rows = np.concatenate([blobs(600), np.full((2, 4), 1e6)])
    features = KernelPCAFeatures(kernel="quadratic", n_landmarks=602).fit(rows)
    assert features.landmarks_.max() < 600
    assert (
        features.n_components_ == KernelPCAFeatures(kernel="quadratic", n_landmarks=602).fit(rows[:600]).n_components_
    )


def test_few_rows_that_are_divided_again_and_again_do_not_see_far_ones_either():
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(120, 2)) + np.repeat([[0.0, 0.0], [4.8, 0.0]], 60, axis=0)
        model = RandomProjectionTree(n_projections=200, random_state=seed)
        found.append((model.fit(rows).n_clusters_, model.fit(np.concatenate([rows, [[1e6, -1e6]]])).n_clusters_))
    assert found == [(2, 2)] * len(found)


@pytest.mark.parametrize(
    ("fill", "model"),
    in_turns([(1e20, "f8"), (9.97e36, "f4"), (-3.4e38, "f4")], [RandomProjectionTree(), HierarchicalMDH()]),
)
def test_fill_values_that_are_rare_but_many_rows_of_a_branch_hide_no_clusters(model, fill):
    fill, dtype = fill
    rows = gaussian_mixture(10_000, 10, 20, sd=0.5, random_state=0)[0].astype(dtype)
    rows[np.random.default_rng(0).choice(10_000, 90, replace=False), 3] = fill
    assert model.fit(rows).n_clusters_ == 20
