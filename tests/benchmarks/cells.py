"""Measurements in processes of their own: what they return, and the peak resident memory of every process they name."""

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

INTERVAL = 0.02
"""Seconds between two looks at the resident memory."""

STARTING = 300.0
"""Seconds that a cell may take to import, to load and to warm up."""

THREADS = 2

Begin = Callable[..., None]
"""Called by the work of a cell where the measurement begins, with the numbers of its processes by their parts."""


@dataclass
class Cell:
    """What came of a measurement.

    Parameters
    ----------
    value : object
        What the work returned; None if it did not come to an end.
    failure : str
        Why not; empty if it did.
    peaks : dict
        The largest resident memory, in bytes, by the part a process had: the cell's own and those it named.
    before : dict
        The resident memory where the measurement began.
    """

    value: Any = None
    failure: str = ""
    peaks: dict[str, int] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)


def run_cell(work: Callable[..., Any], seconds: float, memory: float = float("inf"), **parameters: Any) -> Cell:
    """Run ``work(begin, **parameters)`` in a new process that may use two processors.

    Our compiled loops are kept from cell to cell.

    Parameters
    ----------
    work : callable
        A function of a module of this package; calls ``begin(part=process number, ...)`` when it starts to measure.
    seconds : float
        That it may take from there on.
    memory : float
        Bytes that its processes may take together; it is stopped beyond.
    """
    with TemporaryDirectory(prefix="cell-") as name:
        folder = Path(name)
        (folder / "work.pickle").write_bytes(pickle.dumps((work, parameters)))
        with _started(folder) as process:
            cell = _watched(process, folder, seconds, memory)
        if not cell.failure and not (folder / "value.pickle").exists():
            last = (folder / "log.txt").read_text(errors="replace").strip().splitlines()[-1:]
            cell.failure = f"failed: {last[0] if last else process.returncode}"
        elif not cell.failure:
            cell.value = pickle.loads((folder / "value.pickle").read_bytes())
        return cell


@cache
def _compiled() -> TemporaryDirectory:
    """Return the folder of the compiled loops, which goes with this process."""
    return TemporaryDirectory(prefix="compiled-")


@contextmanager
def _started(folder: Path) -> Iterator[psutil.Popen]:
    """Start a process for the work in a folder; whatever it has started is gone in the end."""
    package = __name__.split(".")
    paths = [str(Path(__file__).resolve().parents[len(package) - 1]), os.environ.get("PYTHONPATH", "")]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(THREADS))
    loops = {"MDH_DASK_CACHE": _compiled().name}
    environment = os.environ | threads | loops | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with open(folder / "log.txt", "wb") as log:
        command = [sys.executable, "-m", __name__, str(folder)]
        process = psutil.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log)
    family: list[psutil.Process] = []
    try:
        yield process
        family = _family(process)
    except BaseException:
        family = _family(process)
        raise
    finally:
        for member in family:
            member.kill()
        process.wait()


def _family(process: psutil.Popen) -> list[psutil.Process]:
    try:
        return [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return []


def _watched(process: psutil.Popen, folder: Path, seconds: float, memory: float) -> Cell:
    """Look at the memory of a process, and of those it names when it begins, until it ends or has to be stopped."""
    cell, parts = Cell(), {"cell": process.pid}
    end = time.monotonic() + STARTING
    while process.poll() is None:
        if not cell.before and (folder / "begun.json").exists():
            parts = json.loads((folder / "begun.json").read_text())
            end = time.monotonic() + seconds
            cell.before = cell.peaks = _resident(parts)
        resident = _resident(parts)
        cell.peaks = {part: max(size, cell.peaks.get(part, 0)) for part, size in resident.items()}
        if sum(resident.values()) > memory:
            cell.failure = "memory"
            return cell
        if time.monotonic() > end:
            cell.failure = f"> {seconds:.3g} s" if cell.before else "slow start"
            return cell
        time.sleep(INTERVAL)
    return cell


def _resident(parts: dict[str, int]) -> dict[str, int]:
    sizes = dict.fromkeys(parts, 0)
    for part, number in parts.items():
        try:
            sizes[part] = psutil.Process(number).memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return sizes


def _main(folder: Path) -> None:
    if hasattr(os, "sched_setaffinity"):  # before anything counts the processors
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    work, parameters = pickle.loads((folder / "work.pickle").read_bytes())

    def begin(**parts: int) -> None:
        (folder / "begun.tmp").write_text(json.dumps({"cell": os.getpid()} | parts))
        (folder / "begun.tmp").rename(folder / "begun.json")

    value = pickle.dumps(work(begin, **parameters))
    (folder / "value.tmp").write_bytes(value)
    (folder / "value.tmp").rename(folder / "value.pickle")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
