"""How it scales with workers and chunks, what the scheduler adds, and what a hundred workers would take."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import dask
import dask.array as da
import numpy as np

from mdh_dask import RandomProjectionTree
from mdh_dask.chunks import Statistic, reduce_rows
from mdh_dask.io import open_rows, write_rows

from .cells import Begin, run_cell
from .clusters import apart, cpu_seconds
from .cost_model import FORMULA, Costs
from .pass_record import Pass, recorded_passes
from .scale_plot import plot
from .shared import Table, Times, ratios, store_mixture, two_threads

__all__ = ["SHORT", "plot", "run"]

SHORT: dict[str, Any] = {"n_rows": 400_000, "chunks": (200, 1000), "repeats": 1}

LIMIT = 900.0

MODELLED_ROWS, MODELLED_WORKERS = (1e8, 1e9, 1e10), (1, 10, 100, 1000)


def run(
    n_rows: int = 4_000_000, n_columns: int = 50, chunks: Sequence[int] = (1000, 10_000, 100_000), repeats: int = 3
) -> Iterator[Table]:
    """Time fit and labels on one and two workers, and empty tasks; model more workers by what was measured.

    The client, the scheduler and the workers, of one thread each, are processes that share two processors.
    """
    with TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        with two_threads():
            store_mixture(folder / "warm.zarr", 50_000, 5, 5, seed=1)
            for n in (n_rows // 2, n_rows):
                store_mixture(folder / f"{n}.zarr", n, n_columns)
        runs = {}
        for workers, n in ((1, n_rows // 2), (1, n_rows), (2, n_rows)):
            cell = run_cell(scaled, LIMIT, store=folder / f"{n}.zarr", n_workers=workers, repeats=repeats)
            runs[workers, n] = _value(cell)
        yield from _scaling(runs, n_rows)
        weights = _value(run_cell(weighed, LIMIT, store=folder / f"{n_rows}.zarr"))
    passes = runs[1, n_rows]["passes"]
    yield _passes(passes, weights, n_rows)
    empties = [_value(run_cell(empty, LIMIT, n_chunks=n)) for n in chunks]
    yield Table(EMPTY, EMPTY_COLUMNS, [_empty_line(n, seconds) for n, seconds in zip(chunks, empties)])
    yield from _model(_costs(runs[1, n_rows], weights, chunks, empties, n_rows, n_columns))


def _value(cell: Any) -> Any:
    if cell.failure:
        raise RuntimeError(f"expected a measurement; got: {cell.failure}")
    return cell.value


def scaled(begin: Begin, store: Path, n_workers: int, repeats: int) -> dict[str, Any]:
    """Return the seconds of fits and labels on so many workers, the processor time of all parts, and the passes."""
    labels = store.parent / "labels.zarr"
    outcome: dict[str, Any] = {"fit": [], "labels": [], "cpu": []}
    with apart(n_workers) as (_, parts):
        with dask.config.set({"mdh-dask.block-size": "64KiB"}):  # many blocks: every worker compiles
            _fit(store.parent / "warm.zarr", labels)
        begin(**parts)
        for _ in range(repeats):
            before = cpu_seconds(parts)
            with recorded_passes() as passes:
                fit, labelling = _fit(store, labels)
            outcome["fit"].append(fit)
            outcome["labels"].append(labelling)
            outcome["cpu"].append({part: seconds - before[part] for part, seconds in cpu_seconds(parts).items()})
            outcome["passes"] = passes
    return outcome


def _fit(store: Path, labels: Path) -> tuple[float, float]:
    start = time.perf_counter()
    model = RandomProjectionTree().fit(open_rows(store))
    middle = time.perf_counter()
    write_rows(model.labels_, labels, overwrite=True)
    return middle - start, time.perf_counter() - middle


def weighed(begin: Begin, store: Path) -> list[Pass]:
    """Return the passes of a fit and its labels, with the bytes of their results."""
    begin()
    with two_threads(), recorded_passes(weigh=True) as passes:
        _fit(store, store.parent / "labels.zarr")
    return passes


def _scaling(runs: dict[tuple[int, int], Any], n_rows: int) -> Iterator[Table]:
    lines = []
    for (workers, n), run_ in runs.items():
        total = np.add(run_["fit"], run_["labels"])
        cpu = {part: float(np.median([each[part] for each in run_["cpu"]])) for part in run_["cpu"][0]}
        medians = (float(np.median(values)) for values in (run_["fit"], run_["labels"], total))
        lines.append((workers, n, *medians, float(total.min()), *cpu.values()))
    columns = ("workers", "rows", "fit s", "labels s", "both s", "least s", "client CPU s", "scheduler CPU s")
    title = f"Fit and written labels on workers of one thread, medians of {len(runs[1, n_rows]['fit'])} repeats"
    yield Table(title, (*columns, "workers CPU s"), lines)
    times = {key: Times(*2 * (np.add(run_["fit"], run_["labels"]),)) for key, run_ in runs.items()}
    strong = ratios(times[1, n_rows], times[2, n_rows])[:2]
    weak = ratios(times[1, n_rows // 2], times[2, n_rows])[:2]
    yield Table("Scaling from one worker to two, client and scheduler on the same two processors",
                ("scaling", "rows", "ratio, median", "of least times", "ideal"), [
        ("strong: seconds of one / seconds of two", f"{n_rows}", *strong, 2),
        ("weak: seconds of one / seconds of two", f"{n_rows // 2} each", *weak, 1),
    ])  # fmt: skip


def _passes(passes: Sequence[Pass], weights: Sequence[Pass], n_rows: int) -> Table:
    columns = ("pass", "chunks", "tasks", "building s", "computing s", "ns a row", "parameter, bytes a worker",
               "results combined, bytes", "bytes a chunk", "largest result, bytes")  # fmt: skip
    lines = [
        (f"{i}. {timed.name}", timed.chunks, timed.tasks, timed.building, timed.computing,
         1e9 * timed.computing / n_rows, heavy.parameter, heavy.results, heavy.results / max(heavy.chunks, 1),
         heavy.largest)
        for i, (timed, heavy) in enumerate(zip(passes, weights), start=1)
    ]  # fmt: skip
    return Table(f"Passes over {n_rows} rows on one worker; each result goes to another worker at most once",
                 columns, lines)  # fmt: skip


@dataclass(frozen=True)
class Nothing(Statistic):
    """No work, in the graph of a pass."""

    def chunk(self, start: int, *blocks: Any) -> int:
        """Do nothing."""
        return 0

    def combine(self, left: int, right: int) -> int:
        """Do nothing."""
        return 0


@dataclass(frozen=True)
class NoRows:
    """Stands for an array of one row in every chunk, and has nothing to read."""

    shape: tuple[int, int]
    dtype: ClassVar[np.dtype] = np.dtype(np.float32)
    ndim: ClassVar[int] = 2

    def __getitem__(self, _: object) -> np.ndarray:
        return np.empty((1, 1), self.dtype)


def empty(begin: Begin, n_chunks: int) -> dict[str, float]:
    """Return what a pass takes of which no task does anything, on two workers."""
    with apart(2) as (_, parts):
        _empty_pass(50)
        begin(**parts)
        before = cpu_seconds(parts)
        with recorded_passes() as passes:
            _empty_pass(n_chunks)
        cpu = {f"{part} CPU": seconds - before[part] for part, seconds in cpu_seconds(parts).items()}
    return {"tasks": passes[0].tasks, "building": passes[0].building, "computing": passes[0].computing} | cpu


def _empty_pass(n_chunks: int) -> None:
    reduce_rows(Nothing(), da.from_array(NoRows((n_chunks, 1)), chunks=(1, 1), name=False))


PARTS = ("client", "scheduler", "workers")

EMPTY = "The same graph with empty tasks, two workers"

EMPTY_COLUMNS = ("chunks", "tasks", "building s", "computing s", "ms a chunk", "client CPU ms a chunk",
                 "scheduler CPU ms a chunk", "workers CPU ms a chunk")  # fmt: skip


def _empty_line(n_chunks: int, seconds: dict[str, float]) -> tuple[Any, ...]:
    both = seconds["building"] + seconds["computing"]
    cpu = (1e3 * seconds[f"{part} CPU"] / n_chunks for part in PARTS)
    return n_chunks, int(seconds["tasks"]), seconds["building"], seconds["computing"], 1e3 * both / n_chunks, *cpu


def _costs(
    run_: dict[str, Any],
    weights: Sequence[Pass],
    chunks: Sequence[int],
    empties: Sequence[dict[str, float]],
    n_rows: int,
    n_columns: int,
) -> Costs:
    """Fit the constants: slopes between the largest two graphs of empty tasks, and a fit on one worker."""
    *_, (few, less), (many, more) = zip(chunks, empties)
    slope = {part: (more[f"{part} CPU"] - less[f"{part} CPU"]) / (many - few) for part in PARTS}
    passes = run_["passes"]
    on_fit = sum(p.building + p.computing for p in passes[:-1])
    return Costs(
        driver=max(run_["fit"][-1] - on_fit, 0.0),
        work=tuple(p.computing / n_rows for p in passes),
        client=slope["client"],
        scheduler=slope["scheduler"],
        handling=slope["workers"],
        largest=tuple(p.largest for p in weights),
        row_bytes=4 * n_columns,
    )


def _model(costs: Costs) -> Iterator[Table]:
    yield Table("Model: formula and constants", ("what", "value", "unit", "from"), [
        ("seconds", "-", "s", FORMULA),
        ("driver", costs.driver, "s", "measured: fit on one worker less its passes"),
        *((f"work, pass {i}", 1e9 * seconds, "ns a row and worker", "measured: one worker, reading from a local disk")
          for i, seconds in enumerate(costs.work, start=1)),
        ("client", 1e3 * costs.client, "ms a chunk", "fitted: processor time, slope of empty tasks"),
        ("scheduler", 1e3 * costs.scheduler, "ms a chunk", "fitted: processor time, slope of empty tasks"),
        ("handling", 1e3 * costs.handling, "ms a chunk", "fitted: processor time of workers, slope of empty tasks"),
        *((f"largest, pass {i}", size, "bytes", "measured: threads") for i, size in enumerate(costs.largest, start=1)),
        ("bandwidth", costs.bandwidth, "bytes a second", "assumed"),
        ("block", costs.block_bytes, "bytes", "assumed: the default"),
        ("storage", "-", "-", "assumed: gives every worker what a local disk gave one"),
    ])  # fmt: skip
    lines = [
        (f"{rows:.0e}", workers, costs.chunks(rows), *costs.parts(rows, workers).values())
        for rows in MODELLED_ROWS
        for workers in MODELLED_WORKERS
    ]
    columns = ("rows", "workers", "chunks", *costs.parts(1.0, 1))
    yield Table("Model, not measured: seconds of fit and labels", columns, lines)
