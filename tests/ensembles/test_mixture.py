"""Mixtures of Bernoullis of tuples, and the tuples of the sides of hyperplanes on which rows lie."""

import numpy as np
import pytest
from helpers import peak_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from mdh_dask.chunks import run
from mdh_dask.density.kde import BANDWIDTHS
from mdh_dask.ensembles.hyperplanes import EnsembleSettings, distinct_partitions, hyperplane_ensemble
from mdh_dask.ensembles.mixture import (
    PRIOR,
    HyperplaneMixture,
    bernoulli_tally,
    cells,
    climb,
    fit_components,
    fits,
    maximise,
)
from mdh_dask.ensembles.votes import TuplePass, bits_of, words_of
from mdh_dask.splits.stopping import STOP_RULES


def bit_rows(seed, n, k, h, flip=0.1):
    """Rows of bits around k patterns, and their patterns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    patterns = rng.permutation(np.arange(2**h))[:k, None] >> np.arange(h) & 1
    return patterns[y].astype(bool) ^ (rng.random((n, h)) < flip), y


def tallied(bits):
    distinct, counts = np.unique(bits, axis=0, return_counts=True)
    return bernoulli_tally(distinct, counts), distinct, counts


def settings(stop="hold-out", **other):
    fixed = {"n_hyperplanes": 30, "alpha_max": 1.0, "bandwidth": BANDWIDTHS["normal"], "sample_size": 10_000}
    fixed |= {"scale": True, "max_clusters": 20, "n_clusters": None, "criterion": "bic", "n_init": 3, "seed": 0}
    return EnsembleSettings(stop=STOP_RULES[stop](0.975), **fixed | other)


def ensemble(X, **other):
    return run(hyperplane_ensemble(settings(**other), X.shape, lambda look: None), X)


class TestExpectationMaximisation:
    @given(seeds, st.integers(1, 4))
    def test_a_step_is_that_of_the_textbook_row_by_row(self, seed, k):
        bits, _ = bit_rows(seed, 40, 3, 4)
        tally, distinct, _ = tallied(bits)
        shares = np.random.default_rng(seed).dirichlet(np.ones(k), len(distinct))
        mixture = maximise(tally, shares)
        of_row = [shares[int(np.flatnonzero((distinct == row).all(axis=1))[0])] for row in bits]
        for c in range(k):
            n_c = sum(own[c] for own in of_row)
            weight = (n_c + PRIOR) / (len(bits) + k * PRIOR)
            theta = [
                (sum(own[c] * row[j] for own, row in zip(of_row, bits)) + PRIOR) / (n_c + 2 * PRIOR) for j in range(4)
            ]
            assert np.exp(mixture.log_weights[c]) == pytest.approx(weight)
            np.testing.assert_allclose(np.exp(mixture.log_probabilities[c, 1::2]), theta)
        fit = climb(tally, mixture, 0)
        theta, weights = np.exp(mixture.log_probabilities[:, 1::2]), np.exp(mixture.log_weights)
        probability = [(weights * np.prod(np.where(row, theta, 1 - theta), axis=1)).sum() for row in bits]
        assert fit.log_likelihood == pytest.approx(np.log(probability).sum())

    @given(seeds, st.integers(1, 5))
    def test_never_lowers_the_posterior_density(self, seed, k):
        bits, _ = bit_rows(seed, 60, 3, 5, flip=0.2)
        tally, *_ = tallied(bits)
        path = fit_components(tally, min(k, len(tally.counts)), 1, seed).path
        assert (np.diff(path) >= -1e-9 * abs(path[0])).all()

    def test_of_one_component_is_the_best_of_a_grid(self):
        bits, _ = bit_rows(0, 200, 2, 2)
        tally, *_ = tallied(bits)
        grid = np.linspace(0.005, 0.995, 199)
        each = [max(col.sum() * np.log(t) + (~col).sum() * np.log(1 - t) for t in grid) for col in bits.T]
        assert fit_components(tally, 1, 1, 0).log_likelihood == pytest.approx(sum(each), abs=0.01)

    @pytest.mark.parametrize("criterion", ["bic", "icl"])
    def test_the_criterion_finds_the_patterns_that_made_the_rows(self, criterion):
        bits, _ = bit_rows(3, 2000, 5, 12, flip=0.05)
        tally, *_ = tallied(bits)
        tried = list(fits(tally, 12, 3, 0, criterion))
        best = min(tried, key=lambda fit: fit.score(criterion, tally))
        assert best.mixture.n_components == 5
        assert len(tried) < 12

    def test_equal_hyperplanes_are_evidence_for_partitions_of_noise(self):
        # The reason to take each partition once.
        bits = np.random.default_rng(0).random((500, 3)) < 0.5
        k = [min(fits(tallied(b)[0], 8, 3, 0, "bic"), key=lambda fit, b=b: fit.score("bic", tallied(b)[0]))
             for b in (bits, np.repeat(bits, 5, axis=1))]  # fmt: skip
        assert [fit.mixture.n_components for fit in k] == [1, 8]

    def test_two_hyperplanes_make_a_cluster_of_every_cell_with_enough_rows(self):
        tally = bernoulli_tally(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool), np.array([50, 3, 40, 0.5]))
        assert cells(tally, least=9, most=1).n_components == 1
        mixture = cells(tally, least=9, most=30)
        assert mixture.n_components == 2
        assert mixture.log_joint(tally.ones).argmax(axis=1)[[0, 2]].tolist() == [0, 1]


class TestTuples:
    @given(seeds, st.integers(1, 130))
    def test_words_hold_the_sides(self, seed, h):
        rng = np.random.default_rng(seed)
        rows, planes, offsets = (
            rng.integers(-9, 9, (70, 3)).astype(float),
            rng.integers(-3, 3, (h, 3)),
            rng.integers(-9, 9, h),
        )
        bits = bits_of(words_of(rows, planes.astype(float), offsets.astype(float)), h)
        np.testing.assert_array_equal(bits, rows @ planes.T > offsets)

    @given(seeds)
    def test_too_many_tuples_are_sampled_with_exact_counts(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(120, 4))
        statistic = TuplePass(rng.normal(size=(70, 4)), np.zeros(70), 10)
        whole = statistic.chunk(0, rows)
        assert len(whole.words) == 10
        every = words_of(rows, statistic.planes, statistic.offsets)
        for word, count in zip(whole.words, whole.counts):
            assert (every == word).all(axis=1).sum() == count

    def test_a_partition_is_taken_once(self):
        rng = np.random.default_rng(0)
        a, b = rng.random((2, 1000)) < 0.5
        nearly = a.copy()
        nearly[:5] = ~nearly[:5]
        assert distinct_partitions(np.column_stack([a, ~a, b, nearly, a])).tolist() == [0, 2]


class TestEnsemble:
    @pytest.mark.slow
    def test_finds_separated_clouds_of_any_number(self):
        rng = np.random.default_rng(0)
        for k in (2, 3, 6):
            centres = rng.permutation(12 * np.eye(8))[:k]
            y = np.arange(600) % k
            found, n_passes = ensemble(centres[y] + rng.normal(size=(600, 8)))
            labels = found.mixture.shares(centres[y] + rng.normal(size=(600, 8))).argmax(axis=1)
            assert found.mixture.n_clusters == k
            assert len({*zip(labels, y)}) == k
            assert n_passes == 1

    @pytest.mark.parametrize("of", ["labels", "agreeing"])
    def test_shares_of_a_block_are_taken_a_few_rows_at_a_time(self, of):
        rng = np.random.default_rng(0)
        k, rows = 20, rng.normal(size=(200_000, 2))
        found = HyperplaneMixture(
            rng.normal(size=(3, 2)), np.zeros(3), np.full(k, -np.log(k)), np.log(rng.uniform(0.1, 0.9, (k, 3, 2))),
            n_rows=np.ones(k, dtype=np.int64), complete=True,
        )  # fmt: skip
        assert peak_of(lambda: getattr(found, of)(rows)) < len(rows) * k * 8 / 2

    def test_rows_beyond_the_sample_are_counted_in_a_second_pass(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(5000, 3)) + np.repeat([[0.0, 0, 0], [9, 0, 0]], [3000, 2000], axis=0)
        found, n_passes = ensemble(X, sample_size=1000)
        assert n_passes == 2
        assert found.mixture.n_rows.tolist() == [3000, 2000]
