"""Simulated rows follow their model, are the same whatever the chunks, and exist only inside the tasks."""

import pickle
from itertools import pairwise

import cloudpickle
import dask
import numpy as np
import pytest
from helpers import at_night, in_turns
from scipy import stats

from mdh_dask.simulate import (
    bolton_mixture,
    gaussian_mixture,
    mixed_mixture,
    mixtures,
    noisy_axes_mixture,
    separated_mixture,
)
from mdh_dask.simulate.mixtures import parameter_stream
from mdh_dask.simulate.published import BOLTON_COVARIANCE, BOLTON_MEANS
from tests.benchmarks.mixtures import latent_mixture, varied_mixture


def unequal_mixture(n_samples, n_features, n_clusters, **options):
    return gaussian_mixture(n_samples, n_features, n_clusters, weights=np.arange(1, n_clusters + 1), **options)


def bolton(n_samples, n_features, n_clusters, **options):
    return bolton_mixture(4, n_samples, **options)


def mixed(n_samples, n_features, n_clusters, **options):
    """Continuous columns and some of two levels."""
    return mixed_mixture(n_samples, n_features, 3, n_clusters, **options)[:2]


def latent(n_samples, n_features, n_clusters, **options):
    return latent_mixture(n_samples, n_features, 3, n_clusters, **options)[:2]


MIXTURES = [gaussian_mixture, unequal_mixture, separated_mixture, noisy_axes_mixture, bolton]


@pytest.fixture
def short_blocks(monkeypatch):
    """Blocks of ten rows, so that a few hundred rows already have many streams."""
    monkeypatch.setattr(mixtures, "BLOCK_ROWS", 10)


def numpy_pair(pair):
    return dask.compute(*pair, scheduler="synchronous")


class TestValuesDependOnTheSeedOnly:
    @pytest.mark.slow
    @pytest.mark.parametrize("mixture", at_night([mixed, latent, *MIXTURES], 3))
    @pytest.mark.usefixtures("short_blocks")
    def test_chunks_do_not_matter(self, mixture):
        X, y = numpy_pair(mixture(203, 4, 3, random_state=5))
        for chunk_rows in (1, 7, 10, 64, 202, 203, 1000):
            lazy = mixture(203, 4, 3, chunk_rows=chunk_rows, random_state=5)
            assert lazy[0].chunks[0] == lazy[1].chunks[0]
            assert lazy[0].chunks[0][0] == min(chunk_rows, 203)
            for values, expected in zip(numpy_pair(lazy), (X, y), strict=True):
                np.testing.assert_array_equal(values, expected)

    @pytest.mark.parametrize("mixture", MIXTURES)
    def test_seed_decides(self, mixture):
        X, y = numpy_pair(mixture(200, 8, 4, random_state=1))
        again = numpy_pair(mixture(200, 8, 4, random_state=1))
        other = numpy_pair(mixture(200, 8, 4, random_state=2))
        np.testing.assert_array_equal(again[0], X)
        np.testing.assert_array_equal(again[1], y)
        assert (other[0] != X).mean() > 0.99
        assert (other[1] != y).any()

    def test_rows_differ_between_blocks(self):
        X, _ = numpy_pair(gaussian_mixture(40_000, 1, 1, dtype=float))
        assert len(np.unique(X)) == 40_000

    def test_seed_of_a_mixture_is_no_stream_of_a_method(self):
        X, _ = numpy_pair(gaussian_mixture(1000, 1, 1, centre_range=(0, 0), sd=1, dtype=float))
        assert not np.isin(X, np.random.Generator(np.random.PCG64(0)).standard_normal(10_000)).any()

    @pytest.mark.parametrize("mixture", [*MIXTURES, mixed, latent])
    def test_single_precision_is_double_precision_rounded(self, mixture):
        single, y = numpy_pair(mixture(100, 8, 3))
        double, same = numpy_pair(mixture(100, 8, 3, dtype="float64"))
        assert (single.dtype, double.dtype, y.dtype) == (np.float32, np.float64, np.int64)
        np.testing.assert_array_equal(single, double.astype(np.float32))
        np.testing.assert_array_equal(y, same)


