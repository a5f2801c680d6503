"""Outputs in Icechunk repositories: one commit for all of a run, and snapshots that stay as they are."""

import os
import random
import signal
import subprocess
import time

import dask.array as da
import numpy as np
import pytest
import zarr
from disturbed import COMMAND, Killed, kill
from helpers import job_text
from test_images import beach

from mdh_dask import PCATree, jobs, load_model
from mdh_dask.cli.exits import exit_code
from mdh_dask.io import open_rows, write_rows
from mdh_dask.io.commits import Branch, Staged, commit, together
from mdh_dask.io.repositories import open_repository, pinned
from mdh_dask.io.rows import open_array
from mdh_dask.workflows import segment
from mdh_dask.workflows.outputs import Outputs

pytest.importorskip("icechunk", reason="needs the extra icechunk")


def history():
    return [*open_repository("r").ancestry(branch="main")]


def about(snapshot):
    return snapshot.metadata["mdh_dask"]


def rows(location):
    return open_rows(location, ndim=1).compute().tolist()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_what_is_written_to_a_repository_is_one_more_snapshot_and_older_ones_stay_as_they_are():
    write_rows(np.arange(10), "icechunk::r@main/a/labels", chunk_rows=3)
    with pytest.raises(FileExistsError, match="replace it with overwrite=True"):
        write_rows(np.arange(9), "icechunk::r@main/a/labels")
    write_rows(np.arange(20), "icechunk::r@main/a/labels", chunk_rows=7, overwrite=True)
    assert rows("icechunk::r@main/a/labels") == [*range(20)]
    assert rows(f"icechunk::r@{history()[1].id}/a/labels") == [*range(10)]
    assert len(history()) == 3  # with the empty first
    assert os.listdir() == ["r"]


def test_labels_regions_and_model_of_an_image_are_one_commit_that_names_the_snapshot_of_the_image():
    zarr.create_array("image.zarr", data=beach(40, 50), chunks=(20, 25, 3))
    commit(Branch("r"), {"image": Staged("image.zarr", replace=False)}, {})
    before = pinned("icechunk::r@main/image")
    places = {
        "labels": "icechunk::r@main/s/labels",
        "model": "icechunk::r@main/model",
        "connected": "icechunk::r@main/regions",
    }
    segment("icechunk::r@main/image", PCATree(sample_size=None), **places, sieve=3)
    last, previous = history()[:2]
    assert sorted(about(last)["nodes"]) == ["model", "regions", "s/labels"]
    assert about(last)["input"] == "icechunk::r@main/image"
    assert about(last)["input_snapshot"] == previous.id
    assert previous.id in before
    assert pinned("icechunk::r@main/image") == before  # other nodes have been written since
    segment("icechunk::r@main/image", load_model("icechunk::r@main/model"), labels="plain.zarr", sieve=3)
    np.testing.assert_array_equal(zarr.open("plain.zarr")[:], open_array("icechunk::r@main/s/labels")[:])


def test_after_an_error_nothing_is_committed():
    write_rows(np.arange(3), "icechunk::r@main/a")

    @together({})
    def fail():
        write_rows(np.arange(4), "icechunk::r@main/b")
        write_rows(np.arange(4), "icechunk::r@main/a")

    with pytest.raises(FileExistsError):
        fail()
    assert len(history()) == 2
    assert os.listdir() == ["r"]


def test_rows_that_cannot_be_computed_leave_nothing_behind():
    rows = da.map_blocks(lambda block: 1 / 0, da.zeros(4, chunks=2), dtype=float)
    with pytest.raises(ZeroDivisionError):
        write_rows(rows, "icechunk::r@main/b")
    assert [name for name in os.listdir() if "staged" in name] == []


def staged(n):
    write_rows(np.arange(n), f"{n}.zarr", chunk_rows=2, overwrite=True)
    return Staged(f"{n}.zarr", replace=True)


def test_of_two_writers_of_one_node_the_first_wins_and_the_second_says_so():
    commit(Branch("r"), {"labels": staged(3)}, {})

    def other():
        commit(Branch("r"), {"labels": staged(5)}, {})

    with pytest.raises(BlockingIOError, match="another run has committed to") as error:
        commit(Branch("r"), {"labels": staged(9), "more": staged(4)}, {}, other)
    assert exit_code(error.value) == 75
    assert rows("icechunk::r@main/labels") == [*range(5)]
    assert [about(one)["nodes"] for one in history()[:-1]] == [["labels"], ["labels"]]
    commit(Branch("r"), {"labels": staged(9)}, {})
    assert rows("icechunk::r@main/labels") == [*range(9)]


