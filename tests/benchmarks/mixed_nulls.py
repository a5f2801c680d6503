"""Are tables of mixed columns without clusters split, complete or with values missing at random."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import mdh_dask
from mdh_dask import GowerFeatures, MixedPCA, MultidimensionalScaling

from .kept import run_cells
from .shared import Table, verdict

MOST_SPLIT = 0.05

Draw = Callable[[np.random.Generator, int], dict[str, np.ndarray]]
"""Return the rows of a table, its columns by their kind."""


def _independent(n_continuous: int, n_categorical: int) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        numbers = [rng.gamma(2, size=n) if j % 2 else rng.normal(size=n) for j in range(n_continuous)]
        levels = [rng.integers(0, 2 + j % 3, n) for j in range(n_categorical)]
        return _columns(continuous=numbers, categorical=levels)

    return draw


def _one_factor(correlation: float) -> Draw:
    """Return four columns and eight of two to four levels, cut from columns that share one normal factor."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        factor = np.sqrt(correlation) * rng.normal(size=(n, 1)) * rng.choice([-1, 1], size=12)
        columns = factor + np.sqrt(1 - correlation) * rng.normal(size=(n, 12))
        cuts = [np.sort(0.5 * rng.normal(size=1 + j % 3)) for j in range(8)]
        levels = [np.searchsorted(cut, column) for cut, column in zip(cuts, columns[:, 4:].T)]
        return _columns(continuous=list(columns[:, :4].T), categorical=levels)

    return draw


def _ratings(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return _columns(ordinal=[rng.binomial(2 + j % 5, 0.2 + 0.08 * j, n) for j in range(8)])


def _two_levels(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return _columns(categorical=[rng.random(n) < share for share in np.linspace(0.1, 0.6, 12)])


def _skewed(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return _columns(categorical=[np.minimum(rng.geometric(0.4, n), 6) for _ in range(8)])


def _every_kind(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return _independent(3, 3)(rng, n) | _columns(ordinal=[rng.binomial(2 + 2 * j, 0.4, n) for j in range(3)])


def _columns(**kinds: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {kind: np.column_stack(columns).astype(float) for kind, columns in kinds.items() if columns}


TABLES: dict[str, Draw] = {
    "4 numbers, 4 categories": _independent(4, 4), "5 numbers": _independent(5, 0),
    "10 categories": _independent(0, 10), "2 numbers, 2 categories": _independent(2, 2),
    "one factor, correlation 0.5": _one_factor(0.5), "one factor, correlation 0.7": _one_factor(0.7),
    "8 ratings": _ratings, "12 of two levels": _two_levels, "8 skewed categories": _skewed,
    "3 of each kind": _every_kind,
}  # fmt: skip

HAVE_MODES = {"one factor, correlation 0.7"}
"""Where a factor of correlation r has the value z, ``Phi(z sqrt(r / (1 - r)))`` of the rows have the upper level of a
column that is cut at its median. The density of this share is flat for r = 1/2. Beyond that it has two modes, as then
have combinations of many such columns, so these tables may be split."""

MAPS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: GowerFeatures(missing="pairs"),
    "level": lambda: GowerFeatures(missing="level"),
    "numbers": lambda: GowerFeatures(numbers=True),
    "level, explicit": lambda: GowerFeatures(missing="level", method="explicit"),
    "level, single levels": lambda: GowerFeatures(missing="level", single_levels=True),
    "MDS": lambda: MultidimensionalScaling(dissimilarity="gower"),
    "mPPCA": MixedPCA,
}
"""Gower's map by its rule for missing values, without which the rule makes no difference, and other maps."""

SPLITS = {"level, single levels"}
"""Maps that make clusters of the levels of single columns by design: shown without a bar."""

TREES = ("HierarchicalMDH", "RandomProjectionTree", "HierarchicalKernelMDH", "DensityTree")

METHODS = tuple(f"{tree} on {name}" for tree, name in product(TREES, MAPS))

SHORT: dict[str, Any] = {"n_seeds": 2, "missing": (0.0, 0.2), "methods": METHODS[: 2 * len(MAPS)]}


def run(
    n_seeds: int = 10,
    methods: Sequence[str] = METHODS,
    missing: Sequence[float] = (0.0, 0.05, 0.2, 0.5),
    n_rows: int = 400,
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit tables without clusters, each seed drawing the rows; see `run_cells` for `cells`."""
    if unknown := sorted({*methods} - {*METHODS}):
        raise ValueError(f"expected methods among {', '.join(METHODS)}; got {', '.join(unknown)}")
    lines = [line for line in product(TABLES, missing, methods) if line[1] > 0 or " on level" not in line[2]]
    keys = [(*line, n_rows, seed) for seed in range(n_seeds) for line in lines]
    found = np.array(run_cells(_clusters, keys, cells, n_jobs)).reshape(n_seeds, len(lines))
    columns = ("table", "missing", "method", "tables", "split", "most clusters", "required", "verdict")
    rows = []
    for line, own in zip(lines, found.T):
        share = float((own > 1).mean())
        free = line[0] in HAVE_MODES or line[2].partition(" on ")[2] in SPLITS
        bar = ("-", "-") if free else (f"<= {MOST_SPLIT:g}", verdict(share <= MOST_SPLIT))
        rows.append((*line, n_seeds, share, int(own.max()), *bar))
    yield Table(f"Share of tables without clusters that are split, {n_rows} rows", columns, rows)
    yield Table("Split of all, without those that have modes", ("method", "tables", "split"), _sums(rows))


def _sums(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, int, int]]:
    own = {method: [row for row in rows if row[2] == method and row[0] not in HAVE_MODES] for _, _, method, *_ in rows}
    return [(name, sum(row[3] for row in of), round(sum(row[3] * row[4] for row in of))) for name, of in own.items()]


def _clusters(table: str, missing: float, method: str, n_rows: int, seed: int) -> int:
    rng = np.random.default_rng([seed, crc32(table.encode())])
    drawn = TABLES[table](rng, n_rows)
    rows = np.hstack(list(drawn.values()))
    rows = np.where(rng.random(rows.shape) < missing, np.nan, rows)
    ends = np.cumsum([own.shape[1] for own in drawn.values()])
    types = {kind: list(range(end - drawn[kind].shape[1], end)) for kind, end in zip(drawn, ends)}
    tree, _, name = method.partition(" on ")
    model = getattr(mdh_dask, tree)(feature_map=MAPS[name](), random_state=seed, column_types=types)
    return int(model.fit(rows[~np.isnan(rows).all(axis=1)]).n_clusters_)
