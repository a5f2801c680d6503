"""Opening inputs: what is found, what is read of it, and what is said about anything else."""

import json
import os
import re
import shutil
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

import dask.array as da
import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from dask.utils import key_split
from fsspec.implementations.memory import MemoryFileSystem
from helpers import Added, in_turns

from mdh_dask._process import LEAST_PYTHON
from mdh_dask.chunks import reduce_rows
from mdh_dask.io import open_features, write_rows
from mdh_dask.io.paths import file_exists
from mdh_dask.io.repositories import fingerprint
from tests.helpers import counted_computes, serving

ROWS = np.random.default_rng(0).normal(size=(100, 3)).astype("float32")


def table_of(rows=ROWS, **more):
    return pa.table(dict(zip("abc", rows.T)) | more)


@pytest.fixture
def folder(tmp_path):
    """The same rows in every format."""
    write_rows(ROWS, tmp_path / "x.zarr", chunk_rows=20)
    np.save(tmp_path / "x.npy", ROWS)
    pq.write_table(table_of(), tmp_path / "x.parquet", row_group_size=30)
    (tmp_path / "parts").mkdir()
    for i, start in ((2, 0), (10, 60)):
        pq.write_table(table_of(ROWS[start : start + 60][: 60 if i == 2 else 40]), tmp_path / f"parts/part.{i}.parquet")
    (tmp_path / "parts/_SUCCESS").touch()
    (tmp_path / "parts/_metadata.parquet").write_text("none of the table")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "form"),
    in_turns(
        ["x.zarr", "x.npy", "x.parquet", "parts", "parts/", "parts/*.parquet"],
        [str, Path, lambda path: f"file://{path}"],
    ),
)
def test_the_same_rows_are_read_from_every_format_and_form_of_path(folder, name, form):
    rows, names = open_features(form(f"{folder}/{name}"))
    assert isinstance(rows, da.Array)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, ROWS)
    assert names == (None if name in ("x.zarr", "x.npy") else ("a", "b", "c"))


@pytest.mark.parametrize("name", ["x.zarr", "x.npy", "x.parquet"])
def test_tasks_that_read_have_a_name_of_the_package_in_the_dashboard(folder, name):
    assert key_split(open_features(folder / name).rows.name) == "mdh-rows"


@pytest.mark.parametrize("name", ["x.zarr", "x.npy", "parts", "x.csv"])
@pytest.mark.parametrize("size", [0, -1, "0 B"])
def test_blocks_without_bytes_are_refused(folder, name, size):
    (folder / "x.csv").write_text("a\n1\n2\n")
    with pytest.raises(ValueError, match="block_bytes must be positive; got"):
        open_features(folder / name, block_bytes=size)


def test_linked_folders_of_a_table_belong_to_it_once(folder):
    (folder / "far/day=2").mkdir(parents=True)
    (folder / "parts").rename(folder / "far/day=1")
    pq.write_table(table_of(), folder / "far/day=2/X.PARQUET")
    (folder / "t").mkdir()
    for day in (1, 2):
        (folder / f"t/day={day}").symlink_to(folder / f"far/day={day}")
    (folder / "far/day=2/again=1").symlink_to(folder / "far/day=2")
    (folder / "t/old").symlink_to(folder / "far/day=1")  # another table
    np.testing.assert_array_equal(open_features(folder / "t").rows, np.concatenate([ROWS, ROWS]))


def test_the_mark_of_a_folder_that_an_object_store_lists_is_no_file_of_its_table(folder, monkeypatch):
    def find(self, path, find=MemoryFileSystem.find, **options):
        return {f"{path}/": {"name": f"{path}/", "size": 0, "type": "file"}, **find(self, path, **options)}

    monkeypatch.setattr(MemoryFileSystem, "find", find)
    fsspec.filesystem("memory").put(f"{folder}/x.parquet", "/marked/x.parquet")
    np.testing.assert_array_equal(open_features("memory://marked").rows, ROWS)


@pytest.mark.parametrize("pattern", ["t/day=*", "t/*", "t/*/*", "t/*.parquet"])
def test_patterns_match_files_and_folders_of_tables(folder, pattern):
    (folder / "t").mkdir()
    (folder / "parts").rename(folder / ("t/day=1" if "parquet" not in pattern else "t/day.parquet"))
    (folder / "t/notes").mkdir()
    np.testing.assert_array_equal(open_features(folder / pattern).rows, ROWS)


