"""Jobs that are disturbed, here or in processes of their own, and what they write if they are not."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from mdh_dask.io import write_rows

JOB = """
[input]
path = "{rows}"
[method]
name = "divisive"
projection = "pca"
n_projections = 5
n_candidates = 5
sample_size = 1000
refine = true
[cluster]
{cluster}
[output]
labels = "labels.zarr"
model = "model.zarr"
manifest = "manifest.json"
"""

COMMAND = (sys.executable, "-c", "from mdh_dask.cli import main; main()")


class Killed(BaseException):
    """Leaves everything as it is at that moment, as a kill would."""


def kill(*args, **kwargs):
    """Take the place of a function at whose call a job is killed."""
    raise Killed


WHOLE = {}
"""Outputs of jobs that were not disturbed, by name."""


def undisturbed_outputs(name, folder, run):
    """Return what the job of a folder writes if nothing happens; of each name it is run once in a process."""
    if name not in WHOLE:
        assert run("job.toml").exit_code == 0
        WHOLE[name] = contents(folder / "out")
        shutil.rmtree(folder / "job.work")
        shutil.rmtree(folder / "out")
        (folder / "out").mkdir()
    return WHOLE[name]


def emptied(folder):
    """Return a folder that holds nothing but an empty folder ``out``."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():  # the folder itself may be the current one
        path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)
    (folder / "out").mkdir()
    return folder


def contents(folder):
    """Return what must be the same whether a job was disturbed or not: all but times, in arrays, models and reports."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.suffix != ".json" or path.name in ("zarr.json", "mdh_dask_blocks.json")):
            name = str(path.relative_to(folder))
            found[name] = without_times(path.read_text()) if path.suffix == ".html" else path.read_bytes()
    return found


def without_times(report):
    """Return a report without the seconds that passes took."""
    return re.sub(r"[\d.]+ s\b", "", report)


def store_rows(path, n_rows=60_000, n_columns=8):
    """Write rows of six clusters in 40 chunks, which take nine passes to cluster and label."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(6, n_columns))
    rows = rng.normal(size=(n_rows, n_columns)) + centres[np.arange(n_rows) % 6]
    write_rows(rows.astype("float32"), path, chunk_rows=n_rows // 40)


def environment(folder, **more):
    """Return variables with which nothing is written outside of a folder, and blocks are as small as chunks."""
    return os.environ | {
        "HOME": str(folder),
        "DASK_CONFIG": str(folder / "config"),
        "DASK_MDH_DASK__BLOCK_SIZE": "48000",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        **more,
    }


def make_job(folder, rows, cluster):
    """Write a job file into a new folder and return its path."""
    folder.mkdir()
    path = folder / "job.toml"
    path.write_text(JOB.format(rows=rows, cluster=cluster))
    return path


def start(job, env, *options):
    """Start a job; its log goes into a file beside it."""
    with open(job.with_suffix(".log"), "ab") as log:
        return subprocess.Popen([*COMMAND, "run", *options, job], env=env, stdout=log, stderr=log, cwd=job.parent)


def finish(job, env, *options):
    """Run a job to its end."""
    code = start(job, env, *options).wait(timeout=600)
    assert code == 0, job.with_suffix(".log").read_text()


def wait_for(condition, what, seconds=300):
    """Wait until something holds, however busy the machine."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"{what}: not in {seconds} s"
        time.sleep(0.05)


def passes_made(job):
    """Return how many passes over the data a job has kept the results of."""
    return len(list(job.parent.glob("job.work/passes/0*")))


def attempts(job):
    """Return how often a finished job was run."""
    return len(json.loads((job.parent / "manifest.json").read_text())["attempts"])


def outputs(job):
    """Return every byte of labels and model."""
    files = sorted(job.parent.glob("*.zarr/**/*"))
    return {str(path.relative_to(job.parent)): path.read_bytes() for path in files if path.is_file()}