class TestRowsFollowTheModel:
    """Standard errors are known, so bounds are five of them."""

    def assert_moments(self, X, y, cluster, mean, covariance):
        X = X[y == cluster].astype(float)
        n, variances = len(X), np.diag(covariance)
        assert np.all(np.abs(X.mean(axis=0) - mean) < 5 * np.sqrt(variances / n) + 1e-6)
        error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
        assert np.all(np.abs(np.cov(X, rowvar=False) - covariance) < 5 * error)

    def test_gaussian_mixture(self):
        X, y = numpy_pair(gaussian_mixture(60_000, 5, 3, centre_range=(2, 4), sd=0.5, random_state=3))
        centres = parameter_stream(3).uniform(2, 4, (3, 5))
        for cluster in range(3):
            self.assert_moments(X, y, cluster, centres[cluster], 0.25 * np.eye(5))
        noise = (X - centres[y])[:, 0] / 0.5
        assert stats.kstest(noise, "norm").pvalue > 1e-3

    def test_mixed_mixture(self):
        X, y, column_types = mixed_mixture(60_000, 2, 3, 3, random_state=3)
        X, y = numpy_pair((X, y))
        continuous, discrete = (X[:, column_types[kind]] for kind in ("continuous", "categorical"))
        assert set(np.unique(discrete)) == {0, 1}
        for cluster in range(3):
            own, levels = continuous[y == cluster], discrete[y == cluster]
            variance = own.var(axis=0)
            assert variance[0] == pytest.approx(variance[1], rel=0.1)
            assert 0.1**2 * 0.9 < variance[0] < 1.1**2 * 1.1
            others = np.minimum(levels.mean(axis=0), 1 - levels.mean(axis=0))
            np.testing.assert_allclose(others, variance.mean() / 4, atol=5 * np.sqrt(0.25 / len(own)))
            # The columns are independent in a cluster.
            assert np.abs(np.corrcoef(np.column_stack([own, levels]).T) - np.eye(5)).max() < 5 / np.sqrt(len(own))

    def test_latent_mixture(self):
        X, y, _ = latent_mixture(60_000, 4, 2, 3, noise_variance=0.04, random_state=2)
        X, y = numpy_pair((X, y))
        for cluster in range(3):
            own = X[y == cluster].astype(float)
            values = np.linalg.eigvalsh(np.cov(own[:, :4].T))
            # Two latent variables, with variances of at most a hundredth, and noise.
            np.testing.assert_allclose(values[:2], 0.04, rtol=0.05)
            assert values[3] < 0.04 + 0.01 * 4
        assert len(np.unique([X[y == cluster][:, :4].mean(axis=0).round(2) for cluster in range(3)], axis=0)) == 3

    def test_columns_of_one_kind_may_be_none(self):
        assert mixed_mixture(None, 0, 2, 3)[0].shape == (300, 2)
        assert latent_mixture(None, 2, 0, 3)[2] == {"continuous": [0, 1], "categorical": []}
        with pytest.raises(ValueError, match="n_discrete must be an integer of at least 0; got -1"):
            mixed_mixture(10, 1, -1, 2)
        with pytest.raises(ValueError, match=r"n_continuous \+ n_discrete must be an integer of at least 1"):
            mixed_mixture(10, 0, 0, 2)

    def test_weights_are_the_probabilities_of_independent_draws(self):
        _, y = numpy_pair(gaussian_mixture(50_000, 1, 3, weights=[1, 2, 5]))
        expected = np.array([1, 2, 5]) / 8
        assert stats.chisquare(np.bincount(y), 50_000 * expected).pvalue > 1e-3
        neighbours = np.mean(y[1:] == y[:-1])
        assert neighbours == pytest.approx((expected**2).sum(), abs=5 * np.sqrt(0.25 / 50_000))

    @pytest.mark.parametrize("n", [1, 10, 8191, 8192, 8193, 50_001])
    def test_clusters_are_equally_large_by_default(self, n):
        _, y = numpy_pair(gaussian_mixture(n, 1, 3))
        assert np.ptp(np.bincount(y, minlength=3)) <= 1

    def test_varied_mixture(self):
        k, d = 6, 4
        X, y = numpy_pair(varied_mixture(90_000, d, k, random_state=1))
        random = parameter_stream(1)
        u = random.uniform(1, 2, k)
        centres, sds = random.uniform(0, k / 3, (k, d)), random.uniform(0.1, 1.1, k)
        assert stats.chisquare(np.bincount(y), 90_000 * u / u.sum()).pvalue > 1e-3
        for cluster in range(k):
            self.assert_moments(X, y, cluster, centres[cluster], sds[cluster] ** 2 * np.eye(d))

    def test_separated_clusters_are_apart_along_every_feature(self):
        X, y = numpy_pair(separated_mixture(5000, 6, 5, random_state=2))
        for feature in X.T:
            ranges = sorted((feature[y == c].min(), feature[y == c].max()) for c in range(5))
            assert all(low[1] + 2 < high[0] for low, high in pairwise(ranges))
        assert X[y == 0].std(axis=0) == pytest.approx(np.ones(6), abs=0.1)

    def test_noisy_axes_mixture(self):
        d, k = 400, 2
        X, y = numpy_pair(noisy_axes_mixture(4000, d, k, random_state=4))
        means = np.array([X[y == c].mean(axis=0) for c in range(k)])
        assert means.min() > -0.1
        assert means.max() < 2.1
        assert means.mean() == pytest.approx(1, abs=0.12)
        variances = np.array([X[y == c].var(axis=0) for c in range(k)])
        quiet = variances < 0.3
        np.testing.assert_array_equal(quiet[0], quiet[1])
        assert variances[quiet] == pytest.approx(np.full(quiet.sum(), 0.05), abs=0.01)
        assert variances[~quiet] == pytest.approx(np.full((~quiet).sum(), 1.0), abs=0.2)
        assert quiet[0].mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(d))

    @pytest.mark.parametrize("k", [2, 4, 8])
    def test_bolton_mixture(self, k):
        X, y = numpy_pair(bolton_mixture(k, 20_000 * k))
        np.testing.assert_array_equal(np.bincount(y), np.full(k, 20_000))
        for cluster in range(k):
            self.assert_moments(X, y, cluster, BOLTON_MEANS[cluster], BOLTON_COVARIANCE)


