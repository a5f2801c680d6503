"""Does it find clusters where there are none: the share of clouds without clusters that are split, of many kinds."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scipy.ndimage import gaussian_filter

import mdh_dask

from .kept import run_cells
from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 2, "shapes": ((200, 2), (1000, 10), (2000, 2))}

MOST_SPLIT = 0.05

SHAPES = (
    (200, 2), (200, 10), (1000, 2), (1000, 5), (1000, 10), (1000, 100), (5000, 2), (5000, 8), (5000, 50), (20_000, 2),
    (20_000, 10),
)  # fmt: skip
"""Rows and columns."""

ESTIMATORS = (
    "RandomProjectionTree",
    "HierarchicalMDH",
    "HierarchicalKernelMDH",
    "ProjectionPursuitTree",
    "DensityTree",
    "SupportVectorClustering",
)
"""With their default parameters."""

MANY_COLUMNS = "many columns"
"""The kind that is drawn only if it is asked for, in more than 50 columns."""

THIN_CURVES = "thin curves"
"""The kind that is drawn only if it is asked for, as hyperplanes and kernels divide curves by design."""

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def _correlated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return normal rows with eigenvalues of the covariance from 1 to 1/1000."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (rng.normal(size=(n, d)) * np.geomspace(1, 1000**-0.5, d)) @ rotation


def _ball(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / d)


def _brackets(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Incomes in thousands, told by the middles of brackets that widen."""
    middles = np.array([3, 9, 16, 25, 35, 45, 60, 85, 120])
    return middles[np.digitize(rng.lognormal(3.2, 0.7, (n, d)), [6, 12, 20, 30, 40, 50, 70, 100])].astype(float)


