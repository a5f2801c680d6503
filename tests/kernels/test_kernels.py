"""Kernels, landmarks and the Nyström map, against entry by entry twins, scikit-learn and the dual formulation."""

import os
import subprocess
import sys

import numpy as np
import pytest
import reference_kernel as reference
from helpers import at_night
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from sklearn.decomposition import KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise
from strategies import row_sets, seeds

from mdh_dask._jit.landmarks import k_nearest
from mdh_dask.kernels import (
    KERNELS,
    LANDMARKS,
    RBF,
    Cosine,
    FromFunction,
    Heat,
    LocalScaling,
    NearestNeighbors,
    Polynomial,
    Precomputed,
    Quadratic,
    choose_landmarks,
    nystrom,
    nystrom_map,
)
from mdh_dask.kernels.distances import LEAST_SCALE, robust_width
from mdh_dask.projections.pursuit import growing_alphas, pursue
from mdh_dask.projections.starts import Start

OF_COORDINATES = {name: cls() for name, cls in KERNELS.items() if name != "precomputed"}
ALL = OF_COORDINATES | {"function": FromFunction(lambda A, B: (1 + A @ B.T) ** 2)}


def cloud(n=60, d=3, seed=0):
    """Three clusters."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, n)[:, None]


def map_of(rows, kernel, **options):
    d = rows.shape[1]
    return nystrom_map(rows, kernel, np.zeros(d), np.ones(d), **options)


def assert_same_up_to_sign(actual, expected, atol):
    np.testing.assert_allclose(np.abs(actual), np.abs(expected), atol=atol)


@given(row_sets([np.float32, np.float64]), st.integers(1, 12))
def test_the_nearest_landmarks_are_the_first_of_a_stable_sort(rows, k):
    values = rows.ravel()
    near, distance = np.empty(min(k, len(values)), np.int64), np.empty(min(k, len(values)), values.dtype)
    k_nearest(values, near, distance)
    np.testing.assert_array_equal(near, np.argsort(values, kind="stable")[: len(near)])
    np.testing.assert_array_equal(distance, values[near])


class TestKernels:
    @pytest.mark.parametrize("kernel", ALL.values(), ids=ALL)
    def test_the_diagonal_is_that_of_the_matrix(self, kernel):
        landmarks = np.concatenate([cloud(), [[60.0, 0, 0]]])
        fitted = kernel.fit(landmarks)
        expected = np.diag(fitted.matrix(landmarks, landmarks))
        np.testing.assert_allclose(fitted.diagonal(landmarks, landmarks), expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("kernel", [NearestNeighbors(), Heat()])
    def test_a_row_far_from_all_landmarks_is_as_near_to_itself_as_one_alone(self, kernel):
        landmarks = cloud()
        assert kernel.fit(landmarks).diagonal(np.full((1, 3), 1e9), landmarks).tolist() == [1.0]

    def test_matrices_equal_those_of_scikit_learn(self):
        x, y = cloud(40), cloud(20, seed=1)
        for kernel, expected in (
            (RBF(width=2.0), pairwise.rbf_kernel(x, y, gamma=1 / 8)),
            (Polynomial(degree=2, coef0=3.0), pairwise.polynomial_kernel(x, y, degree=2, coef0=3.0)),
            (Polynomial(gamma=0.5), pairwise.polynomial_kernel(x, y, degree=3, gamma=0.5)),
            (Cosine(), pairwise.cosine_similarity(x, y)),
        ):
            np.testing.assert_allclose(kernel.fit(y).matrix(x, y), expected, rtol=1e-10)

    def test_the_quadratic_kernel_is_the_inner_product_of_quadratic_maps(self):
        x, y = cloud(10), cloud(12, seed=1)
        expected = reference.quadratic_map(x) @ reference.quadratic_map(y).T
        np.testing.assert_allclose(Quadratic().matrix(x, y), expected, rtol=1e-10)

    @given(seeds, st.integers(1, 12), st.booleans())
    def test_local_scaling_and_neighbour_graphs_equal_their_twins(self, seed, k, tied):
        rng = np.random.default_rng(seed)
        landmarks, rows = rng.standard_cauchy(size=(12, 2)), rng.standard_cauchy(size=(6, 2))
        if tied:
            landmarks[3:6] = landmarks[0]
            landmarks[:, 1] = rng.integers(2)
        scaling, graph = LocalScaling(neighbour=k).fit(landmarks), NearestNeighbors(n_neighbors=k).fit(landmarks)
        for some in (rows, landmarks):
            expected = reference.local_scaling(some, landmarks, k, scaling.floor)
            np.testing.assert_allclose(scaling.matrix(some, landmarks), expected, atol=1e-9)
            near = (reference.drawn_near(of, landmarks) for of in (some, landmarks))
            expected = reference.neighbour_affinities(*near, k, graph.floor)
            np.testing.assert_allclose(graph.matrix(some, landmarks), expected, atol=1e-9)

    @pytest.mark.parametrize("name", ALL)
    def test_a_landmark_as_a_row_has_its_row_of_the_gram_matrix(self, name):
        landmarks = cloud()
        kernel = ALL[name].fit(landmarks)
        gram = kernel.gram(landmarks)
        np.testing.assert_array_equal(gram, gram.T)
        np.testing.assert_allclose(kernel.matrix(landmarks[10:20], landmarks), gram[10:20], atol=1e-9)

    def test_scales_of_duplicates_are_floored(self):
        rows = np.repeat(cloud(20), 10, axis=0)
        rows[:100] += np.random.default_rng(0).normal(size=(100, 3))
        kernel = LocalScaling().fit(rows)
        assert kernel.floor > 0
        assert (kernel.scales[100:] == kernel.floor).all()
        assert kernel.floor == pytest.approx(LEAST_SCALE * np.median(kernel.scales[:100]), rel=0.05)

    def test_the_robust_width_is_twice_the_median_distance_to_the_7th_neighbour(self):
        rows = cloud(40)
        seventh = np.sort(pairwise.euclidean_distances(rows), axis=1)[:, 7]
        assert robust_width(rows) == pytest.approx(2 * np.median(seventh))
        assert robust_width(7 * rows) == pytest.approx(7 * robust_width(rows))

    def test_rows_that_lie_upon_each_other_do_not_narrow_the_robust_width(self):
        rows = np.concatenate([np.zeros((30, 3)), cloud(20)])
        assert robust_width(rows) > 1
        assert robust_width(np.ones((9, 2))) == 1.0

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: RBF(width=0), "width must be a finite number greater than 0, got 0"),
            (lambda: LocalScaling(neighbour=2.5), "neighbour must be"),
            (lambda: NearestNeighbors(steps=0), "steps must be"),
            (lambda: Heat(shortest=9, longest=8), "longest must be a finite number greater than 8, got 8"),
            (lambda: Polynomial(coef0=-1.0), "coef0 must be"),
        ],
    )
    def test_bad_parameters_are_named(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda A, B: np.ones(len(A)), r"shape \(60, 60\)"),
            (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
            (lambda A, B: A[:, :1] + 0 * B[:, 0], "symmetric"),
        ],
    )
    def test_a_function_that_is_no_kernel_is_refused(self, function, message):
        with pytest.raises(ValueError, match=message):
            map_of(cloud(), FromFunction(function))

    def test_precision_is_double_where_widths_are_small_beside_the_rows(self):
        rows = cloud(200, 2)
        assert map_of(rows, RBF()).projection.dtype == np.float32
        assert map_of(rows, LocalScaling()).projection.dtype == np.float32
        assert map_of(rows + 1e4, RBF()).projection.dtype == np.float64
        assert map_of(rows, RBF(width=1e-3)).projection.dtype == np.float64


class TestNystromMap:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", at_night(ALL, 4))
    def test_with_all_rows_as_landmarks_it_is_kernel_pca(self, name):
        rows = cloud(80)
        gram = ALL[name].fit(rows).gram(rows)
        feature_map = map_of(rows, ALL[name], n_components=8)
        if name in ("nearest_neighbors", "heat", "isomap", "connectivity"):
            # Not positive definite, which scikit-learn refuses, or with equal eigenvalues.
            values, vectors = np.linalg.eigh(reference.centred(gram))
            fading = ALL[name].spectral_filter((values / values[-1]).clip(0))
            expected = (vectors * np.sqrt(values.clip(0) * fading))[:, :-9:-1]
            a, b = (x.astype(float) @ x.T for x in (feature_map(rows), expected))
            np.testing.assert_allclose(a, b, atol=1e-5)
        else:
            expected = KernelPCA(8, kernel="precomputed").fit_transform(gram)
            k, scale = feature_map.n_components, np.abs(expected).max()
            assert_same_up_to_sign(feature_map(rows), expected[:, :k], atol=2e-4 * scale)
            np.testing.assert_allclose(expected[:, k:], 0, atol=1e-3 * scale)
            np.testing.assert_allclose(feature_map.eigenvalues, expected[:, :k].var(axis=0), rtol=1e-6)

    @pytest.mark.parametrize("name", ALL)
    def test_inner_products_are_those_of_projections_on_the_span_of_the_landmarks(self, name):
        landmarks, rows = cloud(40), cloud(100, seed=2)
        feature_map = map_of(landmarks, ALL[name], variance=1.0)
        kernel = feature_map.kernel
        features = feature_map(rows).astype(float)
        expected = reference.centred_products(
            kernel.matrix(rows, landmarks), kernel.gram(landmarks), feature_map.n_components, kernel.spectral_filter
        )
        np.testing.assert_allclose(features @ features.T, expected, atol=2e-3 * np.abs(expected).max())

    def test_features_after_several_steps_are_those_of_the_power_of_the_transitions(self):
        rows = cloud(80)
        once, often = (map_of(rows, NearestNeighbors(steps=t), n_components=5) for t in (1, 6))
        transitions = reference.centred(NearestNeighbors().fit(rows).gram(rows))
        values = np.linalg.eigvalsh(np.linalg.matrix_power(transitions, 6))[::-1]
        np.testing.assert_allclose(often.eigenvalues / often.eigenvalues[0], values[:5] / values[0], rtol=1e-6)
        shares = often.eigenvalues / once.eigenvalues
        a, b = (x.astype(float) for x in (once(rows) * np.sqrt(shares), often(rows)))
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-6)

    def test_features_of_heat_are_those_of_the_sum_of_exponentials_of_the_laplacian(self):
        rows = cloud(80)
        heat = map_of(rows, Heat(shortest=2, longest=5), n_components=5)
        flows = reference.centred(Heat().fit(rows).gram(rows))
        laplacian = np.eye(80) - flows / np.linalg.eigvalsh(flows)[-1]
        total = sum(expm(-t * laplacian) for t in range(2, 6))
        values, vectors = np.linalg.eigh(total)
        expected = (vectors * np.sqrt(values))[:, :-6:-1]
        a, b = (x.astype(float) @ x.T for x in (heat(rows), expected))
        np.testing.assert_allclose(a / np.trace(a), b / np.trace(b), atol=1e-6)

    def test_heat_leaves_out_what_links_do_not_show(self):
        rows = cloud(80)
        once, heat = (map_of(rows, kernel, variance=1.0) for kernel in (NearestNeighbors(steps=1), Heat(shortest=1)))
        shown = once.eigenvalues > 0.01 * once.eigenvalues[0]
        assert heat.n_components == shown.sum() < once.n_components

    def test_distances_between_landmarks_are_those_of_the_nystroem_features_of_scikit_learn(self):
        # Its features are not centred, which moves all of them alike.
        landmarks = cloud(30)
        theirs = Nystroem(kernel="rbf", gamma=0.5, n_components=30, random_state=0).fit_transform(landmarks)
        ours = map_of(landmarks, RBF(width=1.0), variance=1.0)(landmarks)
        a, b = (pairwise.euclidean_distances(x) for x in (theirs, ours))
        np.testing.assert_allclose(a, b, atol=1e-3)

    @pytest.mark.parametrize("variance", [0.3, 0.5, 0.9, 0.99])
    def test_no_fewer_components_keep_the_variance_asked_for(self, variance):
        feature_map = map_of(cloud(), RBF(), variance=variance)
        kept = np.cumsum(feature_map.eigenvalues) / feature_map.total_variance
        assert kept[-1] >= variance
        assert len(kept) == 1 or kept[-2] < variance

    def test_the_spectrum_is_that_of_all_components_however_many_are_kept(self):
        few, all_of_them = (map_of(cloud(), RBF(), variance=variance) for variance in (0.5, 1.0))
        np.testing.assert_array_equal(few.spectrum, all_of_them.spectrum)
        assert few.n_components < all_of_them.n_components <= len(few.spectrum)
        np.testing.assert_array_equal(few.eigenvalues, few.spectrum[: few.n_components])
        variances = all_of_them(cloud()).var(axis=0)
        np.testing.assert_allclose(variances, all_of_them.eigenvalues, rtol=1e-3, atol=1e-5)

    def test_components_that_rounding_drowns_are_left_out(self):
        rows = cloud()
        rows[:, 1:] = rows[:, :1]
        assert map_of(rows, FromFunction(lambda A, B: A @ B.T), n_components=3).n_components == 1
        assert map_of(rows, Quadratic(), variance=1.0).n_components == 2

    @pytest.mark.parametrize("name", at_night(ALL, 3))
    def test_the_order_of_the_landmarks_does_not_matter(self, name):
        rows = cloud()
        order = np.random.default_rng(0).permutation(len(rows))
        a, b = (map_of(some, ALL[name], n_components=3)(rows).astype(float) for some in (rows, rows[order]))
        # Components of equal variance are no one's own; inner products are.
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-4 * np.abs(a @ a.T).max())


class TestProducts:
    def test_double_precision_is_taken_where_single_is_not_the_same_everywhere(self, monkeypatch):
        monkeypatch.setattr(nystrom, "_rows_are_alike", lambda dtype, depth, width: dtype != "float32" or depth < 10)
        assert nystrom.exact_dtype(np.float32, (5, 7), (7, 5)) is np.float32
        assert nystrom.exact_dtype(np.float32, (5, 70), (70, 5)) is np.float64
        rows = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
        assert map_of(rows[:50].astype(float), RBF())(rows).dtype == np.float32

    @pytest.mark.slow
    def test_rows_keep_their_bits_on_a_processor_that_treats_places_differently(self):
        # OpenBLAS multiplies single precision on Haswell in groups of six rows, of which every other is rounded apart.
        script = """
