"""How much memory it takes: of every estimator beside the size of chunks, and of data larger than all workers."""

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import psutil
from distributed import Client, LocalCluster

from mdh_dask import RandomProjectionTree
from mdh_dask.clusters.plugins import FewProfiles
from mdh_dask.io import open_rows, write_rows

from .memory_of_estimators import ESTIMATORS, peaks_of_estimators, plot
from .shared import Table, check_space, store_mixture, verdict

__all__ = ["SHORT", "plot", "run"]

SHORT: dict[str, Any] = {
    "n_rows": 1_000_000,
    "estimators": ("RandomProjectionTree", "HierarchicalMDH"),
    "estimator_rows": 200_000,
    "chunk_sizes": (4, 16),
}

MEMORY_LIMIT = 10**9

N_WORKERS = 2

INTERVAL = 0.05


def run(
    n_rows: int = 20_000_000,
    n_columns: int = 50,
    estimators: Sequence[str] = ESTIMATORS,
    estimator_rows: int = 2_000_000,
    chunk_sizes: Sequence[int] = (8, 32, 128),
) -> Iterator[Table]:
    """Watch every estimator on chunks of several sizes, in MiB; then fit and write labels on two workers of 1 GB.

    A cluster of its own, gone by then, writes the data that are larger than the workers.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        check_space(folder, 1.5 * n_rows * n_columns * 4)
        yield peaks_of_estimators(folder, estimators, estimator_rows, n_columns, chunk_sizes)
        yield from _larger_than_workers(folder, n_rows, n_columns)


def _larger_than_workers(folder: Path, n_rows: int, n_columns: int) -> Iterator[Table]:
    size = n_rows * n_columns * 4
    with workers():
        store_mixture(folder / "rows.zarr", n_rows, n_columns)
    stages: list[tuple[str, float, int]] = []
    with workers() as client, Peaks(client) as peaks:
        model = _timed(stages, peaks, "fit", lambda: RandomProjectionTree().fit(open_rows(folder / "rows.zarr")))
        _timed(stages, peaks, "labels", lambda: write_rows(model.labels_, folder / "labels.zarr"))
        trouble = trouble_of(client)
        spilled = sum(client.run(lambda dask_worker: _spilled(dask_worker)).values())
    complete = len(open_rows(folder / "labels.zarr", ndim=1)) == n_rows
    title = f"{n_rows} rows of {n_columns} float32 ({size / 1e9:.3g} GB) on {N_WORKERS} workers of 1 GB"
    yield Table(title, ("stage", "s", "largest worker so far, MB"), stages)
    yield Table("Largest resident sets", ("process", "before, MB", "peak, MB", "required", "verdict"), peaks.lines())
    events = [(what, trouble[what], "none", verdict(trouble[what] == 0)) for what in ("paused", "removed", "restarted")]
    done = [("labels complete", complete, "True", verdict(complete)), ("clusters", model.n_clusters_, "-", "-")]
    more = [("spilled bytes", spilled, "-", "-"), ("passes with labels", model.n_passes_ + 1, "-", "-")]
    yield Table("Events", ("event", "count", "required", "verdict"), [*events, *done, *more])


@contextmanager
def workers(memory_limit: int = MEMORY_LIMIT) -> Iterator[Client]:
    """Start workers, each in a process of its own, that keep few profiles as those of the package do."""
    with (
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": ":0"},
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(FewProfiles())
        yield client


def _timed(stages: list[tuple[str, float, int]], peaks: "Peaks", name: str, work: Any) -> Any:
    start = time.perf_counter()
    value = work()
    stages.append((name, time.perf_counter() - start, _megabytes(peaks.largest_worker())))
    return value


def trouble_of(client: Client) -> Counter[str]:
    """Count workers that paused, went, or came again, by the scheduler's events."""
    trouble: Counter[str] = Counter()
    for topic, events in client.get_events().items():
        for event in (event for _, event in events if isinstance(event, dict)):
            if event.get("action") == "worker-status-change":
                trouble["paused"] += event["status"] == "paused"
            elif topic == "all":
                trouble["removed"] += event.get("action") == "remove-worker"
                trouble["restarted"] += event.get("action") == "add-worker"
    trouble["restarted"] -= N_WORKERS
    return trouble


def _spilled(worker: Any) -> int:
    return int(getattr(worker.data, "spilled_total", (0, 0))[1])


def _megabytes(size: int) -> int:
    return round(size / 1e6)


def _largest(process: psutil.Process) -> int:
    """Return the largest resident set of a process ever, as Linux keeps it; elsewhere that of now."""
    status = Path(f"/proc/{process.pid}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else process.memory_info().rss


class Peaks:
    """Samples the resident sets of this process and of the workers until it is left."""

    def __init__(self, client: Client) -> None:
        pids = sorted(client.run(os.getpid).values())
        self.processes = {f"worker {i}": psutil.Process(pid) for i, pid in enumerate(pids)}
        self.processes["client, with the scheduler"] = psutil.Process()
        self.before = {name: process.memory_info().rss for name, process in self.processes.items()}
        self.peak = dict(self.before)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self) -> None:
        while not self.stop.wait(INTERVAL):
            for name, process in self.processes.items():
                try:
                    self.peak[name] = max(self.peak[name], _largest(process))
                except psutil.NoSuchProcess:  # a worker that was killed: the events tell
                    continue

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        self.thread.join()

    def processor_seconds(self) -> float:
        """Return the processor seconds that the workers have used."""
        workers = (process for name, process in self.processes.items() if name.startswith("worker"))
        return sum(sum(process.cpu_times()[:2]) for process in workers)

    def largest_worker(self) -> int:
        """Return the largest resident set of a worker until now, in bytes."""
        return max(peak for name, peak in self.peak.items() if name.startswith("worker"))

    def lines(self) -> list[tuple[Any, ...]]:
        """Return a line for every process."""
        return [
            (name, _megabytes(self.before[name]), _megabytes(peak), "< 1000", verdict(peak < MEMORY_LIMIT))
            for name, peak in self.peak.items()
        ]
