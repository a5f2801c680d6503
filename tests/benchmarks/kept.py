"""Cells of a table that are written as they come, so that an interrupted run goes on where it ended."""

import json
import time
from collections.abc import Callable, Sequence
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

Key = tuple[Any, ...]
"""Arguments of a cell: text and numbers."""


def run_cells(
    work: Callable[..., Any], keys: Sequence[Key], cells: Path | None = None, n_jobs: int = 2, budget: float = inf
) -> list[Any]:
    """Return ``work(*key)`` of every key, in their order; None where the budget was not enough.

    Parameters
    ----------
    work : callable
        A function of a module of this package that returns numbers, or lists of numbers.
    keys : sequence of tuple
    cells : Path, optional
        File to which every cell is added as a line of JSON. Cells that it holds already are not run again.
    n_jobs : int
        Number of processes.
    budget : float
        Seconds after which no cell is begun.
    """
    end = time.monotonic() + budget
    values = finished(cells)
    missing = takewhile(lambda _: time.monotonic() < end, [key for key in dict.fromkeys(keys) if key not in values])
    for key, value in Parallel(n_jobs, return_as="generator_unordered")(delayed(_cell)(work, key) for key in missing):
        values[key] = value
        keep(cells, key, value)
    return [values.get(key) for key in keys]


def _cell(work: Callable[..., Any], key: Key) -> tuple[Key, Any]:
    return key, work(*key)


def keep(cells: Path | None, key: Key, value: Any) -> None:
    """Add a cell to a file, if there is one."""
    if cells is not None:
        with cells.open("a") as file:
            file.write(json.dumps([*key, value]) + "\n")


def finished(cells: Path | None) -> dict[Key, Any]:
    """Return the cells of a file, whose folder is made if it is missing; none without a file."""
    if cells is None:
        return {}
    if not cells.exists():
        cells.parent.mkdir(parents=True, exist_ok=True)
        return {}
    lines = [json.loads(line) for line in cells.read_text().splitlines()]
    return {tuple(key): value for *key, value in lines}
