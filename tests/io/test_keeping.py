"""Keeping lazy rows between passes: where, for how long, and how often they are computed."""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import names

from mdh_dask._journal import keeping as keeping_journal
from mdh_dask.io import keeping, open_rows, write_rows
from mdh_dask.io.journal import FolderJournal
from mdh_dask.io.keeping import chosen_place, is_local, kept, memory_of

ROWS = np.arange(60, dtype=np.float32).reshape(20, 3)


COMPUTED = []
"""Rows of the blocks that were computed; of the module, so that it is the same one on a cluster in this process."""


def see(block):
    COMPUTED.append(len(block))
    return block


def lazy_rows():
    """Lazy rows that tell when they are computed."""
    COMPUTED.clear()
    return da.from_array(ROWS, chunks=(6, 3)).map_blocks(see, meta=np.empty((0, 0), np.float32))


@pytest.fixture
def scratch(tmp_path):
    """An empty scratch folder, which is not there yet."""
    with dask.config.set({"temporary-directory": str(tmp_path / "scratch")}):
        yield tmp_path / "scratch"


@pytest.mark.parametrize(("cache", "passes"), [("memory", 1), ("disk", 1), (None, 2), ("auto", 1)])
def test_kept_rows_are_computed_once_and_others_in_every_pass(cache, passes, scratch, scheduler):
    with kept(lazy_rows(), cache) as rows:
        for _ in range(2):
            np.testing.assert_array_equal(rows.compute(), ROWS)
        assert rows.dtype == np.float32
    assert sum(COMPUTED) == passes * 20


def test_rows_kept_in_memory_share_no_task_with_what_else_is_made_of_the_same_rows(client, tmp_path):
    write_rows(ROWS, tmp_path / "rows.zarr", chunk_rows=5)
    rows = open_rows(tmp_path / "rows.zarr")
    with kept(rows.rechunk({0: (7, 7, 6)}) + 1, "memory") as there:
        np.testing.assert_array_equal(there.compute(), ROWS + 1)
        known = set(client.cluster.scheduler.tasks)
        assert known >= {(there.name, i, 0) for i in range(3)}
        assert not known & set((rows.rechunk({0: (7, 7, 6)}) * 2).__dask_graph__())


@pytest.mark.parametrize("cache", ["memory", "disk", "auto", None])
def test_rows_in_memory_are_given_back_as_they_are(cache, scratch):
    with kept(ROWS, cache) as rows:
        assert rows is ROWS
    assert not scratch.exists()


def test_the_scratch_array_is_there_only_meanwhile(scratch):
    with kept(lazy_rows(), "disk"):
        (folder,) = scratch.iterdir()
        assert folder.name.startswith("mdh-dask-")
        assert [path.name for path in folder.iterdir()] == ["features.zarr"]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("lost"), KeyboardInterrupt()])
def test_the_scratch_array_goes_after_an_error_in_a_pass(scratch, error):
    with pytest.raises(type(error)), kept(lazy_rows(), "disk"):
        raise error
    assert list(scratch.iterdir()) == []


def test_the_scratch_array_goes_after_an_error_in_its_writing(scratch):
    def fail(block):
        raise RuntimeError("no rows")

    bad = da.from_array(ROWS, chunks=(6, 3)).map_blocks(fail, meta=np.empty((0, 0), np.float32))
    with pytest.raises(RuntimeError, match="no rows"), kept(bad, "disk"):
        pytest.fail("the rows were not written")
    assert list(scratch.iterdir()) == []


# Where


def room(monkeypatch, memory, free):
    """Pretend that this machine has so much room."""
    monkeypatch.setattr(keeping, "memory_limit", lambda: memory)
    monkeypatch.setattr(keeping.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))


SIZE = ROWS.nbytes


@pytest.mark.parametrize(
    ("memory", "free", "place"),
    [(4 * SIZE, 0, "memory"), (4 * SIZE - 1, 2 * SIZE, "disk"), (4 * SIZE - 1, 2 * SIZE - 1, None)],
)
def test_auto_takes_a_quarter_of_memory_or_half_of_the_free_disk_or_nothing(monkeypatch, scratch, memory, free, place):
    room(monkeypatch, memory, free)
    assert chosen_place(da.from_array(ROWS, chunks=5), "auto") == place


@pytest.mark.parametrize("cache", ["memory", "disk", None])
def test_what_was_asked_for_is_done_whatever_the_room(monkeypatch, cache):
    room(monkeypatch, 0, 0)
    assert chosen_place(da.from_array(ROWS, chunks=5), cache) == cache


def test_memory_is_that_of_the_workers_of_the_client(client, monkeypatch):
    room(monkeypatch, 0, 0)
    (worker,) = client.scheduler_info()["workers"].values()
    assert memory_of(client) == worker["memory_limit"] > 0
    assert chosen_place(da.from_array(ROWS, chunks=5), "auto") == "memory"
    assert memory_of(None) == 0


def test_only_workers_that_this_process_started_share_its_disk(client):
    from distributed import Client

    assert is_local(client)
    with Client(client.cluster.scheduler_address, set_as_default=False) as elsewhere:
        assert not is_local(elsewhere)


@pytest.mark.parametrize("cache", ["memory", "disk"])
def test_on_a_cluster_rows_are_computed_once_and_given_up_at_the_end(client, scratch, cache):
    with kept(lazy_rows(), cache) as rows:
        for _ in range(2):
            np.testing.assert_array_equal(rows.compute(), ROWS)
    assert sum(COMPUTED) == 20
    del rows
    until = time.monotonic() + 300
    while client.futures and time.monotonic() < until:
        time.sleep(0.01)  # futures are given up on the client's thread
    assert client.futures == {}
    assert not scratch.exists() or os.listdir(scratch) == []


def others(folder):
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)


def opened_to_others(folder):
    folder.mkdir()
    folder.chmod(0o750)


def link(folder):
    folder.with_name("elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.with_name("elsewhere"))


@pytest.mark.parametrize("make", [others, opened_to_others, link, Path.touch])
def test_a_scratch_folder_that_others_can_write_to_is_refused(make, scratch, tmp_path):
    if make is others and os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    journal = FolderJournal(tmp_path / "work", "job")
    scratch.mkdir()
    make(scratch / f"mdh-dask-{journal.scratch}")
    message = r"^expected a folder of this user with mode 0700 at .*: remove it, or name another folder as Dask's"
    with keeping_journal(journal), pytest.raises(PermissionError, match=message), kept(lazy_rows(), "disk"):
        pass
    assert COMPUTED == []
    assert names(scratch) == sorted({f"mdh-dask-{journal.scratch}", *(["elsewhere"] if make is link else [])})
    assert not any((scratch / "elsewhere").glob("*"))


def test_the_scratch_folder_of_a_job_is_for_its_user_only_and_is_gone_on_with(scratch, tmp_path):
    journal = FolderJournal(tmp_path / "work", "job")
    for _ in range(2):
        with suppress(KeyboardInterrupt), keeping_journal(journal), kept(lazy_rows(), "disk"):
            raise KeyboardInterrupt
        (folder,) = scratch.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sum(COMPUTED) == 0  # of the second time: all blocks were there