@pytest.mark.parametrize(("name", "columns"), [("x.zarr", ["2", 0]), ("x.npy", [2, "0"]), ("parts", ["c", "a"])])
def test_columns_come_in_the_order_in_which_they_are_named(folder, name, columns):
    np.testing.assert_array_equal(open_features(folder / name, columns).rows, ROWS[:, [2, 0]])


@pytest.mark.parametrize(("name", "least", "most"), [("x.npy", 10, 10), ("x.parquet", 10, 30), ("x.zarr", 20, 20)])
def test_blocks_are_about_as_large_as_asked_for_and_chunk_sizes_are_known(folder, name, least, most):
    rows = open_features(folder / name, block_bytes=120).rows
    assert all(least <= n <= most for n in rows.chunks[0])


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
def test_opening_reads_no_row_and_a_pass_reads_every_block_in_the_task_that_needs_it(folder, name):
    with counted_computes() as computes:
        rows = open_features(folder / name, block_bytes=120).rows
        assert not computes
        assert reduce_rows(Added(lambda block: block.sum(dtype=float)), rows) == pytest.approx(ROWS.sum(dtype=float))
    (ran,) = computes
    n = rows.numblocks[0]
    assert len(ran) <= 2 * n + 5


@pytest.mark.parametrize(("dtype", "order"), in_turns(["?", "u1", ">i2", "<i8", "f2", ">f4", "f8"], "CF"))
def test_npy_files_of_any_numbers_in_either_order_are_read(tmp_path, dtype, order):
    rows = np.asarray(np.arange(12).reshape(6, 2), dtype, order=order)
    np.save(tmp_path / "x.npy", rows)
    opened = open_features(tmp_path / "x.npy", block_bytes=4).rows
    assert opened.dtype == rows.dtype
    np.testing.assert_array_equal(opened, rows)


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"a": pa.array([1, 2], pa.uint8()), "b": pa.array([3, 4], pa.uint8())}, "uint8"),
        ({"a": pa.array([1, 2], pa.uint8()), "b": pa.array([3, 4], pa.float32())}, "float32"),
        ({"a": pa.array([1, 2], pa.int64()), "b": pa.array([3, 4], pa.float32())}, "float64"),
        ({"a": pa.array([True, False]), "b": pa.array([3, 4], pa.int8())}, "int8"),
        ({"a": pa.array([True, False]), "b": pa.array([False, False])}, "bool"),
        ({"a": pa.array([1, None], pa.int8()), "b": pa.array([True, None])}, "float32"),
        ({"a": pa.array([1, None], pa.int64())}, "float64"),
        ({"a": pa.array([1.5, None], pa.float32())}, "float32"),
        ({"a": pa.array([1, 2], pa.uint64()), "b": pa.array([3, -4], pa.int64())}, "int64"),
        ({"a": pa.array([1, 2], pa.uint64()), "b": pa.array([3, -4], pa.int8())}, "int64"),
        ({"a": pa.array([1, 2], pa.uint64()), "b": pa.array([3, 4], pa.float32())}, "float64"),
    ],
)
def test_a_table_has_the_dtype_that_holds_all_its_columns_and_nan_for_what_is_missing(tmp_path, columns, dtype):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    rows = open_features(tmp_path / "x.parquet").rows
    assert rows.dtype == dtype
    expected = np.array([[np.nan if v is None else float(v) for v in c.to_pylist()] for c in columns.values()]).T
    np.testing.assert_array_equal(rows.compute().astype(float), expected)


BIG = 2**53 + 1


