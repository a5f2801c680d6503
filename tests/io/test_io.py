"""Rows in Zarr arrays: exact whatever the chunks, complete or refused, and nothing half-written left behind."""

import asyncio
import concurrent.futures
import errno
import json
import os
import shutil
import threading
import time
import tracemalloc
from decimal import Decimal
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import fsspec
import numpy as np
import pytest
import zarr
from fsspec.implementations.memory import MemoryFileSystem
from helpers import Added, names, noting_reads
from scipy.sparse import csr_array
from zarr.storage import LocalStore

from mdh_dask.io import open_rows, verify_rows, write_rows
from mdh_dask.io.blocks import WriteBlocks
from mdh_dask.io.nodes import count_missing
from mdh_dask.io.npy import open_npy
from mdh_dask.io.openmetrics import write_metrics
from mdh_dask.io.parquet import label_table
from mdh_dask.io.staging import exchange, naming_place, remove_folder
from mdh_dask.io.writing import choose_layout

REPEATS = 5
N, D = 2000, 20
ROWS = np.arange(N * D, dtype=np.float32).reshape(N, D) + 1


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.zarr"


def threads():
    return dask.config.set(scheduler="threads", num_workers=8)


COLUMN_SUMS = Added(partial(np.sum, axis=0, dtype=np.float64))


# --- What da.to_zarr and da.store get wrong ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dask_rows", "chunk_rows", "shard_rows"),
    [
        pytest.param(50, 100, 500, id="dask chunks smaller than the shard"),
        pytest.param(100, 150, None, id="dask chunks misaligned with the chunks"),
        pytest.param(130, 50, 300, id="dask chunks misaligned with the shards"),
        pytest.param((1, 999, 300, 7, 693), 64, None, id="irregular chunks"),
        pytest.param((1, 999, 300, 7, 693), 32, 128, id="irregular chunks, sharded"),
        pytest.param(100, None, None, id="default layout"),
        pytest.param(700, 3000, None, id="one chunk larger than the array"),
    ],
)
def test_writing_with_threads_is_exact_for_any_pair_of_chunkings(path, dask_rows, chunk_rows, shard_rows):
    with threads():
        for _ in range(REPEATS):
            x = da.from_array(ROWS, chunks=(dask_rows, 7))
            write_rows(x, path, overwrite=True, chunk_rows=chunk_rows, shard_rows=shard_rows)
            np.testing.assert_array_equal(zarr.open_array(path, mode="r")[:], ROWS)
            assert verify_rows(path) == []


def test_an_existing_path_is_refused_before_any_work(path):
    write_rows(ROWS, path)
    before = (path / "zarr.json").read_bytes()

    def fail(block):
        raise AssertionError("computed")

    lazy = da.from_array(ROWS, chunks=(100, D)).map_blocks(fail, dtype=np.float32, meta=ROWS[:0])
    with pytest.raises(FileExistsError, match=r"rows.zarr exists: name another output"):
        write_rows(lazy, path)
    assert (path / "zarr.json").read_bytes() == before


def test_overwriting_replaces_an_array_and_leaves_nothing_of_it(path):
    write_rows(ROWS, path, chunk_rows=10)
    write_rows(ROWS[:30], path, overwrite=True, chunk_rows=10)
    assert open_rows(path).shape == (30, D)
    assert len(list((path / "c").iterdir())) == 3
    assert names(path.parent) == ["rows.zarr"]


@pytest.mark.parametrize("opened", [open_rows, da.from_zarr, partial(da.from_zarr, inline_array=True)])
def test_an_array_is_never_written_onto_its_own_input(path, opened):
    write_rows(ROWS, path)
    y = (opened(path) + 1)[::2]
    with pytest.raises(ValueError, match="holds an input of the array"):
        write_rows(y, path, overwrite=True)
    with pytest.raises(ValueError, match="holds an input of the array"):
        write_rows(y, path / "labels")
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS)


def test_a_deleted_chunk_is_refused_by_default_and_filled_on_request(path):
    write_rows(ROWS, path, chunk_rows=100)
    shutil.rmtree(path / "c" / "3")
    with pytest.raises(ValueError, match=r"1 of 20 chunks are missing .* fill value 0.0; they were written, but are"):
        open_rows(path)
    assert not open_rows(path, missing_chunks="fill")[300:400].compute().any()
    assert verify_rows(path) == [(0, N)]