class TestNothingIsHeldAsAWhole:
    @pytest.mark.slow
    def test_graph_of_a_billion_rows_is_small(self):
        X, y = gaussian_mixture(10**9, 100, 5)
        assert X.shape == (10**9, 100)
        assert X.numblocks[1] == 1
        for array in (X, y):
            tasks = dict(array.__dask_graph__())
            assert len(tasks) < 3 * X.numblocks[0]
            assert len(cloudpickle.dumps(tasks)) < 2_000 * X.numblocks[0]

    def test_graph_holds_the_parameters_once(self):
        X, _ = noisy_axes_mixture(2000, 19_000, 50, chunk_rows=100)
        parameters = 8 * 50 * 19_000
        assert parameters < len(cloudpickle.dumps(X.__dask_graph__())) < 1.5 * parameters

    def test_nothing_is_generated_before_compute_and_only_what_is_asked_for(self, monkeypatch):
        drawn = []
        original = mixtures.Mixture.rows
        monkeypatch.setattr(mixtures.Mixture, "rows", lambda self, b: drawn.append(b) or original(self, b))
        X, _ = gaussian_mixture(10**7, 16, 2, chunk_rows=8192)
        assert drawn == []
        assert X[-3:].compute(scheduler="synchronous").shape == (3, 16)
        assert drawn == [10**7 // 8192]

    @pytest.mark.slow
    def test_automatic_chunks_are_whole_blocks_of_a_bounded_size(self):
        for d in (1, 8, 100, 19_000):
            X, _ = gaussian_mixture(10**8, d, 1)
            rows = X.chunks[0][0]
            assert rows * d * 4 <= mixtures.CHUNK_BYTES
            assert rows % min(8192, 2**17 // d) == 0

    def test_mixture_survives_pickling(self):
        X, _ = gaussian_mixture(50, 2, 2, chunk_rows=20)
        np.testing.assert_array_equal(pickle.loads(cloudpickle.dumps(X)).compute(), X.compute())


class TestSmallest:
    @pytest.mark.parametrize("mixture", MIXTURES[:-1])
    def test_one_row_one_feature_one_cluster(self, mixture):
        X, y = numpy_pair(mixture(1, 1, 1))
        assert X.shape == (1, 1)
        assert y.tolist() == [0]
        assert np.isfinite(X).all()


class TestBadParameters:
    @pytest.mark.parametrize(("mixture", "sizes"), in_turns(MIXTURES[:-1], [(0, 1, 1), (5, 2.5, 1), (5, 1, -1)]))
    def test_sizes(self, mixture, sizes):
        with pytest.raises(ValueError, match=r"n_(samples|features|clusters) must be an integer of at least 1; got"):
            mixture(*sizes)

    @pytest.mark.parametrize("mixture", MIXTURES)
    def test_shared_parameters(self, mixture):
        with pytest.raises(ValueError, match='chunk_rows must be an integer of at least 1 or "auto"; got 0'):
            mixture(10, 2, 2, chunk_rows=0)
        with pytest.raises(ValueError, match="dtype must be float32 or float64; got int64"):
            mixture(10, 2, 2, dtype=np.int64)
        with pytest.raises(ValueError, match="random_state must be an integer of at least 0, the seed; got -1"):
            mixture(10, 2, 2, random_state=-1)
        with pytest.raises(ValueError, match="random_state must be an integer of at least 0, the seed; got None"):
            mixture(10, 2, 2, random_state=None)

    def test_own_parameters(self):
        with pytest.raises(ValueError, match=r"low <= high; got \(1, 0\)"):
            gaussian_mixture(5, 1, 1, centre_range=(1, 0))
        with pytest.raises(ValueError, match="sd must be a positive number; got 0"):
            gaussian_mixture(5, 1, 1, sd=0)
        with pytest.raises(ValueError, match=r"weights must have shape \(2,\), one for each cluster; got \(3,\)"):
            gaussian_mixture(5, 1, 2, weights=[1, 1, 1])
        with pytest.raises(ValueError, match=r"positive and finite.*leave out empty clusters"):
            gaussian_mixture(5, 1, 2, weights=[1, 0])
        with pytest.raises(ValueError, match="separation must be a positive number"):
            separated_mixture(5, 1, 2, separation=-1)
        with pytest.raises(ValueError, match="n_clusters must be 2, 4 or 8"):
            bolton_mixture(3)
        with pytest.raises(ValueError, match="n_samples must be an integer"):
            bolton_mixture(2, 0)
