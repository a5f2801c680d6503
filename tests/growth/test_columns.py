"""Shift, scale and resolution of the columns, and directions in the shape of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdh_dask import HierarchicalMDH, PCATree
from mdh_dask.growth.discrete import Discrete, discrete_of
from mdh_dask.growth.passes import HASH_RANGE, FirstPass
from mdh_dask.growth.scaling import Standardiser, standardiser
from mdh_dask.projections import PROJECTIONS, RANDOM_PROJECTIONS, row_combinations
from mdh_dask.projections.directions import MOST_ROWS, StandardDirections

ALL_ROWS = FirstPass(seed=0, limit=HASH_RANGE - 1)


def standardiser_of(rows: np.ndarray, scale: bool = True) -> Standardiser:
    look = ALL_ROWS.chunk(0, rows)
    return standardiser(look.columns, look.sample, scale)


def test_standardised_columns_have_mean_zero_and_unit_variance_within_a_few_bits():
    rows = np.random.default_rng(0).normal([3.0, -100.0, 1e6], [0.01, 20.0, 5.0], size=(4000, 3))
    standard = standardiser_of(rows)(rows)
    np.testing.assert_allclose(standard.std(axis=0), 1, rtol=2**-11)
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1 / 16)


@pytest.mark.parametrize(("size", "factor"), [(1.0, 1.0), (500.0, 1.0), (2.0**40, 2.0**-41), (2.0**-300, 2.0**299)])
def test_columns_far_from_the_size_of_one_are_multiplied_by_a_power_of_two_if_they_are_not_scaled(size, factor):
    rows = np.random.default_rng(0).normal(0, [size, size / 8, 0.0], size=(1000, 3))
    rows[:, 0] *= 1.5 * size / rows[:, 0].std()
    look = ALL_ROWS.chunk(0, rows)
    scale = standardiser(look.columns, look.sample, False, discrete=True).scale
    assert scale.tolist() == [factor, factor, 0]
    assert standardiser(look.columns, look.sample, False).scale.tolist() == [1, 1, 0]


def test_single_precision_is_left_where_it_cannot_hold_the_factors():
    rows = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    small = rows * np.float32(2.0**-135)
    assert standardiser_of(rows)(rows).dtype == np.float32
    standard = standardiser_of(small)(small)
    assert standard.dtype == np.float64
    np.testing.assert_allclose(standard.std(axis=0), 1, rtol=2**-10)


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_shift_and_scale_do_not_depend_on_how_the_rows_are_divided(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(rng.normal(0, 100), rng.uniform(0.1, 10), size=(n, 3))
    cut = int(rng.integers(1, n))
    whole = ALL_ROWS.chunk(0, rows)
    parts = ALL_ROWS.combine(ALL_ROWS.chunk(0, rows[:cut]), ALL_ROWS.chunk(cut, rows[cut:]))
    first, second = (standardiser(look.columns, look.sample, True, discrete=True) for look in (whole, parts))
    for name in ("centre", "scale"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(first.discrete.steps, second.discrete.steps)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e12, 1e-300])
def test_constant_columns_are_dropped(value):
    rows = np.column_stack([np.full(500, value), np.arange(500.0)])
    assert (standardiser_of(rows).scale == 0).tolist() == [True, False]


def test_the_steps_are_those_of_finely_rounded_columns_and_zero_of_others():
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [
            rng.normal(size=2000),
            rng.normal(100, 20, size=2000).round(),
            rng.normal(size=2000).round(1),
            rng.integers(0, 2, size=2000),  # two levels name something
            np.full(2000, 3.0),
        ]
    )
    np.testing.assert_allclose(discrete_of(ALL_ROWS.chunk(0, rows).sample).steps, [0, 1, 0.1, 0, 0], atol=1e-4)


@pytest.mark.parametrize("dtype", ["u1", "f4"])
@pytest.mark.parametrize("colours", ["the same", "nearly the same", "inverted"])
def test_grey_levels_are_no_clusters_where_colours_take_their_steps_together(colours, dtype):
    rng = np.random.default_rng(0)
    grey = rng.normal(np.repeat([60, 200], 10_000), 3).round()
    noise = rng.choice([-1, 0, 1], p=[0.01, 0.98, 0.01], size=grey.size)
    others = {"the same": (grey, grey), "nearly the same": (grey + noise, grey), "inverted": (255 - grey, grey)}
    rows = np.column_stack([grey, *others[colours], rng.normal(100, 20, grey.size).round()]).astype(dtype)
    steps = discrete_of(ALL_ROWS.chunk(0, rows).sample).steps
    np.testing.assert_allclose(steps, np.sqrt([3, 3, 3, 1]))  # along the diagonal, three steps are taken at once
    assert PCATree().fit(rows[:, :3]).n_clusters_ == 2


def test_the_bandwidth_of_a_direction_hides_the_steps_of_its_columns():
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 5.0]])
    np.testing.assert_allclose(Discrete(steps=np.array([1.0, 0.0])).bandwidth_along(directions), [0.6, 0, 1.2])


def test_standardised_directions_are_those_of_the_raw_ones_without_the_constant_columns():
    rows = np.random.default_rng(1).normal(5, 3, size=(50, 3)) * [1, 0, 10]
    standard, directions = standardiser_of(rows), StandardDirections(np.arange(1.0, 7.0).reshape(2, 3))
    np.testing.assert_allclose(standard.standard(standard.raw(directions)).vectors, [[1, 0, 3], [4, 0, 6]])


def test_row_combinations_have_the_covariance_of_the_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(MOST_ROWS, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.2]])
    V = row_combinations(rng, 20_000, rows)
    np.testing.assert_allclose(np.cov(V.T) / len(rows), np.cov(rows.T, bias=True), atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_have_a_row_for_each_of_at_most_so_many_directions_and_repeat_by_seed(name):
    rows = np.random.default_rng(0).normal(size=(700, 3))
    first, second = (PROJECTIONS[name](rows, np.random.default_rng(7), 11) for _ in range(2))
    if isinstance(first, tuple):
        (first, thresholds), (second, again) = first, second
        np.testing.assert_array_equal(thresholds, again)
    first, second = np.vstack(first), np.vstack(second)  # of all families
    found = first.shape[0]
    assert found == 11 if name in ("row_combinations", *RANDOM_PROJECTIONS) else 1 <= found <= 11
    assert first.shape == (found, 3)
    np.testing.assert_array_equal(first, second)


def test_colours_of_a_compressed_picture_are_no_clusters():
    rng = np.random.default_rng(0)
    brightness, (blue, red) = rng.normal(90, 25, 5000).round(), 2 * rng.normal(0, 3, (2, 5000)).round()
    colours = [brightness + 1.402 * red, brightness - 0.344 * blue - 0.714 * red, brightness + 1.772 * blue]
    assert HierarchicalMDH(random_state=0).fit(np.round(colours).T).n_clusters_ == 1
