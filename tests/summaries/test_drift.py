"""Drift: what is counted, what is compared, and how often chance is taken for it."""

import json
import re

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from helpers import at_night, in_turns
from hypothesis import given
from hypothesis import strategies as st

from mdh_dask import KernelPCAFeatures, PCATree, RandomProjectionTree, drift, load_model
from mdh_dask.chunks import run
from mdh_dask.growth.trees import recount
from mdh_dask.summaries.changes import NO_CHANGE, Change, distance, total_variation, valley_change
from mdh_dask.summaries.drift import Drift, novelty_of
from mdh_dask.summaries.tables import change_text
from mdh_dask.tree.structure import tree_from_nodes
from tests.helpers import counted_computes
from tests.trees import trees

CENTRES = np.array([[0.0, 0.0, 0.0], [7.0, 0.0, 0.0], [0.0, 9.0, 0.0]])


def groups(rng, *sizes, shift=(0.0, 0.0, 0.0)):
    """Rows around three centres, the last of which is shifted."""
    centres = CENTRES + np.array([[0.0] * 3, [0.0] * 3, shift])
    return np.concatenate([rng.normal(size=(n, 3)) + c for n, c in zip(sizes, centres)])


def rng_of(seed):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def model():
    return RandomProjectionTree(n_projections=100).fit(groups(rng_of(0), 2000, 1500, 1500))


# What is counted


def test_recounting_the_rows_of_a_tree_gives_its_own_counts(model):
    tree, _ = run(recount(model.tree_), groups(rng_of(0), 2000, 1500, 1500))
    np.testing.assert_array_equal(tree.bins, model.tree_.bins)
    np.testing.assert_array_equal(tree.n_rows, model.tree_.n_rows)


@given(tree=trees, seed=st.integers(0, 100), n_rows=st.integers(1, 40))
def test_rows_are_counted_in_the_bins_of_every_node_that_they_reach(tree, seed, n_rows):
    rows = np.random.default_rng(seed).normal(size=(n_rows, tree.n_features)) * 3
    new, _ = run(recount(tree), rows)
    reached = reaching(tree, rows)
    np.testing.assert_array_equal(new.n_rows, reached.sum(axis=0))
    for node in range(tree.n_nodes):
        n_bins = len(tree.histogram(node))
        if n_bins:
            along = rows[reached[:, node]] @ tree.planes[node]
            place = (along - tree.origin[node]) / tree.width[node]
            assert new.histogram(node).sum() == len(along)
            # Sums in another order may fall on the other side of a bin's end.
            sure = np.abs(place - np.rint(place)) > 1e-9
            least = np.bincount(np.clip(place[sure], 0, n_bins - 1).astype(int), minlength=n_bins)
            assert (new.histogram(node) >= least).all()


def reaching(tree, rows):
    """Tell which rows come to which nodes, one row after the other."""
    reached = np.zeros((len(rows), tree.n_nodes), dtype=bool)
    for i, leaf in enumerate(tree.apply(rows)):
        node = leaf
        while node >= 0:
            reached[i, node] = True
            node = tree.parent[node]
    return reached


def test_new_rows_are_read_once_whatever_their_chunks(model):
    rows = groups(rng_of(1), 400, 300, 300)
    with counted_computes() as computes:
        lazy = drift(model, da.from_array(rows, chunks=(130, 2)))
    assert len(computes) == 1
    assert lazy.new == drift(model, rows).new


def test_rows_are_counted_through_the_feature_map():
    rng = rng_of(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 1200), np.repeat([1.0, 5.0], 600)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (1200, 2))
    mapped = KernelPCAFeatures(kernel="quadratic", n_landmarks=100)
    model = PCATree(feature_map=mapped, max_clusters=2).fit(rings)
    same = drift(model, da.from_array(rings, chunks=(500, 2)))
    np.testing.assert_array_equal(same.new.n_rows[same.new.leaves], np.bincount(model.labels_))
    assert not same.found
    assert drift(model, rings[:700]).found


