"""How long a clustering takes, how much memory and how good it is, beside what a user would pick instead."""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import psutil

from mdh_dask.io import write_rows
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.simulate import gaussian_mixture

from .cells import Begin, Cell, run_cell
from .contestants import CONTESTANTS
from .results import version_of
from .shared import Table, two_threads
from .speed_plot import plot
from .speed_verdicts import COMPARED, against_peers, lost

__all__ = ["SHORT", "plot", "run"]

SHORT: dict[str, Any] = {
    "n_rows": 1_000_000,
    "columns": (10, 50),
    "clusters": (20,),
    "repeats": 2,
    "limit": 20.0,
    "budget": 480.0,
}

CHUNK_BYTES = 2**23

WARM_ROWS = (2000, 50_000)
"""Rows that are clustered before anything is timed: within the sample of our trees, and beyond it."""

MEASURES = {
    "seconds": "median seconds to labels",
    "least": "least seconds to labels",
    "cpu": "median processor seconds to labels, of all threads",
    "NMI": "mean NMI",
    "megabytes": "peak resident memory, MB",
}


class Case(NamedTuple):
    """The shape of simulated data."""

    rows: int
    columns: int
    clusters: int

    @property
    def bytes(self) -> int:
        """Bytes of the rows."""
        return 4 * self.rows * self.columns

    @property
    def gigabytes(self) -> float:
        """The same in GB."""
        return self.bytes / 1e9

    def within(self, other: "Case") -> bool:
        """Tell whether nothing is larger than in another."""
        return all(a <= b for a, b in zip(self, other))


def run(
    n_rows: int = 10_000_000,
    columns: Sequence[int] = (10, 50, 200, 1000),
    clusters: Sequence[int] = (5, 20, 100),
    sd: float = 2.5,
    repeats: int = 3,
    limit: float = 60.0,
    budget: float = 3600.0,
    gigabytes: float = 4.0,
    contestants: Sequence[str] = tuple(CONTESTANTS),
) -> Iterator[Table]:
    """Time every method on Gaussian clusters, the home of k-means, of 10,000 rows up to `n_rows` in powers of ten.

    Every cell is a process of its own that may use two processors; loops are compiled there on small data before it is
    timed. Rows are in memory before, except where a store is named. The cells along the axes come first (one of rows,
    columns and clusters varies and the others are in the middle), those along the rows before the others. A cell may
    take `limit` seconds, all may take `budget`: those along the axes what they need, each other data set an equal share
    of what is left; larger rows than `gigabytes` are left out.
    """
    grid = [Case(*sizes) for sizes in product(_powers(n_rows), columns, clusters)]
    found = {name: CONTESTANTS[name].why_missing() for name in contestants}
    yield Table("Methods", ("method", "version", "in the comparison"), [
        (name, version_of(CONTESTANTS[name].package), reason or "yes") for name, reason in found.items()
    ])  # fmt: skip
    with TemporaryDirectory(prefix="speed-") as name:
        folder = Path(name)
        for rows in WARM_ROWS:
            _store(Case(rows, 5, 5), folder / f"warm-{rows}", sd)
        _compile(found, folder)
        measured, deadline = Cells(limit), time.monotonic() + budget
        cases = sorted(grid, key=lambda case: (_off_axis(case, grid), case.bytes, case.clusters))
        for i, case in enumerate(cases):
            now, n_left = time.monotonic(), len(cases) - i if _off_axis(case, grid) > 1 else 1
            measured.end = now + (deadline - now) / n_left
            _measure(measured, case, found, folder / "data", sd, repeats, gigabytes)
    yield from _tables(sorted(grid), measured.values, tuple(found))
    if measured.failures:
        yield Table("Speed: cells that failed", ("rows", "columns", "clusters", "method", "error"), measured.failures)


def _tables(grid: Sequence[Case], values: Mapping[Any, dict[str, Any]], names: Sequence[str]) -> Iterator[Table]:
    not_run = {case: {str(values[case, name]["seconds"]) for name in names} - {"-", "missing"} for case in grid}
    not_run = {case: reasons for case, reasons in not_run.items() if reasons <= {"budget", f"{case.gigabytes:.3g} GB"}}
    for measure, what in MEASURES.items():
        lines = [(*case, *(values[case, name][measure] for name in names)) for case in grid if case not in not_run]
        yield Table(f"Speed: {what}", ("rows", "columns", "clusters", *names), lines)
    if not_run:
        lines = [(*case, ", ".join(sorted(reasons))) for case, reasons in not_run.items()]
        yield Table("Speed: not run, for lack of time or memory", ("rows", "columns", "clusters", "why"), lines)
    compared = [line for case in grid for line in against_peers(case, values, names)]
    nothing = [("-",) * len(COMPARED)]
    yield Table("Speed: time to a clustering of equal quality", COMPARED, compared or nothing)
    title = "Speed: every cell where a peer as good is faster, or a peer is better"
    yield Table(title, COMPARED, lost(compared) or nothing)


def _powers(n_rows: int) -> list[int]:
    """Return 10,000, 100,000 and so on up to a number of rows; that number if it is smaller."""
    return [10**power for power in range(4, len(str(n_rows)))] or [n_rows]


