"""Minimum density hyperplanes with labelled rows: index, gradient, and the side that labels choose."""

import numpy as np
import pytest
import reference_mdh
from helpers import best_separator, unit
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask.projections.pursuit import PenalisedDensity, labelled_hyperplane, penalty_of


def made_index(seed, n, d, n_labelled, gamma, epsilon=1 - 1e-6):
    """Return an index of random rows; some labelled rows are far outside."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, d)) * random.uniform(0.3, 2, d)
    rows -= rows.mean(axis=0)
    labelled, signs = 3 * random.normal(size=(n_labelled, d)), random.choice([-1.0, 1.0], n_labelled)
    penalty = penalty_of(d, 0.35, 0.01, epsilon)._replace(labelled=labelled, signs=signs, gamma=gamma)
    return PenalisedDensity(rows, penalty)


def for_labels(index, v, offsets):
    """Return the penalty for labels, JMLR 17(156) eq. 16, at each offset."""
    penalty = index.penalty
    wrong = penalty.signs * (np.atleast_1d(offsets)[:, None] - penalty.labelled @ v)
    return penalty.gamma * (np.maximum(wrong, 0) ** (1 + penalty.epsilon)).sum(axis=1)


@given(seeds, st.integers(2, 150), st.integers(1, 4), st.integers(1, 12), st.sampled_from([0.1, 1.0, 10.0]))
def test_the_index_is_the_lowest_over_all_offsets(seed, n, d, n_labelled, gamma):
    index, alpha = made_index(seed, n, d, n_labelled, gamma), 0.9
    v = unit(np.random.default_rng(seed).normal(size=d))
    best = best_separator(index, v, alpha)
    reach = max(alpha * (index.centred @ v).std(), np.abs(index.penalty.labelled @ v).max()) + 0.02
    offsets = np.linspace(-reach, reach, 4001)
    constants = index.penalty.bandwidth, index.penalty.eta, index.penalty.epsilon

    def f(b):
        density = reference_mdh.penalised_density(index.centred, v, b, *constants[:1], alpha, *constants[1:])
        return density + for_labels(index, v, b)

    assert best.index <= f(offsets).min() * (1 + 1e-5) + 1e-9
    assert best.index == pytest.approx(float(f(best.offset)[0]), rel=1e-9, abs=1e-12)


@given(seeds, st.integers(2, 5), st.integers(1, 12), st.sampled_from([0.5, 1 - 1e-6]))
def test_the_gradient_is_that_of_central_differences(seed, d, n_labelled, epsilon):
    index = made_index(seed, 120, d, n_labelled, 1.0, epsilon)
    random = np.random.default_rng(seed)
    v, step, along = unit(random.normal(size=d)), 1e-5, random.normal(size=d)
    along = unit(along - (along @ v) * v)
    best, ahead, behind = (best_separator(index, unit(v + s * along), 0.9) for s in (0, step, -step))
    if max(abs(ahead.offset - best.offset), abs(behind.offset - best.offset)) > 0.01:
        return  # The lowest valley changes here: the index has a kink.
    difference = (ahead.index - behind.index) / (2 * np.arctan(step))
    assert best.gradient @ along == pytest.approx(difference, rel=1e-3 if epsilon > 0.9 else 0.02, abs=1e-4)


def four_groups(seed=0):
    """Return rows in four groups at the corners of a square, and the corners."""
    rng = np.random.default_rng(seed)
    corners = np.repeat([[-1, -1], [1, -1], [-1, 1], [1, 1]], 100, axis=0)
    return rng.normal(size=(400, 2)) + 3 * corners, corners


@pytest.mark.parametrize("axis", [0, 1])
def test_labels_choose_among_valleys_and_the_side(axis):
    rows, corners = four_groups()
    some = [5, 150, 250, 350]
    for sign in (1, -1):
        result = labelled_hyperplane(rows, rows[some], sign * corners[some, axis])
        assert ((rows @ result.direction > result.offset) == (sign * corners[:, axis] > 0)).mean() > 0.98


def test_the_hyperplane_is_that_of_the_rows_wherever_they_are():
    rows, corners = four_groups()
    some = [5, 150, 250, 350]
    here = labelled_hyperplane(rows, rows[some], corners[some, 0])
    there = labelled_hyperplane(8 * rows + 5000, 8 * rows[some] + 5000, corners[some, 0])
    np.testing.assert_allclose(there.direction, here.direction, atol=1e-6)
    assert there.offset == pytest.approx(8 * here.offset + 5000 * here.direction.sum(), abs=1e-4)


def test_labels_hold_a_hyperplane_where_there_is_no_valley():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3))
    some = rng.choice(500, 60, replace=False)
    signs = np.sign(rows[some, 1] - 0.3)
    result = labelled_hyperplane(rows, rows[some], signs)
    assert ((rows @ result.direction > result.offset) == (rows[:, 1] > 0.3)).mean() > 0.9