def test_alarms_name_the_columns_that_moved_but_not_features_of_a_map(tmp_path):
    frame = pytest.importorskip("pandas").DataFrame
    old = frame(groups(rng_of(0), 2000, 1500, 1500), columns=["noise", "heat", "flow"])
    new = frame(groups(rng_of(1), 2000, 1500, 1500, shift=(0.0, 4.0, 0.0)), columns=old.columns)
    model = PCATree().fit(old)
    model.save(tmp_path / "m.zarr")
    for fitted in (model, load_model(tmp_path / "m.zarr")):
        moved = [alarm for alarm in drift(fitted, new).alarms if "elsewhere" in alarm]
        assert moved
        assert all("heat" in alarm.split("along ")[1] for alarm in moved)
    mapped = PCATree(feature_map="products").fit(old)
    assert not re.search("heat|feature|x0", " ".join(drift(mapped, new).alarms))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"threshold": 0.0}, "threshold must be over 0 and at most 1; got 0.0"),
        ({"filled": 1.5}, "filled must be over 0 and at most 1; got 1.5"),
        ({"false_alarms": 0.7}, r"false_alarms must be over 0 and at most 0.5; got 0.7"),
        ({"threshold": None}, "threshold must be over 0 and at most 1; got None"),
        ({"threshold": np.nan}, "threshold must be over 0 and at most 1; got nan"),
    ],
)
def test_limits_that_are_no_shares_are_refused_before_any_work(model, limits, message):
    with counted_computes() as computes, pytest.raises(ValueError, match=message):
        drift(model, da.zeros((5, 3)), **limits)
    assert not computes


# How often chance is taken for drift