@pytest.mark.parametrize(
    ("columns", "dtype", "name", "value"),
    [
        ({"a": pa.array([2**63], pa.uint64()), "b": pa.array([1], pa.int8())}, "int64", "a", 2**63),
        ({"a": pa.array([1, None]), "b": pa.array([BIG, 2])}, "float64", "b", BIG),
        ({"a": pa.array([-BIG, None])}, "float64", "a", -BIG),
        ({"a": pa.array([1, None], pa.int16()), "b": pa.array([BIG, None], pa.uint64())}, "float64", "b", BIG),
    ],
)
def test_integers_that_the_common_dtype_does_not_hold_are_named(tmp_path, columns, dtype, name, value):
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    rows = open_features(tmp_path / "x.parquet").rows
    assert rows.dtype == dtype
    message = (
        f"expected integers that {dtype}, the common dtype of all columns, represents exactly; got {value} in "
        f"column {name} of {tmp_path}/x.parquet: leave it out with columns=..., or store it as float64"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rows.compute()


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_a_page_that_has_not_its_checksum_is_refused_by_file_and_row_group(tmp_path, compression):
    rows = np.arange(900.0)
    pq.write_table(
        pa.table({"a": rows}), tmp_path / "x.parquet", row_group_size=300, compression=compression,
        write_page_checksum=True, use_dictionary=False,
    )  # fmt: skip
    content = bytearray((tmp_path / "x.parquet").read_bytes())
    second = pq.read_metadata(tmp_path / "x.parquet").row_group(1).column(0)
    content[second.data_page_offset + second.total_compressed_size - 10] ^= 1  # one bit of its numbers
    (tmp_path / "x.parquet").write_bytes(content)
    opened = open_features(tmp_path / "x.parquet", block_bytes=2400).rows
    np.testing.assert_array_equal(opened[:300, 0].compute(), rows[:300])
    with pytest.raises(ValueError, match=rf"^{tmp_path}/x.parquet is damaged: its row group 1 cannot be read \(.*"):
        opened[300:600].compute()


def test_the_index_of_pandas_is_no_column_unless_it_is_named(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0], "id": [7, 8]})
    told = json.dumps({"index_columns": ["id", {"kind": "range"}], "columns": []})
    pq.write_table(table.replace_schema_metadata({"pandas": told}), tmp_path / "x.parquet")
    assert open_features(tmp_path / "x.parquet").names == ("a", "b")
    assert open_features(tmp_path / "x.parquet", ["id", "b"]).rows.compute().tolist() == [[7, 3], [8, 4]]


def test_a_table_in_folders_of_partitions_is_one_and_other_folders_are_not_of_it(tmp_path):
    for day in ("day=2", "day=10", "other", ".hidden"):
        (tmp_path / day).mkdir()
        pq.write_table(table_of(ROWS[:20] + len(day)), tmp_path / day / "0.parquet")
    np.testing.assert_array_equal(open_features(tmp_path).rows, np.concatenate([ROWS[:20] + 5, ROWS[:20] + 6]))


# Errors, to the word


def cut_short(folder):
    content = (folder / "x.npy").read_bytes()
    (folder / "cut.npy").write_bytes(content[:-100])


def damaged(folder):
    (folder / "parts/part.3.parquet").write_bytes(b"PAR1 and then something else")


def other_columns(folder):
    pq.write_table(pa.table({"a": [1.0], "c": [1.0]}), folder / "parts/part.3.parquet")


def other_types(folder):
    pq.write_table(pa.table({"a": [1.0], "b": ["x"], "c": [1.0]}), folder / "parts/part.3.parquet")


def strings(folder):
    table = table_of(ROWS[:2], name=["x", "y"], day=pa.array([0, 1], pa.timestamp("ms")))
    pq.write_table(table, folder / "s.parquet")
    pq.write_table(table.select(["name"]), folder / "names.parquet")


def empties(folder):
    pq.write_table(table_of(ROWS[:0]), folder / "none.parquet")
    pq.write_table(pa.table({}), folder / "nothing.parquet")
    np.save(folder / "none.npy", ROWS[:0])
    np.save(folder / "line.npy", ROWS[0])


def odd_npy(folder):
    np.save(folder / "objects.npy", np.array([["a", 1]], dtype=object), allow_pickle=True)
    np.save(folder / "fields.npy", np.zeros(3, dtype=[("a", "f4")]))
    np.save(folder / "complex.npy", ROWS * 1j)
    (folder / "text.npy").write_text("1,2,3")
    np.save(folder / "negative.npy", ROWS)
    content = (folder / "negative.npy").read_bytes()
    (folder / "negative.npy").write_bytes(content.replace(b"(100, 3), ", b"(-10, 3), "))


def nothing(folder):
    (folder / "empty").mkdir()
    (folder / "text.txt").write_text("1,2,3")
    zarr.create_group(folder / "group.zarr").create_array("features", data=ROWS)