@pytest.mark.parametrize("fill", ["error", "fill"])
def test_the_memory_to_open_an_array_goes_by_what_is_stored_and_not_by_what_it_claims(path, fill):
    z = zarr.create_array(path, shape=(300_000, 1), chunks=(1, 1), dtype="u1")
    z[0] = 1
    tracemalloc.start()
    try:
        assert count_missing(z) == (299_999, 300_000)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()
    metadata = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps(metadata | {"shape": [10**18, 1]}))
    message = (
        f"{10**18 - 1} of {10**18} chunks are missing" if fill == "error" else "expected at most 10,000,000 blocks"
    )
    with pytest.raises(ValueError, match=message):
        open_rows(path, missing_chunks=fill)


def test_unknown_chunk_sizes_are_refused_with_the_remedy(path):
    x = da.from_array(ROWS, chunks=(100, D))
    with pytest.raises(ValueError, match=r"call compute_chunk_sizes\(\) on it first"):
        write_rows(x[x[:, 0] > 50], path)
    y = x[x[:, 0] > 50]
    y.compute_chunk_sizes()
    write_rows(y, path)
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS[ROWS[:, 0] > 50])


# --- Interrupted writes ---


def failing_at(row, error):
    def block_or_error(block):
        if block[0, 0] == ROWS[row, 0]:
            raise error
        time.sleep(0.01)
        return block

    return da.from_array(ROWS, chunks=(100, D)).map_blocks(block_or_error, dtype=np.float32, meta=ROWS[:0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "error", "row"),
    [
        ("synchronous", RuntimeError("stop"), 0),
        ("threads", KeyboardInterrupt(), 700),
        ("synchronous", KeyboardInterrupt(), 1900),
        ("threads", RuntimeError("stop"), 1900),
    ],
)
def test_an_interrupted_write_leaves_nothing(tmp_path, scheduler, error, row):
    with dask.config.set(scheduler=scheduler), pytest.raises(type(error)):
        write_rows(failing_at(row, error), tmp_path / "new.zarr", chunk_rows=100)
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt()])
def test_an_interrupted_overwrite_leaves_the_older_array_as_it_was(path, error):
    write_rows(ROWS, path)
    with threads(), pytest.raises(type(error)):
        write_rows(failing_at(700, error), path, overwrite=True, chunk_rows=100)
    assert names(path.parent) == ["rows.zarr"]
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS)
    assert verify_rows(path) == []


@pytest.mark.parametrize("done", [False, True])
def test_an_interrupt_while_the_folders_are_exchanged_leaves_one_array_and_nothing_else(path, monkeypatch, done):
    def interrupted(a, b):
        if done:
            assert exchange(a, b)
        raise KeyboardInterrupt

    write_rows(ROWS, path)
    monkeypatch.setattr("mdh_dask.io.staging.exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_rows(ROWS + 1, path, overwrite=True)
    assert names(path.parent) == ["rows.zarr"]
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS + done)


def test_where_folders_cannot_be_exchanged_an_interrupt_between_both_renames_brings_the_older_array_back(
    path, monkeypatch
):
    def interrupted(self, target, rename=Path.rename):
        if ".partial-" in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    write_rows(ROWS, path)
    monkeypatch.setattr("mdh_dask.io.staging.exchange", lambda *_: False)
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_rows(ROWS + 1, path, overwrite=True)
    assert names(path.parent) == ["rows.zarr"]
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS)


