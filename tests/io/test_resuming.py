"""Arrays whose writing was interrupted: what is there stays, what is not is written, nothing half-written counts."""

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import Added, Stop, files_of

from mdh_dask.chunks import map_rows
from mdh_dask.io import open_rows, write_rows
from mdh_dask.io.blocks import NOTES

N = 100
LABELS = np.arange(N, dtype="int32") * 7 % 13


def lazy(chunks=10, stop_after=None, computed=None):
    """Labels that note the first rows of the blocks they are computed for."""
    computed = [] if computed is None else computed

    def labels(_, block):
        if len(computed) == stop_after:
            raise Stop
        computed.append(int(block[0]))
        return LABELS[block]

    return map_rows(labels, da.arange(N, chunks=chunks), dtype="int32")


def write(array, path, **options):
    with dask.config.set(scheduler="synchronous"):
        return write_rows(array, path, chunk_rows=10, also=Added(np.sum), resume="job", **options)


@pytest.fixture
def undisturbed(tmp_path):
    path = tmp_path / "undisturbed" / "x.zarr"
    assert write(lazy(), path) == LABELS.sum()
    return files_of(path)


@pytest.fixture
def stopped(tmp_path):
    """The path of an array of which seven of ten blocks were written."""
    path = tmp_path / "x.zarr"
    with pytest.raises(Stop):
        write(lazy(stop_after=7), path)
    return path


def missing_in(path):
    """First rows of the blocks that were not written."""
    return set(range(0, N, 10)) - {int(note.stem) for note in (path / NOTES).iterdir()}


def test_what_was_written_is_not_computed_again(stopped, undisturbed):
    with pytest.raises(ValueError, match="left incomplete by an interrupted write"):
        open_rows(stopped, ndim=1)
    computed, missing = [], missing_in(stopped)
    assert len(missing) == 3
    assert write(lazy(computed=computed), stopped) == LABELS.sum()
    assert set(computed) == missing
    assert files_of(stopped) == undisturbed


@pytest.mark.parametrize("other", [{"resume": "other job"}, {"chunk_rows": 20}])
def test_an_array_of_another_name_or_layout_is_not_gone_on_with(other, stopped):
    options = {"chunk_rows": 10, "resume": "job"} | other
    with pytest.raises(FileExistsError, match="exists: name another output, or replace it with overwrite=True"):
        write_rows(lazy(), stopped, **options)
    computed = []
    with dask.config.set(scheduler="synchronous"):
        write_rows(lazy(computed=computed), stopped, overwrite=True, **options)
    assert len(computed) == 10
    np.testing.assert_array_equal(open_rows(stopped, ndim=1), LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["other bytes", "cut off", "gone", "note cut off", "note gone"])
def test_a_block_that_does_not_hold_what_was_noted_is_written_again(damage, stopped, undisturbed):
    missing = missing_in(stopped)
    note, other = sorted((stopped / NOTES).iterdir())[:2]
    chunk = stopped / "c" / str(int(note.stem) // 10)
    if damage == "other bytes":
        chunk.write_bytes((stopped / "c" / str(int(other.stem) // 10)).read_bytes())
    elif damage == "cut off":
        chunk.write_bytes(chunk.read_bytes()[:-3])
    elif damage == "note cut off":
        note.write_text(note.read_text()[:5])
    else:
        (note if damage == "note gone" else chunk).unlink()
    computed = []
    assert write(lazy(computed=computed), stopped) == LABELS.sum()
    assert set(computed) == missing | {int(note.stem)}
    assert files_of(stopped) == undisturbed


def test_behind_a_url_an_array_is_resumed_too():
    url = "memory://resumed/x.zarr"
    first, second = [], []
    with pytest.raises(Stop):
        write(lazy(stop_after=7, computed=first), url)
    assert write(lazy(computed=second), url) == LABELS.sum()
    assert (len(first), sorted(first + second)) == (7, list(range(0, N, 10)))
    np.testing.assert_array_equal(open_rows(url, ndim=1), LABELS)