def odd_zarr(folder):
    write_rows(ROWS[:, 0], folder / "line.zarr")
    write_rows(ROWS * 1j, folder / "complex.zarr")
    zarr.create_array(folder / "boxes.zarr", shape=(100, 3, 9), dtype="f4")
    zarr.create_array(folder / "none.zarr", shape=(0, 3), dtype="f4")
    zarr.create_array(folder / "holes.zarr", shape=(100, 3), chunks=(10, 3), dtype="f4")[:70] = 1
    shutil.copytree(folder / "x.zarr", folder / "broken.zarr")
    (folder / "broken.zarr/zarr.json").write_text("{")
    shutil.copytree(folder / "x.zarr", folder / "lost.zarr")
    (folder / "lost.zarr/c/3/0").unlink()
    array = zarr.open_array(folder / "x.zarr", mode="r+")
    array.update_attributes({"mdh_dask": {"complete": False}})
    write_rows(ROWS, folder / "shards.zarr", chunk_rows=10, shard_rows=50)
    (folder / "shards.zarr/c/1/0").unlink()


ERRORS = {
    "no zarr": (nothing, "no.zarr", None, FileNotFoundError),
    "no npy": (nothing, "no.npy", None, FileNotFoundError),
    "no parquet": (nothing, "no.parquet", None, FileNotFoundError),
    "no parts": (nothing, "no*", None, FileNotFoundError),
    "empty folder": (nothing, "empty", None, ValueError),
    "text": (nothing, "text.txt", None, ValueError),
    "group": (nothing, "group.zarr", None, ValueError),
    "protocol": (nothing, "odd://x", None, ValueError),
    "cut npy": (cut_short, "cut.npy", None, ValueError),
    "text as npy": (odd_npy, "text.npy", None, ValueError),
    "objects": (odd_npy, "objects.npy", None, ValueError),
    "fields": (odd_npy, "fields.npy", None, ValueError),
    "one dimension": (empties, "line.npy", None, ValueError),
    "no rows in npy": (empties, "none.npy", None, ValueError),
    "a negative number of rows": (odd_npy, "negative.npy", None, ValueError),
    "no rows in a table": (empties, "none.parquet", None, ValueError),
    "no columns": (empties, "nothing.parquet", None, ValueError),
    "columns that are not there": (nothing, "x.parquet", ["a", "z", "y"], ValueError),
    "columns twice": (nothing, "x.parquet", ["a", "b", "a"], ValueError),
    "strings": (strings, "s.parquet", None, ValueError),
    "only strings": (strings, "names.parquet", None, ValueError),
    "damaged part": (damaged, "parts", None, ValueError),
    "part without a column": (other_columns, "parts", None, ValueError),
    "part with strings": (other_types, "parts", None, ValueError),
    "names of an array": (nothing, "x.npy", ["a", "1"], ValueError),
    "number too large": (nothing, "x.zarr", [3], ValueError),
    "number twice": (nothing, "x.npy", [1, 1], ValueError),
    "no numbers": (nothing, "x.npy", [], ValueError),
    "lines of Zarr": (odd_zarr, "line.zarr", None, ValueError),
    "boxes of Zarr": (odd_zarr, "boxes.zarr", None, ValueError),
    "no rows in Zarr": (odd_zarr, "none.zarr", None, ValueError),
    "complex Zarr": (odd_zarr, "complex.zarr", None, ValueError),
    "complex npy": (odd_npy, "complex.npy", None, ValueError),
    "holes": (odd_zarr, "holes.zarr", None, ValueError),
    "lost chunk": (odd_zarr, "lost.zarr", None, ValueError),
    "lost shard": (odd_zarr, "shards.zarr", None, ValueError),
    "incomplete": (odd_zarr, "x.zarr", None, ValueError),
    "broken metadata": (odd_zarr, "broken.zarr", None, ValueError),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_opened_is_told_to_the_word(folder, name, wording):
    make, path, columns, error = ERRORS[name]
    make(folder)
    with pytest.raises(error) as caught:
        open_features(path if "://" in path else f"{folder}/{path}", columns)
    wording({name: str(caught.value)}, folder)


@pytest.mark.parametrize(
    ("module", "place", "message"),
    [
        ("s3fs", "s3://b/x.zarr", '{} cannot be reached, as a package is missing: pip install "mdh_dask[s3]"'),
        ("gcsfs", "gs://b/x.zarr", '{} cannot be reached, as a package is missing: pip install "mdh_dask[gcs]"'),
        (
            "fsspec.implementations.http", "https://b/x.npy",
            "{} cannot be reached, as a package is missing: pip install \"mdh_dask[http]\"",
        ),
        (
            "pyarrow.parquet", "x.parquet",
            'expected the package pyarrow; it is missing: pip install "mdh_dask[parquet]"',
        ),
    ],
)  # fmt: skip
def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, module, place, message):
    known = sys.modules["fsspec.registry"]._registry
    monkeypatch.delitem(known, place.split(":")[0], raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"^{re.escape(message.format(place))}$"):
        open_features(place)


