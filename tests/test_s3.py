"""Reading and writing on an object store: a real S3 server, with the environment as its only configuration."""

import dask
import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3fs
from botocore.exceptions import NoCredentialsError
from click.testing import CliRunner

from mdh_dask import RandomProjectionTree, load_model
from mdh_dask.cli import exits, mdh
from mdh_dask.io import open_features, open_rows, verify_rows, write_rows
from tests.s3 import ENVIRONMENT, s3_server

THREADS = ("--scheduler", "threads")


def rows_of_blobs(n=900, d=3):
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, d)).astype("float32") + 9 * y[:, None].astype("float32")


ROWS = rows_of_blobs()


@pytest.fixture(scope="module")
def server():
    with s3_server() as address, pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": address}).items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield address
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(server, request):
    """The URL of an empty bucket, and the file system."""
    fs = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    name = f"bucket-{abs(hash(request.node.name))}"
    fs.mkdir(name)
    return f"s3://{name}", fs


def run(*args):
    return CliRunner().invoke(mdh, [str(arg) for arg in args], prog_name="mdh-dask")


def test_the_same_rows_are_read_from_every_format(bucket):
    url, fs = bucket
    write_rows(ROWS, f"{url}/x.zarr", chunk_rows=200)
    with fs.open(f"{url}/x.npy", "wb") as file:
        np.save(file, ROWS)
    for i in range(3):
        with fs.open(f"{url}/parts/part.{i}.parquet", "wb") as file:
            pq.write_table(pa.table(dict(zip("abc", ROWS[300 * i : 300 * (i + 1)].T))), file, row_group_size=100)
    for name in ("x.zarr", "x.npy", "parts", "parts/*.parquet"):
        rows = open_features(f"{url}/{name}", block_bytes=1200).rows
        assert rows.numblocks[0] > 4
        np.testing.assert_array_equal(rows, ROWS)
    assert open_features(f"{url}/parts", ["c", "a"]).names == ("c", "a")


def test_fit_and_predict_read_and_write_there(bucket):
    url, _ = bucket
    write_rows(ROWS, f"{url}/x.zarr", chunk_rows=200)
    result = run(
        "fit", f"{url}/x.zarr", "--out", f"{url}/l.zarr", "--model", f"{url}/m.zarr", "--n-projections", 20, *THREADS
    )
    assert result.exit_code == 0, result.output
    expected = RandomProjectionTree(n_projections=20).fit(ROWS).labels_
    np.testing.assert_array_equal(open_rows(f"{url}/l.zarr", ndim=1), expected)
    assert verify_rows(f"{url}/l.zarr") == []
    assert load_model(f"{url}/m.zarr").n_clusters_ == 3
    result = run("predict", f"{url}/x.zarr", "--model", f"{url}/m.zarr", "--out", f"{url}/again.zarr", *THREADS)
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(open_rows(f"{url}/again.zarr", ndim=1), expected)


def test_outputs_that_exist_there_are_refused(bucket):
    url, _ = bucket
    write_rows(ROWS, f"{url}/x.zarr")
    for _ in range(2):
        result = run("fit", f"{url}/x.zarr", "--out", f"{url}/l.zarr", "--n-projections", 20, *THREADS)
    assert result.exit_code == exits.CANNOT_CREATE
    assert f"{url}/l.zarr exists: name another output, or replace it with --overwrite" in result.stderr


def test_what_an_interrupted_write_left_there_is_refused(bucket):
    def fail(block, block_info=None):
        if block_info and block_info[0]["chunk-location"][0] == 3:
            raise KeyboardInterrupt
        return block

    url, fs = bucket
    lazy = da.from_array(ROWS, chunks=(200, 3)).map_blocks(fail, dtype="float32", meta=ROWS[:0])
    with pytest.raises(KeyboardInterrupt), dask.config.set(scheduler="synchronous"):
        write_rows(lazy, f"{url}/x.zarr", chunk_rows=200)
    assert fs.exists(f"{url}/x.zarr/zarr.json")
    with pytest.raises(ValueError, match=r"x.zarr was left incomplete by an interrupted write"):
        open_features(f"{url}/x.zarr")
    result = run("fit", f"{url}/x.zarr", "--out", f"{url}/l.zarr", *THREADS)
    assert result.exit_code == exits.BAD_DATA
    write_rows(ROWS, f"{url}/x.zarr", overwrite=True)
    np.testing.assert_array_equal(open_features(f"{url}/x.zarr").rows, ROWS)


def test_an_object_that_was_lost_is_missed(bucket):
    url, fs = bucket
    write_rows(ROWS, f"{url}/x.zarr", chunk_rows=200)
    fs.rm(f"{url}/x.zarr/c/2/0")
    with pytest.raises(ValueError, match="1 of 5 chunks are missing"):
        open_features(f"{url}/x.zarr")


@pytest.mark.parametrize(("name", "message"), [
    ("no.zarr", "there is no Zarr array at {}; check the path"),
    ("no.npy", "there is no file at {}; check the path"),
    ("no.parquet", "there are no Parquet files at {}; check the path"),
])  # fmt: skip
def test_what_is_not_there_is_missed(bucket, name, message):
    url, _ = bucket
    with pytest.raises(FileNotFoundError, match=f"^{message.format(f'{url}/{name}')}$"):
        open_features(f"{url}/{name}")
    result = run("fit", f"{url}/{name}", "--out", f"{url}/l.zarr", *THREADS)
    assert result.exit_code == exits.NO_INPUT


@pytest.mark.parametrize("name", ["x.zarr", "x.npy", "x.parquet"])
def test_a_server_that_is_not_there_may_be_there_later(server, monkeypatch, name):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    result = run("fit", f"s3://bucket/{name}", "--out", "l.zarr", *THREADS)
    s3fs.S3FileSystem.clear_instance_cache()
    assert result.exit_code == exits.TRY_AGAIN, result.output
    assert len(result.stderr.splitlines()) == 1


def test_without_credentials_there_is_no_permission():
    assert exits.exit_code(NoCredentialsError()) == exits.NOT_PERMITTED
