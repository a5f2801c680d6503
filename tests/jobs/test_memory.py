"""Workers that really die for lack of memory: the error names what they need and the remedies."""

import os
import re
import subprocess
import sys

import pytest
import zarr

from mdh_dask.cli import exits

NEED = (
    r"ERROR several workers died one after another of the same task, most likely for lack of memory: one needs about "
    r"400 MB \+ threads x 4,0\d\d MB \(5 x 800 MB of a block \+ 2 x [\d.]+ MB of results\)\. Give workers more memory "
    r"or fewer threads, or store the input in smaller chunks: one of 800 MB is read whole\n$"
)

FIT = "fit x.zarr --missing-chunks fill --workers 1 --threads-per-worker 1 --memory-limit 600MB --out l.zarr"


@pytest.fixture
def here(tmp_path):
    """A folder with an array in two chunks larger than a worker, of which one is stored, without taking room."""
    chunks = {"chunks": (5 * 10**7, 2), "compressors": None}
    zarr.create_array(tmp_path / "x.zarr", shape=(10**8, 2), dtype="f8", fill_value=1.0, **chunks)
    (tmp_path / "x.zarr/c/0").mkdir(parents=True)
    with (tmp_path / "x.zarr/c/0/0").open("wb") as file:
        file.truncate(8 * 10**8)
    return tmp_path


@pytest.mark.slow
@pytest.mark.cluster
def test_a_worker_that_dies_of_a_chunk_too_large_for_it_says_so(here):
    program = [sys.executable, "-c", "from mdh_dask.cli import main; main()", *FIT.split()]
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    done = subprocess.run(program, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == exits.NO_MEMORY, done.stderr
    assert "exceeded 95% memory budget. Restarting" in done.stderr
    assert re.search(NEED, done.stderr), done.stderr
    assert not (here / "l.zarr").exists()