def _off_axis(case: Case, grid: Sequence[Case]) -> int:
    """Return 0 where no size but the rows is not in the middle, 1 where only one size is not, else 2."""
    values = [sorted({case[i] for case in grid}) for i in range(len(case))]
    rows, *others = (size != sizes[(len(sizes) - 1) // 2] for size, sizes in zip(case, values))
    return 0 if not any(others) else min(rows + sum(others), 2)


@dataclass
class Cells:
    """What was measured, and what is still worth trying."""

    limit: float
    end: float = float("inf")
    """When the time for the cells of a data set ends."""
    values: dict[tuple[Case, str], dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, list[tuple[Case, float]]] = field(default_factory=dict)
    too_large: dict[str, list[Case]] = field(default_factory=dict)
    failures: list[tuple[Any, ...]] = field(default_factory=list)

    def reason_against(self, case: Case, name: str) -> str | None:
        """Return why a cell is not to be run, None if it is."""
        contestant = CONTESTANTS[name]
        if not contestant.least_rows <= case.rows <= contestant.most_rows:
            return "-"
        if time.monotonic() > self.end:
            return "budget"
        smaller = [(c, s) for c, s in self.seconds.get(name, []) if c.within(case)]
        # Some take seconds before the first row, so that the least of what smaller cases tell is nearest.
        expected = min((s * case.rows / c.rows for c, s in smaller), default=0.0)
        expected = max([expected, *(s for _, s in smaller)])
        if expected > 2 * self.limit:
            return f"> {self.limit:.3g} s expected"
        return "memory" if any(c.within(case) for c in self.too_large.get(name, [])) else None

    def note(self, case: Case, name: str, cell: Cell) -> None:
        """Keep the outcome of a cell."""
        if cell.failure:
            if cell.failure == "memory":
                self.too_large.setdefault(name, []).append(case)
            elif cell.failure.startswith(">"):
                self.seconds.setdefault(name, []).append((case, float("inf")))
            else:
                self.failures.append((*case, name, cell.failure))
            self.skip(case, name, cell.failure.partition(":")[0])
            return
        seconds = cell.value["seconds"]
        self.seconds.setdefault(name, []).append((case, max(seconds)))
        self.values[case, name] = {
            "seconds": median(seconds),
            "least": min(seconds),
            "cpu": median(cell.value["cpu"]),
            "NMI": float(np.mean(cell.value["NMI"])),
            "megabytes": round(sum(cell.peaks.values()) / 1e6),
        }

    def skip(self, case: Case, name: str, reason: str) -> None:
        """Keep why there is no outcome."""
        self.values[case, name] = dict.fromkeys(MEASURES, reason)


def _measure(
    measured: Cells, case: Case, found: dict[str, str | None], folder: Path, sd: float, repeats: int, gigabytes: float
) -> None:
    """Run all cells of one data set, which is there only as long."""
    reasons = {name: reason and "missing" for name, reason in found.items()}
    if case.bytes > min(gigabytes * 1e9, shutil.disk_usage(folder.parent).free / 3):
        reasons = dict.fromkeys(found, f"{case.gigabytes:.3g} GB")
    for name in found:
        reasons[name] = reasons[name] or measured.reason_against(case, name)
        if reasons[name]:
            measured.skip(case, name, reasons[name])
    if all(reasons.values()):
        return
    _store(case, folder, sd)
    memory = 0.6 * psutil.virtual_memory().available
    for name in (name for name, reason in reasons.items() if not reason):
        reason = measured.reason_against(case, name)
        if reason:
            measured.skip(case, name, reason)
            continue
        work = {"name": name, "folder": folder, "k": case.clusters, "repeats": repeats, "patience": measured.limit}
        measured.note(case, name, run_cell(timed_fits, measured.limit, memory, **work))
    shutil.rmtree(folder)


def _compile(names: Iterable[str], folder: Path) -> None:
    """Compile our loops, which are kept, before the first cell."""
    for name in names:
        if CONTESTANTS[name].ours:
            run_cell(timed_fits, 60.0, name=name, folder=folder / f"warm-{WARM_ROWS[0]}", k=2, repeats=1, patience=60.0)


def _store(case: Case, folder: Path, sd: float) -> None:
    """Write the rows and classes of a mixture, in chunks of `CHUNK_BYTES`."""
    with two_threads():
        chunk_rows = max(1, min(case.rows, CHUNK_BYTES // (4 * case.columns)))
        X, y = gaussian_mixture(*case, sd=sd, chunk_rows=chunk_rows)
        write_rows(X, folder / "rows.zarr", chunk_rows=chunk_rows)
        np.save(folder / "y.npy", y.compute())


def timed_fits(begin: Begin, name: str, folder: Path, k: int, repeats: int, patience: float) -> dict[str, list[float]]:
    """Return the seconds and NMI of fits with several seeds, fewer if they take too long."""
    contestant = CONTESTANTS[name]
    outcome: dict[str, list[float]] = {"seconds": [], "cpu": [], "NMI": []}
    with two_threads():
        for rows in WARM_ROWS if contestant.ours else WARM_ROWS[:1]:
            contestant.fit(contestant.load(folder.parent / f"warm-{rows}"), 2, 0)
        data = contestant.load(folder)
        children = psutil.Process().children(recursive=True)
        begin(**{f"child {i}": child.pid for i, child in enumerate(children)})
        for seed in range(repeats):
            start, before = time.perf_counter(), _processor_seconds(children)
            labels, y = contestant.fit(data, k, seed)
            outcome["seconds"].append(time.perf_counter() - start)
            outcome["cpu"].append(_processor_seconds(children) - before)
            outcome["NMI"].append(normalized_mutual_information(y, labels))
            if sum(outcome["seconds"]) + max(outcome["seconds"]) > 0.8 * patience:
                break
    return outcome


def _processor_seconds(children: Sequence[psutil.Process]) -> float:
    return time.process_time() + sum(sum(child.cpu_times()[:2]) for child in children if child.is_running())
