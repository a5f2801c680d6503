"""The peak memory of workers, scheduler and client for every estimator, beside the size of chunks."""

import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import dask
from dask.utils import parse_bytes

import mdh_dask
from mdh_dask.estimators.registry import estimators
from mdh_dask.io import open_rows, write_rows
from mdh_dask.simulate import gaussian_mixture

from .cells import Begin, run_cell
from .clusters import apart
from .shared import Table, two_threads

ESTIMATORS = tuple(name for name in estimators() if name != "DivisiveClustering")
"""All but that of which the defaults are those of `RandomProjectionTree`."""

LIMIT = 600.0

TITLE = "Peak resident memory, MB"


def peaks_of_estimators(
    folder: Path, estimators: Sequence[str], n_rows: int, n_columns: int, chunk_sizes: Sequence[int]
) -> Table:
    """Fit every estimator to chunks of so many MiB and write the labels, each on two new workers of one thread.

    The loops are compiled before; the memory where the measurement begins is shown, too.
    """
    with two_threads():
        _store(folder / "warm", 50_000, 5, 2**16)
        for size in chunk_sizes:
            _store(folder / f"{size}", n_rows, n_columns, size * 2**20)
    lines = []
    for name in estimators:
        for size in chunk_sizes:
            cell = run_cell(watched, LIMIT, estimator=name, folder=folder, size=f"{size}MiB", store=f"{size}.zarr")
            lines.append((name, size, *_peaks(cell, size)))
    columns = (
        "estimator",
        "chunk, MiB",
        "s",
        "worker before",
        "worker",
        "above before, in chunks",
        "scheduler",
        "client",
    )
    return Table(f"{TITLE}: {n_rows} rows of {n_columns} float32, two workers", columns, lines)


def _store(path: Path, n_rows: int, n_columns: int, chunk_bytes: int) -> None:
    chunk_rows = min(n_rows, chunk_bytes // (4 * n_columns))
    write_rows(gaussian_mixture(n_rows, n_columns, 20, chunk_rows=chunk_rows)[0], f"{path}.zarr", chunk_rows=chunk_rows)


def _peaks(cell: Any, size: int) -> tuple[Any, ...]:
    if cell.failure:
        return cell.failure, *["-"] * 5
    before, worker = (max(sizes[p] for p in sizes if p.startswith("worker")) for sizes in (cell.before, cell.peaks))
    scheduler, client = (round(1e-6 * cell.peaks[part]) for part in ("scheduler", "cell"))
    return cell.value, round(1e-6 * before), round(1e-6 * worker), (worker - before) / (size * 2**20), scheduler, client


def watched(begin: Begin, estimator: str, folder: Path, size: str, store: str) -> float:
    """Return the seconds of a fit and its written labels on chunks of one size."""
    with apart(2) as (_, parts):
        _fit(estimator, folder / "warm.zarr", folder, "64KiB")
        begin(**parts)
        start = time.perf_counter()
        _fit(estimator, folder / store, folder, size)
        return time.perf_counter() - start


def _fit(estimator: str, store: Path, folder: Path, size: str) -> None:
    with dask.config.set({"mdh-dask.block-size": parse_bytes(size)}):
        model = getattr(mdh_dask, estimator)().fit(open_rows(store, block_bytes=size))
        write_rows(model.labels_, folder / "watched.zarr", overwrite=True)


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw the peaks of workers and of the client against the size of chunks."""
    from matplotlib.figure import Figure

    table = next(table for table in tables if table.title.startswith(TITLE))
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for number, (name, group) in enumerate(groupby(table.rows, key=lambda row: row[0])):
        lines = [line for line in group if isinstance(line[-1], int)]
        style = {"label": name, "marker": "os^vD"[number % 5], "color": f"C{number % 10}"}
        for axis, place in zip(axes, (4, 7)):
            axis.plot([line[1] for line in lines], [line[place] for line in lines], **style)
    for axis, who in zip(axes, ("larger worker", "client")):
        axis.set(xscale="log", xlabel="chunk, MiB", ylabel="peak, MB", title=who)
        sizes = sorted({row[1] for row in table.rows})
        axis.set_ylim(bottom=0)
        axis.set_xticks(sizes, labels=map(str, sizes))
        axis.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.savefig(path, dpi=120)