def _amounts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return amounts of which four in ten are told in hundreds, and three in thousands."""
    rows, told = rng.lognormal(7.5, 0.6, (n, d)), rng.random((n, d))
    return np.where(told < 0.3, np.round(rows, -3), np.where(told < 0.7, np.round(rows, -2), np.round(rows)))


def _banana(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(n, d))
    rows[:, 1] = rows[:, 0] ** 2 + 0.5 * rows[:, 1]
    return rows


def _bent_line(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    rows = rng.normal(size=(n, d))
    rows[:, 1] = np.abs(rows[:, 0]) + 0.5 * rows[:, 1]
    return rows


def _with_far_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return normal rows, of which one in a hundred lies anywhere in a box ten times as wide, and one at a million."""
    rows = rng.normal(size=(n, d))
    far = rng.choice(n, max(n // 100, 1), replace=False)
    rows[far] = rng.uniform(-35, 35, (len(far), d))
    rows[rng.integers(n)] = 1e6
    return rows


def _two_values(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return columns of zeros and ones with shares from .02 to .6."""
    return (rng.random((n, d)) < rng.uniform(0.02, 0.6, d)).astype(float)


def _two_values_of_a_factor(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return whether columns with one normal factor exceed a bound of their own, as answers to a test."""
    return (_with_a_factor(rng, n, d, 0.3) > rng.normal(0, 0.7, d)).astype(float)


def _with_a_factor(rng: np.random.Generator, n: int, d: int, share: float) -> np.ndarray:
    return share**0.5 * rng.normal(size=(n, 1)) + (1 - share) ** 0.5 * rng.normal(size=(n, d))


def _blurred_noise(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return the first pixels of square images of blurred noise, in 17 shades."""
    side = int(np.ceil(d**0.5))
    noise = gaussian_filter(rng.normal(size=(n, side, side)), (0, 1.5, 1.5))
    return np.rint(np.clip(8 + 6 * noise / noise.std(), 0, 16)).reshape(n, -1)[:, :d]


def _spots(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return the first pixels of square images of one spot of varying place, width and brightness, in 17 shades."""
    side = int(np.ceil(d**0.5))
    y, x = np.mgrid[:side, :side]
    centre = side / 2 + rng.normal(0, side / 10, (2, n, 1, 1))
    width, brightness = np.exp(rng.normal(0, 0.2, (n, 1, 1))) * side / 5, np.exp(rng.normal(0, 0.15, (n, 1, 1)))
    spot = 16 * brightness * np.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / 2 / width**2)
    return np.rint(np.clip(spot + rng.normal(0, 0.5, spot.shape), 0, 16)).reshape(n, -1)[:, :d]


def _near(curve: Callable[[np.ndarray], np.ndarray]) -> Draw:
    """Return a draw of rows near a curve, with noise of a hundredth to a twentieth of its length in every column.

    Parameters
    ----------
    curve : callable
        Points in the plane, shape (2, n), at shares of the length of the curve.
    """

    def draw(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        steps = np.diff(curve(np.linspace(0, 1, 1000, endpoint=False)))
        # A cross jumps from the end of one line to the next.
        lengths = np.linalg.norm(steps, axis=0)
        rows = np.zeros((n, d))
        rows[:, :2] = curve(rng.uniform(size=n)).T
        noise = np.exp(rng.uniform(np.log(0.01), np.log(0.05))) * lengths[lengths < 5 * np.median(lengths)].sum()
        return rows + rng.normal(0, noise, (n, d))

    return draw


def _arc(turn: np.ndarray, radius: np.ndarray | float = 1.0) -> np.ndarray:
    return np.array([radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn)])


def _spiral_arm(t: np.ndarray) -> np.ndarray:
    radius = np.sqrt(0.02 + 0.98 * t)  # as many rows for each piece of the length
    return _arc(1.25 * radius, radius)


def _letter_s(t: np.ndarray) -> np.ndarray:
    upper, lower = _arc(1.5 * t), _arc(0.25 - 1.5 * (t - 0.5))
    shift = np.array([[0], [1]])
    return np.where(t < 0.5, upper + shift, lower - shift)


def _told(by: Callable[[np.random.Generator, int], np.ndarray]) -> Draw:
    """Return a draw of columns of which some tell another one, and of normal ones up to the number of columns."""

    def draw(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        rows = by(rng, n)
        return np.hstack([rows, rng.normal(size=(n, max(d - rows.shape[1], 0)))])

    return draw


def _ages_and_decades(rng: np.random.Generator, n: int) -> np.ndarray:
    ages = np.rint(rng.normal(50, 12, n))
    return np.column_stack([ages, ages // 10])


def _ages_and_births(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return ages and years of birth: half of the birthdays are to come."""
    ages = np.rint(rng.normal(50, 12, n))
    return np.column_stack([ages, 2020 - ages - rng.integers(2, size=n)])


def _answers(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.clip(np.rint(rng.normal(3, 0.6, (n, 1)) + rng.normal(0, 0.8, (n, 3))), 1, 5)


def _answers_and_total(rng: np.random.Generator, n: int) -> np.ndarray:
    answers = _answers(rng, n)
    return np.column_stack([answers, answers.sum(axis=1)])


def _answers_and_mean(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return three answers and their mean, rounded to halves."""
    answers = _answers(rng, n)
    return np.column_stack([answers, np.rint(2 * answers.mean(axis=1)) / 2])


def _counts_and_logarithms(rng: np.random.Generator, n: int) -> np.ndarray:
    counts = rng.poisson(12, n)
    return np.column_stack([counts, np.log1p(counts)])


def _incomes_and_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    incomes = rng.lognormal(10, 0.5, n)
    return np.column_stack([incomes, np.digitize(incomes, [10_000, 20_000, 30_000, 45_000, 70_000])])


def _places_and_cells(rng: np.random.Generator, n: int) -> np.ndarray:
    places = rng.normal(0, 2, (n, 2))
    return np.column_stack([places, np.floor(places)])


CLOUDS: dict[str, dict[str, Draw]] = {
    "normal": {
        "normal": lambda rng, n, d: rng.normal(size=(n, d)),
        "correlated": _correlated,
        "common factor": lambda rng, n, d: rng.normal(size=(n, d)) + rng.normal(size=(n, 1)),
    },
    "bounded": {
        "uniform square": lambda rng, n, d: rng.uniform(size=(n, d)),
        "ball": _ball,
        "simplex": lambda rng, n, d: rng.dirichlet(np.ones(d + 1), n)[:, :d],
        "triangular": lambda rng, n, d: rng.triangular(0, 0.3, 1, (n, d)),
        "beta(2, 5)": lambda rng, n, d: rng.beta(2, 5, (n, d)),
    },
    "skewed": {
        "gamma(2)": lambda rng, n, d: rng.gamma(2, size=(n, d)),
        "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
        "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
        "half normal": lambda rng, n, d: np.abs(rng.normal(size=(n, d))),
        "Weibull(1.5)": lambda rng, n, d: rng.weibull(1.5, (n, d)),
    },
    "long tails": {
        "Student t3": lambda rng, n, d: rng.standard_t(3, size=(n, d)),
        "far rows": _with_far_rows,
        "joint t3": lambda rng, n, d: rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
        "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
        "logistic": lambda rng, n, d: rng.logistic(size=(n, d)),
        "two scales": lambda rng, n, d: rng.normal(size=(n, d)) * rng.choice([1, 3], (n, 1)),
    },
    "bent": {"banana": _banana, "bent line": _bent_line},
    "integers": {
        "Poisson(2)": lambda rng, n, d: rng.poisson(2, (n, d)),
        "Poisson(20)": lambda rng, n, d: rng.poisson(20, (n, d)),
        "binomial(10, .3)": lambda rng, n, d: rng.binomial(10, 0.3, (n, d)),
        "ratings": lambda rng, n, d: np.clip(np.rint(rng.normal(3, 1, (n, d))), 1, 5),
        "rounded, sd 1": lambda rng, n, d: np.rint(rng.normal(size=(n, d))),
        "rounded, sd 2": lambda rng, n, d: np.rint(rng.normal(0, 2, (n, d))),
        "inches in centimetres": lambda rng, n, d: np.round(np.rint(rng.normal(67, 3, (n, d))) * 2.54, 1),
        "amounts in hundreds": _amounts,
        "incomes in brackets": _brackets,
    },
    "discrete": {
        "geometric(0.4)": lambda rng, n, d: rng.geometric(0.4, (n, d)),
        "five equal shares": lambda rng, n, d: rng.integers(0, 5, (n, d)),
        "correlated ratings": lambda rng, n, d: np.clip(
            np.rint(3 + rng.normal(size=(n, d)) + rng.normal(size=(n, 1))), 1, 5
        ),
    },
    "told by others": {
        "age and decade": _told(_ages_and_decades),
        "age and year of birth": _told(_ages_and_births),
        "answers and total": _told(_answers_and_total),
        "answers and mean": _told(_answers_and_mean),
        "count and logarithm": _told(_counts_and_logarithms),
        "income and class": _told(_incomes_and_classes),
        "places and cells": _told(_places_and_cells),
    },
    MANY_COLUMNS: {
        "two values": _two_values,
        "two values of a factor": _two_values_of_a_factor,
        "rare counts": lambda rng, n, d: rng.poisson(0.3, (n, d)),
        "counts of a shared rate": lambda rng, n, d: rng.poisson(rng.gamma(3, 1 / 3, (n, 1)) * rng.gamma(1, 2, d)),
        "zeros and normals": lambda rng, n, d: np.maximum(_with_a_factor(rng, n, d, 0.5) - 0.3, 0),
        "zeros and lognormals": lambda rng, n, d: rng.lognormal(size=(n, d)) * (rng.random((n, d)) < 0.3),
        "blurred noise": _blurred_noise,
        "spots": _spots,
    },
    THIN_CURVES: {
        "ring": _near(_arc),
        "moon": _near(lambda t: _arc(t / 2)),
        "line": _near(lambda t: np.array([t, 0 * t])),
        "spiral arm": _near(_spiral_arm),
        "S": _near(_letter_s),
        "cross": _near(lambda t: np.where(t < 0.5, [4 * t - 1, 0 * t], [0 * t, 4 * t - 3])),
        "L": _near(lambda t: np.array([np.maximum(2 * t - 1, 0), np.maximum(1 - 2 * t, 0)])),
    },
}
"""Clouds without clusters by their kinds."""

OF_ANY_WIDTH = tuple(kind for kind in CLOUDS if kind not in (MANY_COLUMNS, THIN_CURVES))
"""Kinds without clusters in few columns, too (two of two values each have four), for any estimator."""

OF_TWO_COLUMNS = (*CLOUDS["bent"], *CLOUDS[THIN_CURVES])
"""Clouds that need a second column."""

ALL_CLOUDS = tuple(cloud for of_kind in CLOUDS.values() for cloud in of_kind)


def run(
    n_seeds: int = 5,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    methods: Sequence[str] = ESTIMATORS,
    kinds: Sequence[str] = OF_ANY_WIDTH,
    clouds: Sequence[str] = (),
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit clouds of every kind, each seed drawing the rows and the directions; see `run_cells` for `cells`.

    Only `clouds` of the kinds are fitted, if there are any, and with a shape of one column none that needs a second.
    """
    draws = [(kind, cloud) for kind in kinds for cloud in CLOUDS[kind] if not clouds or cloud in clouds]
    if min(d for _, d in shapes) < 2:
        draws = [(kind, cloud) for kind, cloud in draws if cloud not in OF_TWO_COLUMNS]
    wanted, kinds = kinds, tuple(dict.fromkeys(kind for kind, _ in draws))
    if not draws:
        found = f"{', '.join(wanted)} with {', '.join(clouds) or 'all their clouds'}"
        raise ValueError(
            f"expected clouds of the kinds, in one column none of {', '.join(OF_TWO_COLUMNS)}; got {found}"
        )
    shape = (n_seeds, len(shapes), len(draws), len(methods))
    # The seeds are in the outermost loop, so that an interrupted run has cells of every kind.
    keys = [
        (*draw, name, *size, seed) for seed in range(n_seeds) for size in shapes for draw in draws for name in methods
    ]
    found = np.array(run_cells(_clusters, keys, cells, n_jobs)).reshape(shape)
    by_cloud = [
        (*draw, n_seeds * len(shapes), *_shares(found[:, :, i]), int(found[:, :, i].max()))
        for i, draw in enumerate(draws)
    ]
    by_kind = []
    for kind in kinds:
        of_kind = found[:, :, [own == kind for own, _ in draws]]
        shares = _shares(of_kind)
        n_clouds = of_kind.size // len(methods)
        by_kind.append((kind, n_clouds, *shares, f"<= {MOST_SPLIT:g}", verdict(max(shares) <= MOST_SPLIT)))
    title = "Share of clouds without clusters that are split, default parameters"
    yield Table(f"{title}, by kind", ("kind", "clouds", *methods, "required", "verdict"), by_kind)
    yield Table(title, ("kind", "cloud", "clouds", *methods, "most clusters"), by_cloud, detail=True)
    title, split = "Clouds without clusters that are split, by rows and columns", (found > 1).sum(axis=(0, 2)).tolist()
    by_size = [(f"{n} x {d}", n_seeds * len(draws), *of_size) for (n, d), of_size in zip(shapes, split)]
    yield Table(title, ("rows x columns", "clouds", *methods), by_size)


def _shares(found: np.ndarray) -> list[float]:
    """Return the share of split clouds for every estimator, along the last axis."""
    return [float(share) for share in (found > 1).reshape(-1, found.shape[-1]).mean(axis=0)]


def _clusters(kind: str, cloud: str, estimator: str, n: int, d: int, seed: int) -> int:
    rng = np.random.default_rng([seed, n, d, crc32(cloud.encode())])
    rows = CLOUDS[kind][cloud](rng, n, d)
    return getattr(mdh_dask, estimator)(random_state=seed).fit(rows).n_clusters_