def test_a_missing_package_that_this_python_cannot_install_is_named_with_the_python_that_can(monkeypatch):
    content = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    markers = {
        extra: re.findall(r"python_version >= '(\d+)\.(\d+)'", " ".join(needed))
        for extra, needed in content["project"]["optional-dependencies"].items()
        if extra != "test"
    }
    assert {extra: tuple(map(int, found[0])) for extra, found in markers.items() if found} == LEAST_PYTHON
    monkeypatch.setitem(sys.modules, "icechunk", None)
    monkeypatch.setattr(sys, "version_info", (3, 11, 9))
    with pytest.raises(ImportError, match=r"which needs Python 3\.12 or newer; this is 3\.11: take a newer Python"):
        open_features("icechunk::s3://b/r@main/x")


# Over HTTP


@pytest.fixture
def served(folder):
    """What serves the folder of inputs: a function of whether it does so by ranges."""
    with ExitStack() as servers:
        yield lambda ranges: servers.enter_context(serving(folder, ranges))


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
def test_files_are_read_by_ranges_over_http(served, name):
    url, asked = served(ranges=True)
    rows = open_features(f"{url}/{name}", block_bytes=120).rows
    np.testing.assert_array_equal(rows.compute(scheduler="synchronous"), ROWS)
    if name == "x.npy":
        assert sorted(asked[-10:]) == sorted(f"bytes={128 + i * 120}-{128 + i * 120 + 119}" for i in range(10))


@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.csv"])
def test_rows_of_a_file_on_a_server_have_other_keys_when_it_has_changed(served, folder, name):
    (folder / "x.csv").write_text("a,b\n1,2\n3,4\n")
    url, _ = served(ranges=True)
    keys = []
    for changed in (1000, 1000, 2000):
        os.utime(folder / name, (changed, changed))
        keys.append(open_features(f"{url}/{name}").rows.name)
    assert keys[0] == keys[1] != keys[2]


def test_a_server_that_has_only_whole_files_is_told_of(served, folder):
    np.save(folder / "large.npy", np.zeros((2000, 3)))
    url, _ = served(ranges=False)
    message = (
        f"{url}/large.npy: expected 4096 bytes from byte 0, got 48128: the server does not serve ranges of files, or "
        "the file has changed; copy it here first"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        open_features(f"{url}/large.npy")


def test_columns_one_after_the_other_cannot_be_read_by_ranges(served, folder):
    np.save(folder / "f.npy", np.asfortranarray(ROWS))
    url, _ = served(ranges=True)
    message = (
        f"{url}/f.npy is stored column by column, so that rows cannot be read by ranges: copy it here, or save "
        "numpy.ascontiguousarray of the array"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        open_features(f"{url}/f.npy")


@pytest.mark.parametrize("scheme", ["http", "ftp"])
@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "x.zarr", "x.csv"])
def test_a_server_that_is_not_reached_is_named_with_the_reason(scheme, name):
    url = f"{scheme}://127.0.0.1:9/{name}"
    for opening in (open_features, *[fingerprint] * (name != "x.zarr")):  # of which servers list nothing
        with pytest.raises(
            ConnectionError,
            match=rf"^{url} cannot be reached \(.*\); check the name of the server, or try again later$",
        ):
            opening(url)


def test_a_server_without_credentials_is_named(monkeypatch):
    class NoCredentialsError(Exception):
        """As that of botocore."""

    def refuse(*_):
        raise NoCredentialsError("Unable to locate credentials")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.info", refuse)
    for name in ("x.npy", "x.parquet", "x.csv"):
        with pytest.raises(
            PermissionError, match=rf"^memory://b/{name} cannot be reached \(Unable .*\): give credentials"
        ):
            open_features(f"memory://b/{name}")
    with pytest.raises(PermissionError, match=r"^memory://b/r\.html cannot be reached"):
        file_exists("memory://b/r.html")  # before any work for a report
