"""Directions of extreme kurtosis, and random subspaces."""

import numpy as np
import pytest
from helpers import at_night

from mdh_dask import HierarchicalMDH
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.projections import kurtosis_directions
from mdh_dask.projections.directions import in_random_subspace
from mdh_dask.projections.thesis import MOST_ROWS


def kurtosis_along(rows, v):
    p = (rows - rows.mean(axis=0)) @ v
    return (p**4).mean() / (p**2).mean() ** 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", at_night(range(6), 3))
def test_no_direction_of_the_plane_has_less_or_more_kurtosis(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_t(5, (300, 2)) @ rng.normal(size=(2, 2)) + 3 * rng.integers(0, 2, (300, 1)) * [1, 0.5]
    angles = np.linspace(0, np.pi, 721)
    grid = [kurtosis_along(rows, v) for v in np.column_stack([np.cos(angles), np.sin(angles)])]
    least, largest = kurtosis_directions(rows, rng, 2)
    assert kurtosis_along(rows, least) <= min(grid) * (1 + 1e-3)
    assert kurtosis_along(rows, largest) >= max(grid) * (1 - 1e-3)


@pytest.mark.slow
def test_they_show_groups_of_equal_and_of_different_size():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 8))
    rows[:500, 2] += 7
    rows[::20, 5] += 9
    least, largest = kurtosis_directions(rows, rng, 2)
    assert abs(least[2]) > 0.95
    assert abs(largest[5]) > 0.95


def test_groups_that_take_turns_are_shown():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * MOST_ROWS, 4))
    rows[::2, 2] += 7
    assert abs(kurtosis_directions(rows, rng, 1)[0, 2]) > 0.95


def test_directions_of_a_kind_are_uncorrelated_and_as_many_as_dimensions():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 4)) * [1, 2, 3, 0]
    found = kurtosis_directions(rows, rng, 99)
    assert len(found) == 6
    for kind in (found[::2], found[1::2]):
        np.testing.assert_allclose(np.corrcoef(kind @ rows.T), np.eye(3), atol=1e-6)
    assert kurtosis_directions(np.ones((9, 3)), rng, 4).shape == (0, 3)


def test_directions_of_a_subspace_are_orthogonal_to_all_others():
    rng, seen = np.random.default_rng(0), []
    rows = rng.normal(size=(50, 9))

    def proposed(projected, rng):
        seen.append(projected)
        return [np.eye(3)[:2], np.eye(3)[2:]]

    found = np.concatenate(in_random_subspace(proposed, rows, rng, 3))
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(seen[0], rows @ found.T, atol=1e-12)


@pytest.mark.parametrize("subspace", [10, 60])
def test_hyperplanes_of_random_subspaces_find_clusters_of_many_columns(subspace):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 60)) + np.repeat(rng.normal(size=(4, 60)) * 3, 100, axis=0)
    model = HierarchicalMDH(starts="pca2").as_divisive(subspace=subspace).fit(rows)
    assert adjusted_rand_index(np.repeat(range(4), 100), model.labels_) > 0.95
