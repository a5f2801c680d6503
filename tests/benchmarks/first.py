"""The first minute: first fits and first commands of a new process, with an empty and a filled cache of loops."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from mdh_dask.simulate import gaussian_mixture

from .shared import Table, verdict

SHORT: dict[str, Any] = {"repeats": 1}

METHODS = {"RandomProjectionTree": 3.0, "HierarchicalMDH": 7.0, "HierarchicalKernelMDH": 7.0, "DensityTree": 7.0}
"""Methods, and the most processor seconds of the very first fit on a machine beyond those of a second one."""

LATER = 0.5
"""The most such seconds of the first fit in any later process."""

PROGRAM = """
import json, sys, time
import numpy as np
import mdh_dask
model, X, seconds = getattr(mdh_dask, sys.argv[1]), np.load(sys.argv[2]), []
for _ in range(2):
    start = time.process_time()
    model(random_state=0).fit(X)
    seconds.append(time.process_time() - start)
print(json.dumps(seconds))
"""

COMMANDS: dict[str, tuple[str, float | None]] = {
    "--help": ("--help", 0.5),
    "fit of a missing file": ("fit gone.npy --out l0.zarr", 0.5),
    "fit": ("fit x.npy --out l.zarr --model m.zarr --overwrite", None),
    "predict of 1000 rows": ("predict few.npy --model m.zarr --out p.zarr --overwrite", 2.0),
    "drift": ("drift few.npy --model m.zarr", None),
}
"""Commands, and the most processor seconds with a filled cache."""

PLACES = {"threads of the process": "--scheduler threads", "two workers": "--workers 2 --threads-per-worker 1"}
"""Where a fit is timed from its start to its end."""


def run(repeats: int = 5, n: int = 10_000, methods: Sequence[str] = tuple(METHODS)) -> Iterator[Table]:
    """Time fits of `n` rows of 50 columns and 20 clusters, and commands on them; medians of processor seconds."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = np.asarray(gaussian_mixture(n, 50, 20, sd=1.0, random_state=0)[0].compute())
        np.save(folder / "x.npy", rows)
        np.save(folder / "few.npy", rows[:1000])
        yield _fits(folder, repeats, methods)
        lines = [_command(folder, words, most, repeats, what) for what, (words, most) in COMMANDS.items()]
    columns = ("command", "empty cache", "filled cache", "required", "verdict")
    yield Table("Commands: processor seconds, with all of Python's start", columns, lines)
    with TemporaryDirectory() as name:
        np.save(Path(name) / "x.npy", rows)
        timed = [(place, *_seconds(Path(name), options, repeats)) for place, options in PLACES.items()]
    yield Table("Start of `fit`: seconds, with the fit of few rows", ("on", "empty cache", "filled cache"), timed)


def _fits(folder: Path, repeats: int, methods: Sequence[str]) -> Table:
    lines: list[tuple[Any, ...]] = []
    for name in methods:
        seconds = []
        for i in range(repeats):
            own = _cache(folder, f"{name}-{i}")
            command = [sys.executable, "-c", PROGRAM, name, str(folder / "x.npy")]
            cold, filled = (json.loads(_output(command, folder, own)) for _ in range(2))
            seconds.append((cold[0], filled[0], min(cold[1], filled[1])))
        first, later, warm = map(median, zip(*seconds))
        most = METHODS[name]
        met = first - warm <= most and later - warm <= LATER
        lines.append((name, first, later, warm, f"+{most:g}, +{LATER:g}", verdict(met)))
    columns = ("method", "very first", "first of a later process", "second", "required beyond the second", "verdict")
    return Table("First fits: processor seconds, without imports", columns, lines)


def _command(folder: Path, words: str, most: float | None, repeats: int, what: str) -> tuple[Any, ...]:
    command = [sys.executable, "-c", "from mdh_dask.cli import main; main()", *words.split()]
    seconds: list[tuple[float, ...]] = []
    for i in range(repeats):
        own = _cache(folder, f"{what}-{i}")
        seconds.append(tuple(_processor_seconds(command, folder, own) for _ in range(2)))
    empty, filled = map(median, zip(*seconds))
    required = ("-", "-") if most is None else (f"<= {most:g}", verdict(filled <= most))
    return what, empty, filled, *required


def _seconds(folder: Path, options: str, repeats: int) -> tuple[float, float]:
    """Return the seconds of a fit with an empty and with a filled cache."""
    words = f"fit x.npy --out l.zarr --overwrite {options}".split()
    command = [sys.executable, "-c", "from mdh_dask.cli import main; main()", *words]
    found = []
    for i in range(repeats):
        own = _cache(folder, f"{options}-{i}")
        for _ in range(2):
            before = perf_counter()
            _output(command, folder, own)
            found.append(perf_counter() - before)
    return median(found[::2]), median(found[1::2])


def _cache(folder: Path, name: str) -> Mapping[str, str]:
    """Return an environment with an empty cache of its own."""
    own = folder / f"cache of {name}"
    own.mkdir(mode=0o700)
    return {**os.environ, "MDH_DASK_CACHE": str(own)}


def _output(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def _processor_seconds(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
