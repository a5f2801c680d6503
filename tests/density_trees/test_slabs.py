"""Slabs in which all rows confirm the links that a sample shows."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mdh_dask import DensityTree
from mdh_dask.density_trees.places import places_of
from mdh_dask.density_trees.slabs import against_the_cut, lines_of
from mdh_dask.valleys.lines import WIDTHS, errors_in_slabs, rows_in_slabs
from mdh_dask.valleys.structure import structure_of


def unequal(n, n_beside, seed):
    """A sixth of the rows beside all others in one column, five standard deviations apart, and unrelated columns."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.16).astype(int)
    return np.column_stack([rng.normal(size=n) + 5 * labels, rng.normal(size=(n, n_beside))]), labels


def test_links_that_the_sample_shows_have_a_line_across_the_valley():
    points, _ = unequal(2000, 1, seed=0)
    structure = structure_of(
        points, np.sort(np.random.default_rng(1).integers(2**63, size=2000, dtype=np.uint64)), 0.05
    )
    again = places_of(points, structure, 500)
    lines = lines_of(points, structure, again)
    drawn = lines.ends[:, 0, 0] < lines.ends[:, 0, 1]
    assert drawn.tolist() == again.shown.tolist()
    assert drawn.sum() == 1
    (link,) = np.flatnonzero(drawn)
    assert abs(lines.direction[link, 0, 0]) > 0.95
    assert errors_in_slabs(rows_in_slabs(points, lines)[link, 0]).min(axis=-1).max() > 5


def test_rows_at_either_end_must_exceed_those_between_by_more_than_a_quarter():
    in_slabs = np.array([[[[500, 400, 600]] * len(WIDTHS)], [[[0, 0, 0]] * len(WIDTHS)]])
    errors, rows = against_the_cut(in_slabs)
    assert rows[:, 0].tolist() == [[500, 400], [600, 400], [0, 0], [0, 0]]
    assert errors[:2, 0] == pytest.approx([0, 400 / np.sqrt(16 * 600 + 25 * 400)])
    assert np.isneginf(errors[2:]).all()  # without a line


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [10_000, 20_000, 100_000])
def test_more_rows_lose_no_clusters_that_fewer_show(n_rows):
    rows, labels = unequal(n_rows, 5, seed=1)
    assert adjusted_rand_score(DensityTree(random_state=1).fit_predict(rows), labels) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_levels_of_counts_are_no_clusters_of_the_rows_that_are_not_in_the_sample(seed):
    rng = np.random.default_rng(seed)
    labels = rng.random(50_000) < 0.16
    rows = np.column_stack([rng.normal(size=50_000) + 5 * labels, rng.poisson(4, (50_000, 2))])
    assert adjusted_rand_score(DensityTree(random_state=seed).fit_predict(rows), labels) > 0.9
