"""What the benchmarks share: tables, interleaved timings, data in a store, two threads."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np
from threadpoolctl import threadpool_limits

from mdh_dask.io import write_rows
from mdh_dask.simulate import gaussian_mixture

FOLDER = "MDH_DASK_DATA"
"""Environment variable that names the folder of the labelled sets: npz files with X and y."""

SKIPPED = "not found: skipped"

CHUNK_ROWS = 32_768


@dataclass
class Table:
    """A title, the names of the columns, and rows of text and numbers; a detail is left out of pages."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    detail: bool = False

    def text(self) -> str:
        """Return the table with aligned columns."""
        cells = [self.columns, *(tuple(map(cell_text, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells]
        return "\n".join([self.title, "-" * len(self.title), *lines])


def cell_text(value: Any) -> str:
    """Return a number with three digits, or the text itself."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def verdict(holds: bool | np.bool_) -> str:
    """Say whether a requirement is met."""
    return "met" if holds else "not met"


def folder_of(folder: str | None) -> str | None:
    """Return the folder of the labelled sets: the one given, else that of the environment variable."""
    return folder or os.environ.get(FOLDER)


def labelled_set(name: str, folder: str | None = None) -> tuple[Any, Any] | None:
    """Return the complete rows of a set and their classes; None if there is no folder or no such file."""
    folder = folder_of(folder)
    path = Path(folder or "", f"{name}.npz")
    if folder is None or not path.exists():
        return None
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], y[whole]


class Times(NamedTuple):
    """Wall-clock and processor seconds of every repeat; all threads of this process count as processor time."""

    wall: np.ndarray
    cpu: np.ndarray

    def row(self) -> tuple[float, float, float]:
        """Return the median and the least wall-clock time, and the median processor time."""
        return float(np.median(self.wall)), float(self.wall.min()), float(np.median(self.cpu))


def interleaved(repeats: int, runs: dict[str, Callable[[], object]]) -> dict[str, Times]:
    """Time every function once in turn, several times over: what slows the machine down slows all of them."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            seconds[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: Times(*np.array(pairs).T) for name, pairs in seconds.items()}


def ratios(a: Times, b: Times) -> tuple[float, float, float]:
    """Return the median of the ratios within each turn, the ratio of the least times, and that of processor times."""
    cpu = float(np.median(a.cpu) / np.median(b.cpu))
    return float(np.median(a.wall / b.wall)), float(a.wall.min() / b.wall.min()), cpu


def ratio_row(name: str, a: Times, b: Times, most: float) -> tuple[Any, ...]:
    """Return a line that compares times measured in turn: the median of the ratios within each turn is judged."""
    median, least, cpu = ratios(a, b)
    return name, median, least, cpu, f"<= {most:g}", verdict(median <= most)


def check_space(folder: Path, size: float) -> None:
    """Raise an error unless a folder has room for `size` bytes."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise OSError(
            f"expected {size / 1e9:.3g} GB free in {folder}; got {free / 1e9:.3g} GB: set TMPDIR to a folder with more "
            "room, or take smaller sizes"
        )


@contextmanager
def two_threads() -> Iterator[None]:
    """Give Dask's threads, BLAS and OpenMP two threads each."""
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(scheduler="threads", num_workers=2))
        stack.enter_context(threadpool_limits(limits=2))
        yield


def store_mixture(
    path: Path, n_rows: int, n_columns: int, n_clusters: int = 20, seed: int = 0, sd: float = 2.5
) -> Path:
    """Write the rows of a simulated mixture to a Zarr array in chunks of `CHUNK_ROWS` rows."""
    X, _ = gaussian_mixture(n_rows, n_columns, n_clusters, sd=sd, chunk_rows=CHUNK_ROWS, random_state=seed)
    write_rows(X, path, chunk_rows=min(CHUNK_ROWS, n_rows))
    return path
