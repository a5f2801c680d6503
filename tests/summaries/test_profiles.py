"""Profiles of clusters: exact sums, moments to the last bit whatever the chunks, and what is special of a cluster."""

from copy import copy
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import LOOP_DTYPES, chunkings, row_sets, seeds

from mdh_dask import RandomProjectionTree, cluster_profiles, continued, drift
from mdh_dask._jit.sums import BASE, N_SLICES, add_slices, largest_deviations
from mdh_dask._journal import use_journal
from mdh_dask.chunks import reduce_rows
from mdh_dask.io.codec import FolderJournal
from mdh_dask.summaries.moments import MomentPass
from mdh_dask.summaries.profiles import Profiles


def test_profiles_are_shown_as_a_table_in_which_names_cannot_break_the_page():
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0, 0], [9, 3]], 100, axis=0)
    frame = pytest.importorskip("pandas").DataFrame(rows, columns=["<b>", "width"])
    profiles = cluster_profiles(RandomProjectionTree(n_projections=50).fit(frame), frame)
    shown = profiles._repr_html_()
    assert (shown.count("<table>"), shown.count("<tr>")) == (1, 1 + 2 * profiles.n_clusters)
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


@st.composite
def wild_rows(draw):
    """Rows of which the magnitudes differ by up to thirty powers of ten, in and among the columns."""
    rng = np.random.default_rng(draw(seeds))
    n, d = draw(st.integers(1, 80)), draw(st.integers(1, 3))
    magnitude = 10.0 ** rng.integers(-15, 15, (n if draw(st.booleans()) else 1, d))
    return rng.normal(draw(st.sampled_from([0, 1, 1e6])), 1, (n, d)) * magnitude


@given(row_sets(LOOP_DTYPES))
def test_largest_deviations_are_those_of_numpy(rows):
    shift, largest = rows.mean(axis=0), np.zeros(rows.shape[1])
    largest_deviations(rows, shift, largest)
    assert_array_equal(largest, np.abs(rows - shift).max(axis=0))


@given(st.floats(-0.49, 0.49))
def test_the_slices_of_a_value_add_up_to_it(share):
    sums = np.zeros((1, 2, N_SLICES, 1))
    add_slices(np.array([[share]]), np.zeros(1, dtype=int), np.zeros(1), np.full((2, 1), BASE), sums)
    total = sum(Fraction(float(part)) / 2 ** (30 * (i + 1)) for i, part in enumerate(sums[0, 0, :, 0]))
    assert abs(total - Fraction(share)) <= Fraction(1, 2**91)


def exact(rows, labels, cluster):
    """Mean and variance of the columns in fractions."""
    own = [[Fraction(float(x)) for x in row] for row in rows[labels == cluster]]
    means = [sum(column) / len(own) for column in zip(*own)]
    variances = [sum((x - m) ** 2 for x in column) / len(own) for column, m in zip(zip(*own), means)]
    return np.array(means, dtype=float), np.sqrt(np.array(variances, dtype=float))


@given(wild_rows(), seeds)
def test_moments_are_those_of_exact_fractions(rows, seed):
    labels = np.random.default_rng(seed).integers(0, 3, len(rows))
    of_clusters = MomentPass(3, rows[0])
    moments = of_clusters.finalise(of_clusters.chunk(0, labels, rows))
    scale = np.abs(rows - rows[0]).max(axis=0)
    for cluster in np.unique(labels):
        mean, sd = exact(rows, labels, cluster)
        assert_allclose(moments.mean[cluster], mean, rtol=1e-15, atol=1e-15 * scale.max())
        assert (np.abs(moments.sd[cluster] - sd) <= 1e-7 * scale).all()
    assert np.isnan(moments.mean[np.bincount(labels, minlength=3) == 0]).all()


@given(wild_rows(), st.data())
def test_moments_are_the_same_to_the_last_bit_in_any_chunks(rows, data):
    labels = np.random.default_rng(data.draw(seeds)).integers(0, 3, len(rows))
    of_clusters = MomentPass(3, rows[-1])
    whole = of_clusters.finalise(of_clusters.chunk(0, labels, rows))
    edges = np.cumsum([0, *data.draw(chunkings(len(rows)))])
    states = [of_clusters.chunk(int(a), labels[a:b], rows[a:b]) for a, b in pairwise(edges)]
    for part, expected in zip(of_clusters.finalise(reduce(of_clusters.combine, states)), whole):
        assert_array_equal(part, expected)


def test_many_rows_are_summed_in_parts(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(100, 2))
    of_clusters, labels = MomentPass(1, rows[0]), np.zeros(100, dtype=int)
    whole = of_clusters.chunk(0, labels, rows)
    monkeypatch.setattr("mdh_dask.summaries.moments.ROWS_AT_ONCE", 7)
    for part, expected in zip(of_clusters.chunk(0, labels, rows), whole):
        assert_array_equal(part, expected)


def test_a_column_that_is_constant_in_a_cluster_has_no_deviation_there():
    rows = np.column_stack([[0.1, 0.1, 0.1, 7.3], [5.0, 6.0, 7.0, 8.0]])
    of_clusters, labels = MomentPass(2, rows[3]), np.array([0, 0, 0, 1])
    sd = of_clusters.finalise(of_clusters.chunk(0, labels, rows)).sd
    assert sd[0, 0] == 0
    assert (sd[1] == 0).all()
    assert sd[0, 1] > 0.8