def test_two_writers_of_different_nodes_both_win():
    commit(Branch("r"), {"a": staged(3)}, {})
    commit(Branch("r"), {"b": staged(4)}, {}, lambda: commit(Branch("r"), {"c": staged(5)}, {}))
    assert [len(rows(f"icechunk::r@main/{name}")) for name in "abc"] == [3, 4, 5]


@pytest.mark.slow
@pytest.mark.cluster
def test_the_records_of_all_workers_are_in_the_commit(tmp_path, client_of_processes):
    write_rows(np.arange(999), f"icechunk::{tmp_path}/r@main/labels", chunk_rows=3)
    assert rows("icechunk::r@main/labels") == [*range(999)]
    assert len(history()) == 2


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"labels": "icechunk::r@main"}, "expected a node for the labels, as icechunk::r@main/labels"),
        ({"labels": "icechunk::r@v1/labels"}, "expected a branch of r, main, to commit to; got v1"),
        ({"labels": "icechunk::r@main/labels.tif"}, "holds no files"),
        ({"report": "icechunk::r@main/report.html"}, "holds no files"),
        ({"labels": "icechunk::missing/r@main/labels"}, "does not exist"),
    ],
)
def test_outputs_that_no_repository_can_hold_are_refused_before_any_work(places, said):
    with pytest.raises((ValueError, OSError), match=said):
        Outputs(**places, of_image=True).check()


JOB = job_text(
    input={"kind": "image", "path": "image.zarr"},
    method={"name": "rp", "n_projections": 20, "sample_size": 100},
    output={
        "labels": "icechunk::r@main/labels", "model": "icechunk::r@main/model", "manifest": "manifest.json",
    },
    run={"on_change": "restart"},
)  # fmt: skip


def bring(night):
    """Make the image of a night, in place of another."""
    pixels = beach(40, 50)
    zarr.create_array("image.zarr", data=pixels[::-1] if night % 2 else pixels, chunks=(5, 25, 3), overwrite=True)
    with open("job.toml", "w") as file:
        file.write(JOB)


def shown(version="main"):
    """Return what a reader of the repository, or of a snapshot of it, sees."""
    labels = open_array(f"icechunk::r@{version}/labels")[:]
    return labels.tobytes(), load_model(f"icechunk::r@{version}/model").state_.tree.thresholds.tobytes()


def test_a_job_commits_once_however_often_it_is_published(monkeypatch):
    bring(0)
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs.staging.Staged.leave", kill)
        with pytest.raises(Killed):
            jobs.run("job.toml")  # ends between the commit and its own note of that
    jobs.run("job.toml")
    assert "nothing to do" in jobs.run("job.toml")
    last, first = history()
    assert "root" in str(first.metadata)
    assert about(last)["n_clusters"] == load_model("icechunk::r@main/model").n_clusters_
    assert {*about(last)["outputs"]} == {"labels", "model"}
    assert sorted(name for name in os.listdir() if name.startswith(("r", "."))) == ["r"]


@pytest.mark.nightly
@pytest.mark.parametrize("batch", range(20))
def test_wherever_a_run_is_killed_a_reader_sees_one_commit_or_none_and_older_snapshots_stay(batch):
    draw = random.Random(batch)
    bring(0)
    jobs.run("job.toml")
    seen, took = {history()[0].id: shown()}, None
    for night in range(1, 12):
        bring(night)
        started = time.perf_counter()
        running = subprocess.Popen([*COMMAND, "run", "job.toml"], stderr=subprocess.DEVNULL, start_new_session=True)
        if took is None:  # as long as it takes without a kill
            assert running.wait() == 0
            took = time.perf_counter() - started
        else:
            wait_for_a_moment(draw, running, started, took)
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        found, whole = history(), shown()
        assert all(shown(one) == what for one, what in seen.items())
        assert len(found) == night + 1 + (found[0].id not in seen)
        jobs.run("job.toml")
        assert len(history()) == night + 2
        assert shown() == whole or found[0].id in seen
        seen[history()[0].id] = shown()


def wait_for_a_moment(draw, running, started, took):
    """Wait until some moment of the run, of every other run one from the moment on when all outputs are staged."""
    if draw.random() < 0.5:
        time.sleep(draw.uniform(0, took))
        return
    while running.poll() is None and not os.path.exists("job.work/ready.json"):
        time.sleep(0.001)
    time.sleep(draw.uniform(0, 0.3))