def test_an_interrupt_while_zarr_still_writes_leaves_nothing(tmp_path, monkeypatch):
    set_at_once, wait = LocalStore.set, concurrent.futures.wait
    writing = threading.Event()

    async def set_slowly(self, key, value):
        writing.set()
        await asyncio.sleep(0.2)
        await set_at_once(self, key, value)

    def wait_or_interrupt(futures, **options):
        wait(futures, timeout=0.1)
        if writing.is_set():
            patch.setattr("zarr.core.sync.wait", wait)
            raise KeyboardInterrupt
        return wait(futures, **options)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "set", set_slowly)
        patch.setattr("zarr.core.sync.wait", wait_or_interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_rows(ROWS, tmp_path / "new.zarr")
        assert writing.is_set()
        time.sleep(0.3)
    assert os.listdir(tmp_path) == []


def test_a_task_that_outlives_the_failure_removes_what_it_wrote(path):
    z = zarr.create_array(path, shape=ROWS.shape, chunks=(100, D), dtype="f4")

    class Late:
        shape, dtype, shards, chunks = z.shape, z.dtype, z.shards, z.chunks

        def __setitem__(self, rows, block):
            shutil.rmtree(path)
            z[rows] = block

    assert WriteBlocks(Late(), path).chunk(0, ROWS[:100])
    assert not path.exists()
    with pytest.raises(FileNotFoundError, match="does not share the file system"):
        WriteBlocks(z, path).chunk(0, ROWS[:100])
    assert not path.exists()


def test_metadata_are_removed_first_so_that_tasks_which_still_write_give_up(path, monkeypatch):
    write_rows(ROWS, path)
    monkeypatch.setattr("mdh_dask.io.staging.shutil.rmtree", lambda *_, **__: left.extend(path.rglob("zarr.json")))
    left = []
    remove_folder(path)
    assert left == []
    assert (path / "c").exists()


def test_an_array_that_appears_meanwhile_is_not_replaced(path):
    def write_the_same(block):
        if not path.exists():
            zarr.create_array(path, shape=(3, 2), dtype="f4")
        return block

    x = da.from_array(ROWS, chunks=(N, D)).map_blocks(write_the_same, dtype=np.float32, meta=ROWS[:0])
    with dask.config.set(scheduler="synchronous"), pytest.raises(FileExistsError, match="appeared while"):
        write_rows(x, path)
    assert names(path.parent) == ["rows.zarr"]
    assert zarr.open_array(path).shape == (3, 2)


def test_a_full_disk_is_named_by_the_output_unless_the_error_names_another_place():
    for given, named in ((None, "out"), ("elsewhere", "elsewhere")):
        with pytest.raises(OSError, match="full") as caught, naming_place("out"):
            raise OSError(errno.ENOSPC, "full", given)
        assert caught.value.filename == named


# --- Blocks that are not what their array declares ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda block: block[:-1], ValueError, r"end at row .* call compute_chunk_sizes"),
        (lambda block: block[:, :1], ValueError, r"columns \(20,\), as the Dask array declares; got .* \(100, 1\)"),
        (lambda block: block.astype(np.float64), ValueError, "expected blocks of float32 .* got a block of float64"),
        (lambda block: np.ma.masked_less(block, 50), TypeError, "masked array"),
    ],
)
def test_blocks_that_contradict_the_declaration_are_refused(path, wrong, error, message):
    x = da.from_array(ROWS, chunks=(100, D)).map_blocks(wrong, dtype=np.float32, meta=ROWS[:0])
    with dask.config.set(scheduler="synchronous"), pytest.raises(error, match=message):
        write_rows(x, path, chunk_rows=100)
    assert names(path.parent) == []


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.zeros((2, 2, 2)), ValueError, r"one or two dimensions, got shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), ValueError, "at least one row and one column"),
        (csr_array(np.eye(2)), TypeError, "got sparse rows: store them by scipy.sparse.save_npz"),
        (np.array(["a", "b"]), TypeError, "expected booleans or numbers, got dtype <U1"),
        (np.array([None, 1]), TypeError, "got dtype object"),
        (np.ma.masked_array([1, 2], [True, False]), TypeError, "without a mask"),
        (zarr.zeros((2, 2)), TypeError, "open it with open_rows"),
    ],
)
def test_arrays_that_cannot_be_written_are_refused(path, array, error, message):
    with pytest.raises(error, match=message):
        write_rows(array, path)
    assert not path.exists()


