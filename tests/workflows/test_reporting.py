"""Reports that commands and jobs write: profiles in the pass of the labels, facts, and Dask's report beside them."""

import re
from pathlib import Path

import numpy as np
import pytest
import zarr
from helpers import rows_of_blobs, run
from numpy.testing import assert_array_equal

from mdh_dask import RandomProjectionTree, __version__
from mdh_dask.chunks import reduction
from mdh_dask.io import open_rows, write_rows

QUICK = ("--method", "rp", "--n-projections", 20, "--sample-size", 300)
THREADS = ("--scheduler", "threads")


def words_of(file):
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", Path(file).read_text(), flags=re.DOTALL).split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mdh_dask.chunks.mapping.LEAST_BLOCK_BYTES", 6000)
    write_rows(rows_of_blobs(), "x.zarr", chunk_rows=500)
    return tmp_path


@pytest.fixture
def passes(monkeypatch):
    """Statistics of which a pass was made."""
    made, original = [], reduction._reduced

    def noted(statistic, *args):
        made.append("+".join(type(part).__name__ for part in getattr(statistic, "parts", (statistic,))))
        return original(statistic, *args)

    monkeypatch.setattr(reduction, "_reduced", noted)
    return made


def test_profiles_are_made_in_the_pass_that_writes_the_labels(here, passes):
    assert run("fit", "x.zarr", "--out", "l.zarr", "--report", "r.html", *QUICK, *THREADS).exit_code == 0
    assert passes == ["FirstPass", "BranchPass", "WriteBlocks+Together"]
    assert "Passes over the data 3, the last of them for labels and profiles" in words_of("r.html")
    model = RandomProjectionTree(n_projections=20, sample_size=300).fit(rows_of_blobs())
    assert_array_equal(open_rows("l.zarr", ndim=1), model.labels_)


def test_without_labels_profiles_take_a_pass_and_without_a_report_there_is_none(here, passes):
    assert run("fit", "x.zarr", "--report", "r.html", *QUICK, *THREADS).exit_code == 0
    assert passes == ["FirstPass", "BranchPass", "MomentPass+SamplePass"]
    passes.clear()
    assert run("fit", "x.zarr", "--model", "m.zarr", *QUICK, *THREADS).exit_code == 0
    assert passes == ["FirstPass", "BranchPass"]


def test_the_report_tells_profiles_and_the_facts_of_the_run(here):
    assert run("fit", "x.zarr", "--report", "r.html", "--columns", "2,0", *QUICK, *THREADS).exit_code == 0
    words = words_of("r.html")
    assert "Cluster 0 2,000 rows x0 " in words
    assert re.search(r"x0 18\.0 ± 1\.0 4\.5 ± 4\.6 \+3\.\d", words)
    assert f"mdh_dask {__version__} dask" in words
    assert "n_projections 20" in words
    assert "Bytes read 0.144 MB, as they are in memory" in words
    assert "Ran on this process (threads)" in words


def test_segments_are_profiled_by_the_bands_of_their_pixels(here):
    pixels = np.zeros((40, 50, 3), "u1")
    pixels[:, 25:] = [200, 0, 90]
    pixels += np.random.default_rng(0).integers(0, 20, pixels.shape, dtype="u1")
    zarr.create_array("image.zarr", data=pixels, chunks=(20, 25, 3))
    run("segment", "image.zarr", "--report", "r.html", "--window", 3, "--max-clusters", 2, *QUICK, *THREADS, code=0)
    words = words_of("r.html")
    assert "Cluster red blue green" in words
    assert re.search(r"1,000 pixels low red, low blue Feature .* red 9\.\d ± 5\.\d 209\.\d ± 5\.\d", words)
    assert re.search(r"1,000 pixels high red, high blue Feature", words)
