"""Kernel methods in memory: kernels entry by entry, and minimum density hyperplanes by their dual vectors.

The dual formulation is that of Yates and Pavlidis, Minimum density hyperplanes in the feature space (2016), eq. 3-6:
the normal is ``v = sum_i alpha_i phi(x_i)``, of length one where ``alpha' K alpha = 1``, and rows project on it as
``K alpha``. Features of rows are the primal: their hyperplanes have the coordinates of v along orthonormal components.
"""

import math

import numpy as np
from scipy.optimize import minimize, minimize_scalar


def squared_distance(x, y):
    return sum((float(a) - float(b)) ** 2 for a, b in zip(x, y))


def kth_nearest(row, landmarks, k):
    """The distance to the k-th nearest landmark."""
    return math.sqrt(sorted(squared_distance(row, y) for y in landmarks)[min(k, len(landmarks)) - 1])


def local_scaling(rows, landmarks, neighbour, floor):
    """exp(-|x - y|^2 / (s_x s_y)), a row and a landmark alike counting the nearest landmark as themselves."""
    s, t = ([max(kth_nearest(x, landmarks, neighbour + 1), floor) for x in some] for some in (rows, landmarks))
    return np.array(
        [[math.exp(-squared_distance(x, y) / (a * b)) for y, b in zip(landmarks, t)] for x, a in zip(rows, s)]
    )


def drawn_near(rows, landmarks):
    """Rows with the logarithms of distances beyond the outer fences of Tukey, three interquartile ranges away."""

    def near(value, column):
        lower, upper = np.quantile(column, 0.25), np.quantile(column, 0.75)
        unit = (upper - lower) or (max(column) - min(column)) or 1.0
        low, high = lower - 3 * unit, upper + 3 * unit
        unit = (high - low) / 7
        if value > high:
            return high + unit * math.log1p((value - high) / unit)
        return low - unit * math.log1p((low - value) / unit) if value < low else value

    return np.array([[near(value, column) for value, column in zip(row, landmarks.T)] for row in rows])


def neighbour_affinities(rows, landmarks, k, floor):
    """Weights of the links over the roots of both degrees, and the half links that make them."""
    radii, reach = ([kth_nearest(x, landmarks, k + 1) for x in some] for some in (landmarks, rows))

    def weights(some, radii_of_some):
        matrix = np.zeros((len(some), len(landmarks)))
        for i, (x, a) in enumerate(zip(some, radii_of_some)):
            for j, (y, b) in enumerate(zip(landmarks, radii)):
                d = math.sqrt(squared_distance(x, y))
                halves = (d <= a * (1 + 1e-9)) + (d <= b * (1 + 1e-9))
                matrix[i, j] = halves / 2 * math.exp(-(d**2) / (max(a, floor) * max(b, floor)))
        return matrix

    degrees, own = weights(landmarks, radii).sum(axis=1), weights(rows, reach)
    of_rows = np.maximum(own.sum(axis=1, keepdims=True), 1e-300)  # the weights of a row far from all vanish
    return own / np.sqrt(of_rows) / np.sqrt(degrees)


def quadratic_map(rows):
    """All columns and all products of two, in both orders."""
    return np.array([[*x, *np.outer(x, x).ravel()] for x in rows])


def centred(gram):
    """The kernel of images whose mean is zero."""
    n = len(gram)
    centring = np.eye(n) - np.ones((n, n)) / n
    return centring @ gram @ centring


def centred_products(with_landmarks, gram, rank, fading=np.ones_like):
    """Inner products of rows projected on the span of the landmarks about their mean, of some rank."""
    m = len(gram)
    values, vectors = np.linalg.eigh(centred(gram))
    weights = fading((values / values[-1])[m - rank :]) / values[m - rank :]
    pseudo_inverse = (vectors[:, m - rank :] * weights) @ vectors[:, m - rank :].T
    moved = with_landmarks - gram.mean(axis=0)
    return moved @ pseudo_inverse @ moved.T


def dual_projections(gram, alpha):
    """Eq. 3: projections of all rows on the normal with this dual vector."""
    return gram @ alpha / math.sqrt(alpha @ gram @ alpha)


def density_at(projections, place, bandwidth):
    """Eq. 4: the density on the hyperplane."""
    u = (np.asarray(place)[..., None] - projections) / bandwidth
    return np.exp(-0.5 * u**2).sum(axis=-1) / (len(projections) * bandwidth * math.sqrt(2 * math.pi))