CASES = [(PCATree, 200, 200), (RandomProjectionTree, 200, 1000), (PCATree, 1000, 200)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_old", "n_new"), at_night(CASES, 1))
def test_rows_of_the_same_distribution_alarm_once_in_200_times_at_most(kind, n_old, n_new):
    alarms = 0
    parameters = {"n_projections": 20} if kind is RandomProjectionTree else {}
    for seed in range(25):
        rng = rng_of(seed)
        model = kind(random_state=seed, **parameters).fit(draw(rng, n_old))
        alarms += sum(drift(model, draw(rng, n_new)).found for _ in range(8))
    assert alarms <= 1


def draw(rng, n):
    return groups(rng, *rng.multinomial(n, [0.5, 0.3, 0.2]))


@given(seed=st.integers(0, 2**32), n=st.integers(1, 300), m=st.integers(1, 300), chance=st.sampled_from([0.01, 1e-5]))
def test_what_is_left_beyond_chance_is_hardly_ever_positive(seed, n, m, chance):
    rng = rng_of(seed)
    shares = rng.dirichlet(np.ones(rng.integers(2, 30)))
    counts = np.array([[rng.multinomial(n, shares), rng.multinomial(m, shares)] for _ in range(100)])
    for measure in (distance, total_variation):
        # Of 100 draws with a chance of a hundredth, more than 9 are positive once in 20,000 times.
        assert sum(measure(old, new, chance).lower_bound > 0 for old, new in counts) <= 9


# What is found

CHANGED = {
    "moved cluster": (
        groups(rng_of(7), 400, 300, 300, shift=(0, 5, 0)),
        r"split \d: \d\d% of its rows lie elsewhere along its direction",
    ),
    "vanished cluster": (groups(rng_of(7), 400, 300, 0), "its valley is filled in by 100%"),
    "another mixture": (groups(rng_of(7), 700, 200, 100), "shares of the clusters: .* of the rows are in others"),
    "filled valley": (
        np.concatenate([groups(rng_of(7), 400, 300, 300), rng_of(8).uniform([-1, -1, -1], [8, 10, 1], (2000, 3))]),
        "its valley is filled in by",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_found_and_named(model, name):
    rows, message = CHANGED[name]
    found = drift(model, rows)
    assert found.found
    assert any(re.search(message, alarm) for alarm in found.alarms), found.alarms


def test_the_same_rows_are_no_drift_to_the_last_digit_and_have_the_depths_of_the_tree(model):
    same = drift(model, groups(rng_of(0), 2000, 1500, 1500))
    assert not same.found
    for split in same.splits:
        assert split.left[0] == split.left[1]
        assert split.valley.depth[0] == split.valley.depth[1]
        assert split.valley.depth[0] == pytest.approx(model.tree_.relative_depth[split.node], rel=0.1)
        assert (split.distance.value, split.valley.filled.value) == (0, 0)


def test_a_shift_along_the_direction_that_a_cluster_keeps_is_found():
    model = PCATree(max_clusters=1).fit(groups(rng_of(0), 2000, 1500, 1500))
    found = drift(model, groups(rng_of(1), 400, 300, 300) + 3)
    assert re.fullmatch(r"cluster 0: \d\d% of its rows lie elsewhere along one direction", found.alarms[0])


@pytest.mark.parametrize(
    ("apart", "said"), [([8, 9], "a line through moved and still, not all of which need have moved"), ([0, 9], "moved")]
)
def test_a_line_through_several_columns_does_not_say_that_all_of_them_moved(apart, said):
    def rows(seed):
        rng = rng_of(seed)
        groups = rng.integers(2, size=(2000, 1)) * apart
        return pd.DataFrame(rng.normal(groups), columns=["still", "moved"])

    found = drift(PCATree(max_clusters=1, scale=False).fit(rows(0)), rows(1).add([0, 20]))
    assert re.fullmatch(rf"cluster 0: \d+% of its rows lie elsewhere along {said}", found.alarms[0])


def test_a_threshold_is_what_a_change_must_exceed_beyond_chance(model):
    rows = CHANGED["another mixture"][0]
    change = drift(model, rows).shares
    assert drift(model, rows, threshold=change.lower_bound - 0.01, filled=1).alarms[-1].startswith("shares")
    assert not any(a.startswith("shares") for a in drift(model, rows, threshold=change.lower_bound + 0.01).alarms)
    assert not drift(model, rows, threshold=1, filled=1).found


def test_measures_of_simple_counts_are_what_one_computes_by_hand():
    old, new = np.array([50, 50, 0, 0]), np.array([0, 50, 25, 25])
    assert distance(old, new, 0.01).value == 0.5
    assert total_variation(old, new, 0.01).value == 0.5
    assert distance(old, np.zeros(4, int), 0.01) is total_variation(old, np.zeros(4, int), 0.01) is NO_CHANGE


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12), st.data())
def test_distances_are_symmetric_and_between_zero_and_one(old, data):
    old = np.array(old) + 1
    new = np.array(data.draw(st.lists(st.integers(0, 50), min_size=len(old), max_size=len(old)))) + 1
    for measure in (distance, total_variation):
        change = measure(old, new, 0.01)
        assert 0 <= change.value <= 1
        assert change.lower_bound < change.value
        assert change == pytest.approx(measure(new, old, 0.01))
    assert distance(old, new, 0.01).value <= total_variation(old, new, 0.01).value + 1e-12


def test_the_share_that_is_filled_is_none_of_a_valley_as_before_and_all_of_one_that_is_gone():
    position = np.arange(40) + 0.5
    hills = np.rint(1e4 * (np.exp(-((position - 10) ** 2) / 8) + np.exp(-((position - 30) ** 2) / 8))).astype(int)
    flat = np.where((position > 5) & (position < 35), 10_000, 0)
    same, gone = (valley_change(hills, new, position, 1.0, 1.5, 20.0, 1e-3) for new in (hills, flat))
    assert same.filled.value == 0 > same.filled.lower_bound
    assert gone.filled.value == pytest.approx(1, abs=0.01)
    assert gone.depth[0] > 100
    assert gone.depth[1] < 0.01
    assert np.isnan(valley_change(flat, hills, position, 1.0, 1.5, 20.0, 1e-3).filled.value)


def test_fewer_rows_are_smoothed_more_and_more_rows_as_the_tree(model):
    few, many = (drift(model, groups(rng_of(1), n, n, n)) for n in (40, 4000))
    assert few.bandwidth(0) == pytest.approx(model.tree_.bandwidth[0] * (5000 / 120) ** 0.2)
    assert many.bandwidth(0) == model.tree_.bandwidth[0]


# What is told


def test_text_has_a_line_for_every_split_and_cluster_and_alarm(model):
    found = drift(model, CHANGED["vanished cluster"][0])
    splits, clusters, summary = found.to_text().split("\n\n")
    assert len(splits.splitlines()) == 1 + len(found.splits) == 3
    assert len(clusters.splitlines()) == 1 + len(found.clusters) == 4
    assert len({len(line) for line in splits.splitlines()}) == 1
    first, *alarms = summary.splitlines()
    assert first == ("drift among 700 rows, compared with 5,000: changes over 0.1 and valleys filled over 0.5 count")
    assert alarms == list(found.alarms)


def test_json_has_numbers_or_none_and_the_same_alarms(model):
    found = drift(model, CHANGED["vanished cluster"][0])
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["drift"] is True
    assert told["alarms"] == list(found.alarms)
    assert told["rows"] == [5000, 700]
    assert [split["node"] for split in told["splits"]] == [split.node for split in found.splits]
    assert sum(cluster["rows"][1] for cluster in told["clusters"]) == 700
    assert told["splits"][0]["filled"].keys() == {"value", "lower_bound"}


def test_only_what_chance_cannot_explain_stands_in_brackets():
    assert change_text(Change(0.254, 0.2)) == "0.25 (0.20)"
    assert change_text(Change(0.254, -0.2)) == "0.25"
    assert change_text(NO_CHANGE) == "-"


def test_a_node_that_no_new_row_reaches_has_no_shares(model):
    lone = drift(model, groups(rng_of(0), 500, 0, 0))
    empty = [split for split in lone.splits if split.rows[1] == 0]
    assert all(np.isnan(split.left[1]) and np.isnan(split.distance.value) for split in empty)
    assert Drift(lone.old, lone.new).found


def test_a_frame_of_drift_has_the_shares_of_the_clusters(model):
    found = drift(model, groups(rng_of(1), 3000, 1500, 500))
    frame = found.to_pandas()
    assert frame.cluster.tolist() == [0, 1, 2]
    assert sorted(frame.rows_new) == [500, 1500, 3000]
    np.testing.assert_allclose(frame[["share_old", "share_new"]].sum(), 1)
    assert not (frame.lower_bound > frame.distance).any()  # NaN where there is nothing to compare


# Rows where a model had none


def novel_share(old, new, bandwidth):
    """Return the share of new rows that are novel at the only node of a tree."""
    node = {"left": -1, "right": -1, "plane": [1.0], "threshold": 0.0, "relative_depth": 9.0, "origin": 0.0}
    node |= {"width": 1.0, "bandwidth": bandwidth}
    trees = [tree_from_nodes([node | {"n_rows": sum(bins), "bins": bins}], n_features=1) for bins in (old, new)]
    return novelty_of(Drift(*trees)).share


@pytest.mark.parametrize(("bandwidth", "at"), in_turns([1.0, 3.0, 7.0], [0, 2, 4]))
def test_rows_within_a_bandwidth_of_old_ones_are_not_novel(at, bandwidth):
    old = [1000 * (i == at) for i in range(5)]
    for i in range(5):
        assert novel_share(old, [50 * (i == j) for j in range(5)], bandwidth) == float(abs(i - at) > bandwidth)


def test_rows_where_at_most_a_thousandth_of_the_old_ones_lie_are_novel():
    old = np.array([500, 0, 0, 0, 1, 0, 0, 0, 500])
    new = np.full(9, 10)
    assert novel_share([*map(int, 10 * old)], [*map(int, new)], 1.0) == pytest.approx(5 / 9)
    assert novel_share([5000, 0, 0, 0, 11, 0, 0, 0, 5000], [*map(int, new)], 1.0) == pytest.approx(2 / 9)
