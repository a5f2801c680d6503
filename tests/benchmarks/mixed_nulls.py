"""Are tables of mixed columns without clusters split, complete or with values missing at random."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import mdh_dask
from mdh_dask import GowerFeatures

from .kept import run_cells
from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 2, "missing": (0.0, 0.2)}

N_ROWS = 400

MOST_SPLIT = 0.05

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, int]]
"""Return rows of a table and the number of their continuous columns, which are the first."""


def _independent(n_continuous: int, n_categorical: int) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
        numbers = [rng.gamma(2, size=n) if j % 2 else rng.normal(size=n) for j in range(n_continuous)]
        levels = [rng.integers(0, 2 + j % 3, n) for j in range(n_categorical)]
        return np.column_stack([*numbers, *levels]), n_continuous

    return draw


def _one_factor(correlation: float) -> Draw:
    """Return four columns and eight of two to four levels, cut from columns that share one normal factor."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, int]:
        factor = np.sqrt(correlation) * rng.normal(size=(n, 1)) * rng.choice([-1, 1], size=12)
        columns = factor + np.sqrt(1 - correlation) * rng.normal(size=(n, 12))
        cuts = [np.sort(0.5 * rng.normal(size=1 + j % 3)) for j in range(8)]
        levels = [np.searchsorted(cut, column) for cut, column in zip(cuts, columns[:, 4:].T)]
        return np.column_stack([columns[:, :4], *levels]), 4

    return draw


TABLES: dict[str, Draw] = {
    "4 numbers, 4 categories": _independent(4, 4), "5 numbers": _independent(5, 0),
    "10 categories": _independent(0, 10), "2 numbers, 2 categories": _independent(2, 2),
    "one factor, correlation 0.5": _one_factor(0.5), "one factor, correlation 0.7": _one_factor(0.7),
}  # fmt: skip

HAVE_MODES = {"one factor, correlation 0.7"}
"""Where a factor of correlation r has the value z, ``Phi(z sqrt(r / (1 - r)))`` of the rows have the upper level of a
column that is cut at its median. The density of this share is flat for r = 1/2. Beyond that it has two modes, as then
have combinations of many such columns, so these tables may be split."""

MAPS = {
    "pairs": GowerFeatures(),
    "level": GowerFeatures(missing="level"),
    "level, explicit": GowerFeatures(missing="level", method="explicit"),
}


def run(
    n_seeds: int = 10,
    methods: Sequence[str] = ("HierarchicalMDH", "RandomProjectionTree"),
    missing: Sequence[float] = (0.0, 0.05, 0.2, 0.5),
    cells: Path | None = None,
    n_jobs: int = 2,
) -> Iterator[Table]:
    """Fit tables without clusters, each seed drawing the rows; see `run_cells` for `cells`."""
    # Without missing values the rule for them makes no difference.
    lines = [line for line in product(TABLES, missing, MAPS) if line[1] > 0 or line[2] == "pairs"]
    keys = [(*line, method, seed) for seed in range(n_seeds) for line in lines for method in methods]
    found = np.array(run_cells(_clusters, keys, cells, n_jobs)).reshape(n_seeds, len(lines), len(methods))
    columns = ("table", "missing", "rule", "tables", *methods, "most clusters", "required", "verdict")
    rows = []
    for i, line in enumerate(lines):
        shares = (found[:, i] > 1).mean(axis=0).tolist()
        bar = ("-", "-") if line[0] in HAVE_MODES else (f"<= {MOST_SPLIT:g}", verdict(max(shares) <= MOST_SPLIT))
        rows.append((*line, n_seeds, *shares, int(found[:, i].max()), *bar))
    yield Table(f"Share of tables without clusters that are split, {N_ROWS} rows", columns, rows)


def _clusters(table: str, missing: float, rule: str, method: str, seed: int) -> int:
    rng = np.random.default_rng([seed, crc32(table.encode())])
    rows, n_continuous = TABLES[table](rng, N_ROWS)
    rows = np.where(rng.random(rows.shape) < missing, np.nan, rows)
    numbers = list(range(rows.shape[1]))
    model = getattr(mdh_dask, method)(
        feature_map=MAPS[rule], random_state=seed,
        column_types={"continuous": numbers[:n_continuous], "categorical": numbers[n_continuous:]},
    )  # fmt: skip
    return int(model.fit(rows[~np.isnan(rows).all(axis=1)]).n_clusters_)