def dual_index(gram, alpha, bandwidth, gamma, eta=0.01, epsilon=0.9):
    """Eq. 5 and 6: the least penalised density over offsets, and the offset; rows have mean zero in feature space."""
    projections = dual_projections(gram, alpha)
    bound = gamma * projections.std()
    constant = 1 / (math.exp(0.5) * bandwidth**2 * math.sqrt(2 * math.pi))

    def penalised(b):
        beyond = np.maximum(0.0, np.abs(b) - bound)
        return density_at(projections, b, bandwidth) + constant / eta**epsilon * beyond ** (1 + epsilon)

    grid = np.linspace(-bound, bound, 100)
    best, step = grid[np.argmin(penalised(grid))], grid[1] - grid[0]
    found = minimize_scalar(penalised, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-7})
    return float(found.fun), float(found.x)


def dual_minimum(gram, alpha, bandwidth, gammas):
    """The dual vector of length one that descent from another reaches, while offsets may lie ever farther out."""
    for gamma in gammas:
        alpha = minimize(lambda a: dual_index(gram, a, bandwidth, gamma)[0], alpha, options={"maxiter": 60}).x  # noqa: B023
        alpha = alpha / math.sqrt(alpha @ gram @ alpha)
    return alpha, dual_index(gram, alpha, bandwidth, gammas[-1])[1]


def gower(rows, others, categorical, low, high, weights=None, missing="pairs", undefined=math.nan):
    """One minus Gower's dissimilarity (thesis eq. 2.5 to 2.7), pair by pair and column by column."""
    return np.array([[_gower(x, y, categorical, low, high, weights, missing, undefined) for y in others] for x in rows])


def _gower(x, y, categorical, low, high, weights, missing, undefined):
    total = difference = 0.0
    for j, (a, b) in enumerate(zip(x, y)):
        weight = 1.0 if weights is None else weights[j]
        absent = math.isnan(a) + math.isnan(b)
        if not low[j] < high[j] or (absent and missing == "pairs"):
            continue
        total += weight
        if absent:
            difference += weight * (absent == 1)
        elif categorical[j]:
            difference += weight * (a != b)
        else:
            a, b = (min(max(value, low[j]), high[j]) for value in (a, b))
            difference += weight * abs(a - b) / (high[j] - low[j])
    return 1 - difference / total if total else undefined


def constant_shift_embedding(dissimilarities, n_components, shift=True):
    """Thesis eq. 3.4: coordinates of all rows, and the eigenvalues without the shift."""
    values, vectors = np.linalg.eigh(centred(-dissimilarities / 2))
    shifted = values - (values[0] if shift else 0.0)
    return (vectors * np.sqrt(shifted.clip(0)))[:, ::-1][:, :n_components], values[::-1]


def mixed_posterior(row, loadings, intercepts, noise, counts, sweeps=400):
    """Posterior of one row by Bohning's bound, column by column: mean, covariance and the bound (Khan et al. 2010)."""
    q = loadings.shape[1]
    precision, mean, stop, parts = np.eye(q), np.zeros(q), 0, []
    for value, n in zip(row, counts):
        start, stop = stop, stop + (n - 1 if n else 1)
        w, mu = loadings[start:stop], intercepts[start:stop]
        curvature = (np.eye(n - 1) - np.ones((n - 1, n - 1)) / n) / 2 if n else np.eye(1) / noise
        if not math.isnan(value):
            precision = precision + w.T @ curvature @ w
            parts.append((value, n, w, mu, curvature))
    covariance = np.linalg.inv(precision)
    for _ in range(sweeps):
        total = np.zeros(q)
        for value, n, w, mu, curvature in parts:
            psi = w @ mean + mu
            observed = (np.arange(n - 1) == value).astype(float) if n else np.array([value]) / noise
            offset = curvature @ psi - _softmax(psi) if n else 0.0
            total += w.T @ (offset + observed - curvature @ mu)
        mean = covariance @ total
    bound = -0.5 * (np.trace(covariance) + mean @ mean - q + np.linalg.slogdet(precision)[1])
    for value, n, w, mu, curvature in parts:
        eta, trace = w @ mean + mu, np.trace(curvature @ w @ covariance @ w.T)
        if n:
            bound += (eta[int(value)] if value < n - 1 else 0.0) - math.log1p(np.exp(eta).sum()) - trace / 2
        else:
            bound += -0.5 * (math.log(2 * math.pi * noise) + (value - eta[0]) ** 2 / noise + trace)
    return mean, covariance, bound


def _softmax(logits):
    return np.exp(logits) / (1 + np.exp(logits).sum())
