"""Draws of few rows, of which the clusters that most of them show count, and samples of thousands of rows."""

import numpy as np
import pytest
from helpers import at_night
from sklearn.metrics import adjusted_rand_score

from mdh_dask import DensityTree
from mdh_dask.density_trees import sketch
from mdh_dask.density_trees.sketch import Sketch, _most_agreed
from mdh_dask.valleys.structure import one_cell


def sketch_with(labels):
    """Return the sketch of rows whose clusters are single cells."""
    cell = np.array(labels)
    n_links = cell.max()
    structure = one_cell(len(cell))._replace(
        cell=cell, links=np.array([(0, i) for i in range(1, n_links + 1)]).reshape(-1, 2),
        evidence=np.full(n_links, 3.0), threshold=2.0,
    )  # fmt: skip
    return Sketch(None, None, None, None, structure, False)


def chosen(n_rows, *draws):
    """Return the labels of the chosen draw, and the number of draws."""
    asked = []

    def drawn(draw):
        asked.append(draw)
        return sketch_with(draws[draw])

    return _most_agreed(drawn, n_rows).structure.cell.tolist(), len(asked)


ONE, TWO, OTHER = [0] * 8, [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]
HALF, THIRD = [0, 0, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 1, 1, 2, 2]


def test_the_clusters_of_most_draws_count_and_end_the_draws():
    assert chosen(700, ONE, TWO, TWO, ONE, TWO, TWO, ONE) == (TWO, 6)
    assert chosen(700, TWO, TWO, TWO, TWO) == (TWO, 4)
    assert chosen(1500, ONE, TWO, ONE) == (ONE, 3)


def test_clusters_between_those_of_other_draws_count_where_no_two_draws_agree():
    assert chosen(1500, HALF, TWO, THIRD) == (TWO, 3)


def test_of_equal_agreement_the_draw_with_more_clusters_counts():
    assert chosen(1500, ONE, TWO, OTHER)[0] == TWO


def test_more_rows_are_drawn_once():
    assert chosen(2000, TWO) == (TWO, 1)


@pytest.mark.slow
def test_the_clusters_of_few_rows_depend_less_on_the_seed_than_those_of_one_draw(monkeypatch):
    rng = np.random.default_rng(3)
    clouds = [rng.normal(size=(200, 2)) + np.repeat([[0, 0], [4, 0]], 100, axis=0) for _ in range(5)]

    def changes():
        found = [[DensityTree(random_state=seed).fit(X).n_clusters_ for seed in range(4)] for X in clouds]
        return sum(np.var(of_cloud) for of_cloud in found)

    of_several = changes()
    monkeypatch.setattr(sketch, "ROWS_OF_DRAWS", 0)
    assert of_several < changes() / 2


def unequal(n, kind, seed):
    """A sixth of the rows beside all others in one column, five standard deviations apart, and unrelated columns."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.16).astype(int)
    return np.column_stack([rng.normal(size=n) + 5 * labels, getattr(rng, kind)(size=(n, 5))]), labels


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "kind"), at_night([(100_000, "normal"), (20_000, "uniform"), (10_000, "normal")]))
def test_more_rows_lose_no_clusters_that_fewer_show(n_rows, kind):
    rows, labels = unequal(n_rows, kind, seed=2)
    assert adjusted_rand_score(DensityTree(random_state=1).fit_predict(rows), labels) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", at_night(range(2)))
def test_levels_of_counts_are_no_clusters_of_the_rows_that_are_not_in_the_sample(seed):
    rng = np.random.default_rng(seed)
    labels = rng.random(50_000) < 0.16
    rows = np.column_stack([rng.normal(size=50_000) + 5 * labels, rng.poisson(4, (50_000, 2))])
    assert adjusted_rand_score(DensityTree(random_state=seed).fit_predict(rows), labels) > 0.9


@pytest.mark.slow
def test_a_community_across_a_valley_hides_no_clusters():
    labels = np.repeat([0, 1], [3360, 640])
    rows = np.random.default_rng(2).normal(size=(4000, 4)) + 5 * np.column_stack([labels, np.zeros((4000, 3))])
    assert adjusted_rand_score(DensityTree(random_state=0).fit_predict(rows), labels) > 0.9