def test_only_zarr_arrays_are_overwritten(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    zarr.create_group(tmp_path / "group.zarr")
    for name in ("notes", "notes/thesis.txt", "group.zarr"):
        with pytest.raises(FileExistsError, match=f"{name} is not a Zarr array, and nothing else is replaced"):
            write_rows(ROWS, tmp_path / name, overwrite=True)
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "years of work"


# --- Round trips ---


@pytest.mark.parametrize("rows", [1, 100, 10**5, 10**6, 10**7])
def test_default_chunks_hold_1_to_64_mib_and_fit_the_dask_chunks(rows):
    x = (
        da.zeros((10**8, 50), chunks=(rows, 50), dtype=np.float32)
        if rows >= 100
        else da.zeros((50, 50), chunks=(1, 50))
    )
    chunk = choose_layout(x)["chunks"][0]
    assert chunk == len(x) or 2**20 <= chunk * 200 <= 2**26
    assert chunk == len(x) or chunk % rows == 0 or rows % chunk == 0


@pytest.mark.slow
@pytest.mark.cluster
def test_a_cluster_writes_what_one_process_writes_and_cleans_up_after_errors(path, client_of_processes):
    x = da.from_array(ROWS, chunks=(130, D))
    sums = write_rows(x, path, chunk_rows=50, shard_rows=500, also=COLUMN_SUMS)
    np.testing.assert_array_equal(sums, ROWS.sum(axis=0, dtype=np.float64))
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS)
    assert verify_rows(path) == []
    with pytest.raises(RuntimeError, match="stop"):
        write_rows(failing_at(700, RuntimeError("stop")), path, overwrite=True, chunk_rows=100)
    assert names(path.parent) == ["rows.zarr"]
    np.testing.assert_array_equal(open_rows(path).compute(), ROWS)


@pytest.mark.parametrize("lazy", [True, False])
def test_a_statistic_is_computed_in_the_same_pass(path, lazy):
    x, passes = noting_reads(da.from_array(ROWS, chunks=(130, D))) if lazy else (ROWS, [])
    with dask.config.set(scheduler="synchronous"):
        sums = write_rows(x, path, chunk_rows=100, also=COLUMN_SUMS)
    np.testing.assert_array_equal(sums, ROWS.sum(axis=0, dtype=np.float64))
    assert sum(passes) == (N if lazy else 0)
    assert write_rows(x, path, overwrite=True) is None


def test_the_attributes_are_kept_beside_the_mark_of_completion(path):
    write_rows(ROWS, path, attributes={"crs": "EPSG:4326"})
    attributes = zarr.open_array(path, mode="r").attrs
    assert attributes["crs"] == "EPSG:4326"
    assert attributes["mdh_dask"]["complete"] is True


# --- Opening ---


def test_a_chunk_that_does_not_fit_in_memory_is_refused_before_it_is_decoded(path, monkeypatch):
    zarr.create_array(path, shape=(2**20, 300), chunks=(2**18, 300), dtype="f4")
    for i in range(4):
        (path / "c" / str(i)).mkdir(parents=True)
        (path / "c" / str(i) / "0").write_bytes(b"bomb")
    monkeypatch.setattr("mdh_dask._process.memory_limit", lambda: 943_718_399)
    with pytest.raises(ValueError, match=r"reading chunks of shape \(262144, 300\), 3 times in memory at once, takes"):
        open_rows(path)[:1].compute()
    monkeypatch.setattr("mdh_dask._process.memory_limit", lambda: 943_718_400)
    with pytest.raises(ValueError, match="cannot be decoded"):
        open_rows(path)[:1].compute()


@pytest.mark.parametrize("form", [str, lambda p: p, lambda p: f"file://{p}", lambda p: zarr.open_array(p)])
def test_paths_urls_and_zarr_arrays_are_opened_alike(path, form):
    write_rows(ROWS, path)
    np.testing.assert_array_equal(open_rows(form(path)).compute(), ROWS)


def test_what_is_not_an_array_of_rows_is_named_with_the_remedy(tmp_path):
    """Most of it is tested word for word in test_inputs.py."""
    group = zarr.create_group(tmp_path / "store.zarr")
    with pytest.raises(ValueError, match=r"is a Zarr group of 0 arrays .* there is nothing to read"):
        open_rows(tmp_path / "store.zarr")
    group.create_array("features", data=np.ones((2, 2), dtype="f4"))
    with pytest.raises(ValueError, match=r"expected 1 dimension, got an array of shape \(2, 2\)"):
        open_rows(tmp_path / "store.zarr/features", ndim=1)
    for wrong in ({"missing_chunks": "ignore"}, {"block_bytes": 0}):
        with pytest.raises(ValueError, match="must be"):
            open_rows(tmp_path / "store.zarr/features", **wrong)