import numpy as np
from mdh_dask.kernels import RBF, nystrom_map
rng = np.random.default_rng(0)
rows = rng.normal(size=(700, 20)).astype("f4")
feature_map = nystrom_map(rng.normal(size=(50, 20)), RBF(), np.zeros(20), np.ones(20))
order = rng.permutation(700)
assert (feature_map(rows[order]) == feature_map(rows)[order]).all()
"""
        environment = os.environ | {"OPENBLAS_CORETYPE": "Haswell"}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TestLandmarks:
    @pytest.mark.parametrize("method", LANDMARKS)
    def test_as_many_different_rows_are_chosen_as_asked_for(self, method):
        rows = cloud(300)
        rng = np.random.default_rng(0)
        chosen = choose_landmarks(rows, 40, method, LocalScaling(), rng)
        assert len(np.unique(chosen)) == len(chosen) == 40
        np.testing.assert_array_equal(choose_landmarks(rows[:40], 40, method, LocalScaling(), rng), np.arange(40))

    @pytest.mark.parametrize("method", ["kmeans++", "leverage"])
    def test_rows_apart_from_the_others_become_landmarks(self, method):
        rows = np.random.default_rng(0).normal(size=(1000, 3))
        rows[700:705] += 30 * np.eye(3)[[0, 1, 2, 0, 1]] * [[1], [1], [1], [-1], [-1]]
        chosen = choose_landmarks(rows, 50, method, RBF(width=5.0), np.random.default_rng(1))
        assert np.isin([700, 701, 702, 703, 704], chosen).sum() >= 4

    @pytest.mark.parametrize("method", LANDMARKS)
    def test_fewer_distinct_rows_than_landmarks_are_no_error(self, method):
        rows = np.repeat(cloud(5), 40, axis=0)
        chosen = choose_landmarks(rows, 20, method, RBF(), np.random.default_rng(0))
        assert np.isfinite(map_of(rows[chosen], RBF())(rows)).all()


class TestDual:
    """The dual vectors of Yates and Pavlidis (2016), eq. 3-6, against hyperplanes in the features."""

    def setup_method(self):
        # Two clusters, which lie along each other: the first component is not the way across.
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(24, 2)) * [2.0, 0.5] + np.repeat([[0.0, -1.5], [0.0, 1.5]], 12, axis=0)
        self.map = map_of(self.rows, RBF(width=2.5), variance=0.999)
        self.features = self.map(self.rows).astype(float)
        self.gram = reference.centred(self.map.kernel.gram(self.rows))
        self.bandwidth = 0.9 * self.features[:, 0].std() * 24**-0.2

    def dual(self, direction):
        """The dual vector of a direction in the features."""
        return self.map.projection @ direction

    def test_projections_and_densities_are_the_same_for_the_same_direction(self):
        for seed in range(10):
            v = np.random.default_rng(seed).normal(size=self.map.n_components)
            v /= np.linalg.norm(v)
            alpha = self.dual(v)
            assert alpha @ self.gram @ alpha == pytest.approx(1, rel=1e-3)
            dual, primal = reference.dual_projections(self.gram, alpha), self.features @ v
            np.testing.assert_allclose(dual, primal, atol=1e-3)
            for b in (-0.2, 0.0, 0.3):
                densities = [reference.density_at(x, b, self.bandwidth) for x in (dual, primal)]
                assert densities[0] == pytest.approx(densities[1], rel=1e-2, abs=1e-6)

    def test_both_descend_to_the_same_hyperplane(self):
        start = np.eye(self.map.n_components)[0]
        centre, sd = self.features.mean(axis=0), float(self.features[:, 0].std())
        ends = pursue(self.features - centre, Start(start, growing_alphas(0.9)), sd, self.bandwidth)
        primal = ends.moved(None, centre)
        alpha, offset = reference.dual_minimum(self.gram, self.dual(start), self.bandwidth, [0.1, 0.9])
        in_dual, in_primal = reference.dual_projections(self.gram, alpha), self.features @ primal.direction
        least = reference.density_at(in_dual, offset, self.bandwidth)
        assert reference.dual_index(self.gram, self.dual(start), self.bandwidth, 0.9)[0] > 1.5 * least
        assert reference.density_at(in_primal, primal.offset, self.bandwidth) == pytest.approx(least, rel=1e-3)
        np.testing.assert_allclose(in_primal, in_dual, atol=1e-3)
        assert primal.offset == pytest.approx(offset, abs=1e-3)

    def test_a_precomputed_kernel_is_the_same_map(self):
        kernel = Precomputed().among(np.arange(24))
        gram = self.map.kernel.gram(self.rows)
        given = nystrom_map(gram, kernel, np.zeros(24), np.ones(24), variance=0.999)
        assert_same_up_to_sign(given(gram), self.features, atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [1e-320, 1e-200, 1e-30, 1e30, 1e200, 1e307])
def test_the_cosine_of_rows_of_any_length_is_that_of_their_directions(length):
    feature_map = map_of(cloud(), Cosine())
    directions = np.array([[1.0, 0, 0], [-0.5, 0.5, 0.25], [0, 1, -1]])
    np.testing.assert_allclose(feature_map(length * directions), feature_map(directions), atol=1e-3)
    matrix = Cosine().matrix(length * directions, length * directions)
    np.testing.assert_allclose(matrix, Cosine().matrix(directions, directions), atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1e30, 1e100])
@pytest.mark.parametrize("kernel", [RBF(), LocalScaling()])
def test_rows_whose_squared_distances_overflow_have_the_features_of_far_ones(kernel, far):
    feature_map = map_of(cloud(), kernel)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (20, 3))
    np.testing.assert_array_equal(feature_map(far * signs), feature_map(1e6 * signs))  # NaN, where they cancelled