def test_dates_in_seconds_keep_their_deviation():
    rng = np.random.default_rng(0)
    seconds = 1.7e9 + rng.normal(0, 60, (1000, 1))
    of_clusters = MomentPass(1, seconds[0])
    moments = of_clusters.finalise(of_clusters.chunk(0, np.zeros(1000, dtype=int), seconds))
    assert_allclose(moments.sd[0], seconds.std(axis=0), rtol=1e-9)


def test_moments_are_kept_for_jobs_that_are_resumed(tmp_path):
    rows, labels = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 2
    for replayed in (False, True):
        journal = FolderJournal(tmp_path, "job")
        with use_journal(journal):
            moments = reduce_rows(MomentPass(2, rows[0]), labels, rows)
        assert [made.replayed for made in journal.passes] == [replayed]
        assert_allclose(moments.mean[0], rows[::2].mean(axis=0))
        assert moments.n_rows.tolist() == [25, 25]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e160])
def test_values_whose_squares_have_no_sum_are_refused(bad):
    with pytest.raises(ValueError, match=r"finite values up to 1e\+150; got NaN or (inf|1e\+160): drop these rows"):
        MomentPass(1, np.zeros(1)).chunk(0, np.zeros(1, dtype=int), np.array([[bad]]))


def blobs(depth=5.0):
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal([0, 0, depth], 1, (500, 3)), rng.normal([9, 0, depth], 1, (1500, 3))]).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def model():
    return RandomProjectionTree(n_projections=20).fit(blobs())


def test_profiles_tell_the_clusters_in_the_units_of_the_data(model):
    profiles, labels = cluster_profiles(model, blobs()), model.labels_
    assert profiles.n_rows.tolist() == np.bincount(labels).tolist()
    for cluster in range(profiles.n_clusters):
        own, others = (blobs().astype(float)[here] for here in (labels == cluster, labels != cluster))
        assert_allclose(profiles.mean[cluster], own.mean(axis=0), rtol=1e-12)
        assert_allclose(profiles.sd[cluster], own.std(axis=0), rtol=1e-9)
        assert_allclose(profiles.mean_of_others[cluster], others.mean(axis=0), rtol=1e-12)
        pooled = np.sqrt((len(own) * own.var(axis=0) + len(others) * others.var(axis=0)) / len(labels))
        assert_allclose(profiles.difference[cluster], (own.mean(axis=0) - others.mean(axis=0)) / pooled, rtol=1e-9)
        assert profiles.top(cluster, 1) == [0]


def test_columns_have_their_names_where_the_model_knows_them(model):
    assert cluster_profiles(model, blobs()).names == ("x0", "x1", "x2")
    named = copy(model)
    named.feature_names_in_ = np.array(["height", "width", "depth"], dtype=object)
    profiles = cluster_profiles(named, da.from_array(blobs(), chunks=((1, 1999), (3,))))
    for part, expected in zip(profiles.moments, cluster_profiles(model, blobs()).moments):
        assert_array_equal(part, expected)
    records = profiles.to_records()
    assert profiles.to_pandas().to_dict("records") == records
    assert [record["feature"] for record in records] == ["height", "width", "depth"] * model.n_clusters_
    assert records[1] == {
        "cluster": 0,
        "n_rows": profiles.n_rows[0],
        "feature": "width",
        "mean": profiles.mean[0, 1],
        "sd": profiles.sd[0, 1],
        "mean_of_others": profiles.mean_of_others[0, 1],
        "difference": profiles.difference[0, 1],
    }


@pytest.mark.parametrize(
    ("function", "call"),
    [
        (cluster_profiles, r"cluster_profiles\(model, X\)"), (drift, r"drift\(model, X\)"),
        (lambda X, model: continued(X, model, model), r"continued\(model, previous, X\)"),
        (lambda X, model: continued(model.fit(X), X, model), r"continued\(model, previous, X\)"),
    ],
)  # fmt: skip
def test_rows_before_their_model_get_a_remedy(function, call):
    with pytest.raises(TypeError, match=f"^expected a fitted model, as in {call}; got ndarray in its place$"):
        function(np.zeros((9, 2)), RandomProjectionTree())


def test_a_single_cluster_differs_from_nothing():
    rows = np.arange(6.0).reshape(3, 2)
    one = RandomProjectionTree(n_projections=20, max_clusters=1).fit(rows)
    profiles = cluster_profiles(one, rows)
    assert profiles.top(0) == []
    assert profiles.to_text().splitlines()[1].split() == ["0", "3", "-", "-", "-", "-", "-"]


def test_constant_columns_that_differ_come_first_and_those_that_do_not_never():
    rows = np.column_stack([[1.0, 2, 3, 4], [5.0, 5, 7, 7], [9.0, 9, 9, 9]])
    of_clusters, labels = MomentPass(2, rows[0]), np.array([0, 0, 1, 1])
    profiles = Profiles(("a", "b", "c"), of_clusters.finalise(of_clusters.chunk(0, labels, rows)))
    assert profiles.top(0) == [1, 0]
    assert profiles.difference[0, 1] == -np.inf
    assert profiles.difference[:, 2].tolist() == [0, 0]