# --- Checksums ---


def test_damage_is_found_where_it_is(path):
    with dask.config.set(scheduler="synchronous"):
        write_rows(da.from_array(ROWS, chunks=(100, D)), path, chunk_rows=100)
        zarr.open_array(path, mode="r+")[512, 3] += 1
        (path / "c" / "9" / "0").write_bytes(b"not zstd")
        assert verify_rows(path) == [(500, 600), (900, 1000)]


# --- URLs: no renaming, so the mark alone says what is complete ---


class Bucket(MemoryFileSystem):
    """An object store: no folders, no renaming."""

    protocol = "bucket"


def test_a_url_holds_a_marked_array_until_it_is_complete():
    fsspec.register_implementation("bucket", Bucket, clobber=True)
    url = "bucket://data/x.zarr"
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(RuntimeError, match="stop"):
            write_rows(failing_at(700, RuntimeError("stop")), url, chunk_rows=100)
        with pytest.raises(ValueError, match=r"left incomplete by an interrupted write: .* overwrite=True"):
            open_rows(url, missing_chunks="fill")
        with pytest.raises(FileExistsError, match="replace it with overwrite=True"):
            write_rows(ROWS, url)
        write_rows(da.from_array(ROWS, chunks=(130, D)), url, overwrite=True, chunk_rows=50, shard_rows=200)
        np.testing.assert_array_equal(open_rows(url).compute(), ROWS)
        assert verify_rows(url) == []
        with pytest.raises(ValueError, match="holds an input of the array"):
            write_rows(open_rows(url) + 1, url, overwrite=True)
        with pytest.raises(FileNotFoundError, match="no Zarr array at bucket://"):
            open_rows(url + "x")
    with pytest.raises(FileExistsError, match="exists"):
        write_rows(ROWS, url)


@pytest.mark.parametrize(
    ("of_rows", "kind"),
    [
        ([1, 2**63 + 5, 7], "uint64"),
        ([None, "b", "c"], "string"),
        ([Decimal("1.5"), Decimal("100.25"), None], "decimal"),
        ([None, None, None], "null"),
    ],
    ids=["large", "missing first", "wider later", "all missing"],
)
def test_names_of_rows_beside_labels_have_the_type_of_their_column(tmp_path, of_rows, kind):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = da.from_array(np.array(of_rows, dtype=object), chunks=1)
    own = pa.decimal128(9, 2) if kind == "decimal" else getattr(pa, kind)()
    with label_table(str(tmp_path / "l.parquet"), False, ids, "id", own) as array:
        write_rows(np.array([0, 1, 1]), array)
    table = parquet.read_table(tmp_path / "l.parquet")
    assert table.to_pydict() == {"id": of_rows, "label": [0, 1, 1]}
    assert table.schema.field("id").type == ("string" if kind == "null" else own)


def test_rows_in_memory_are_written_beside_lazy_ones(tmp_path):
    rows, lazy = np.arange(20.0).reshape(10, 2), da.ones(10, chunks=3)
    told = write_rows(rows, tmp_path / "x.zarr", beside=lazy, also=Added(lambda own, beside: beside @ own))
    np.testing.assert_array_equal(told, rows.sum(axis=0))
    np.testing.assert_array_equal(open_rows(tmp_path / "x.zarr").compute(), rows)


def test_a_tilde_is_the_home_folder_of_who_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_rows(ROWS, "~/x.zarr")
    assert (tmp_path / "x.zarr").is_dir()
    np.save(tmp_path / "y.npy", np.ones((5, 1)))
    assert open_rows("~/x.zarr").shape == ROWS.shape
    assert open_npy("~/y.npy").shape == (5, 1)


def test_a_password_in_the_url_of_a_gateway_is_in_no_error():
    with pytest.raises(OSError, match="metrics were not pushed to ") as raised:
        write_metrics("http://user:secret@127.0.0.1/metrics/job/x", "# EOF\n")
    assert "secret" not in f"{raised.value}{raised.value.__cause__}"
