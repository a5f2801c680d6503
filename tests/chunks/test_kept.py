"""Lazy rows that are kept in memory between passes: when, for how long, and how often they are computed."""

import time

import dask.array as da
import numpy as np
import pytest

from mdh_dask.chunks import kept, mapping
from mdh_dask.io import open_rows, write_rows

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


@pytest.mark.parametrize(("cache", "passes"), [("memory", 1), (None, 2), ("auto", 1)])
def test_kept_rows_are_computed_once_and_others_in_every_pass(cache, passes, scheduler):
    rows = kept(lazy_rows(), cache)
    for _ in range(2):
        np.testing.assert_array_equal(rows.compute(), ROWS)
    assert rows.dtype == np.float32
    assert sum(COMPUTED) == passes * 20
    assert kept(ROWS, cache) is ROWS


def test_rows_kept_in_memory_share_no_task_with_what_else_is_made_of_the_same_rows(client, tmp_path):
    write_rows(ROWS, tmp_path / "rows.zarr", chunk_rows=5)
    rows = open_rows(tmp_path / "rows.zarr")
    there = kept(rows.rechunk({0: (7, 7, 6)}) + 1, "memory")
    np.testing.assert_array_equal(there.compute(), ROWS + 1)
    known = set(client.cluster.scheduler.tasks)
    assert known >= {(there.name, i, 0) for i in range(3)}
    assert not known & set((rows.rechunk({0: (7, 7, 6)}) * 2).__dask_graph__())


def test_auto_takes_at_most_a_quarter_of_memory(monkeypatch):
    rows = da.from_array(ROWS, chunks=5)
    for memory, is_kept in ((4 * ROWS.nbytes, True), (4 * ROWS.nbytes - 1, False)):
        monkeypatch.setattr(mapping, "memory_limit", lambda memory=memory: memory)
        assert (kept(rows, "auto") is not rows) == is_kept
    assert kept(rows, "memory") is not rows


def test_memory_is_that_of_the_workers_of_the_client_and_given_up_with_the_rows(client, monkeypatch):
    monkeypatch.setattr(mapping, "memory_limit", lambda: 0)
    (worker,) = client.scheduler_info()["workers"].values()
    assert mapping.memory_of_workers() == worker["memory_limit"] > 0
    rows = kept(lazy_rows(), "auto")
    for _ in range(2):
        np.testing.assert_array_equal(rows.compute(), ROWS)
    assert sum(COMPUTED) == 20
    del rows
    until = time.monotonic() + 300
    while client.futures and time.monotonic() < until:
        time.sleep(0.01)  # futures are given up on the client's thread
    assert client.futures == {}
