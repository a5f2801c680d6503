"""Outputs on their way: what is there at each moment, and what is said when something is in the way."""

import errno
import socket

import numpy as np
import pytest

from mdh_dask.io import open_rows, write_rows
from mdh_dask.io.staging import exchange, locked
from mdh_dask.jobs.staging import Staged, StagedUrl
from mdh_dask.jobs.state import Fence, new_attempt


@pytest.fixture
def fence(tmp_path):
    fence = Fence(tmp_path / "attempt.json", new_attempt())
    fence.claim()
    return fence


@pytest.fixture
def place(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def grown(place, values, attempt="b"):
    """An output that is complete where it grows."""
    staged = Staged(place / "l.zarr", attempt)
    staged.resume()
    write_rows(values, staged.path, overwrite=True)
    return staged


def shown(place):
    return open_rows(place / "l.zarr", ndim=1).compute().tolist()


def names(place):
    return sorted(path.name for path in place.iterdir())


def test_an_array_that_was_half_created_or_half_removed_is_not_taken_over(place):
    earlier = grown(place, np.arange(3))
    (earlier.folder / ".0.tif.zarr/c").mkdir(parents=True)
    later = Staged(earlier.final, "c")
    later.resume()
    assert names(later.folder) == ["l.zarr"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_reader_finds_the_older_output_or_the_newer_and_publishing_twice_is_publishing_once(
    can_exchange, place, fence, monkeypatch
):
    monkeypatch.setattr("mdh_dask.io.staging.exchange", exchange if can_exchange else lambda *_: False)
    write_rows(np.zeros(3), place / "l.zarr")
    staged = grown(place, np.ones(3))
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs.staging.shutil.rmtree", lambda *_, **__: None)  # it was killed just before
        staged.publish(True, fence)
    assert shown(place) == [1, 1, 1]
    for _ in range(2):
        staged.publish(True, fence)
        assert shown(place) == [1, 1, 1]
        assert names(place) == ["l.zarr"]


def test_what_an_earlier_job_noted_about_its_output_says_nothing_about_the_next(place, fence, monkeypatch):
    write_rows(np.zeros(3), place / "l.zarr")
    first = grown(place, np.ones(3), "a")
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs.staging.shutil.rmtree", lambda *_, **__: None)
        first.publish(True, fence)
    second = grown(place, np.full(3, 2.0), "b")
    second.publish(True, fence)
    assert shown(place) == [2, 2, 2]
    assert names(place) == ["l.zarr"]


def test_giving_up_removes_what_all_attempts_have_left_and_nothing_else(place):
    for attempt in "abc":
        (place / f".l.zarr.attempt-{attempt}").mkdir()
    for other in ("l.zarr", ".l.zarr.lock", ".m.zarr.attempt-a", ".al.zarr.attempt-a"):
        (place / other).mkdir()
    Staged(place / "l.zarr", "").give_up()
    assert names(place) == [".al.zarr.attempt-a", ".l.zarr.lock", ".m.zarr.attempt-a", "l.zarr"]


def test_other_jobs_leave_nothing_behind_a_url(tmp_path, fence):
    url = f"memory://{tmp_path.name}/l.zarr"
    first, second = (StagedUrl(url, job * 16) for job in "ab")
    write_rows(np.zeros(3), first.path)
    second.resume()
    assert not StagedUrl._store(first.path)[0].exists(first.path)
    write_rows(np.ones(3), second.path)
    second.resume()
    write_rows(np.zeros(9), url)
    with pytest.raises(FileExistsError, match=f"^{url} appeared while it was being written: move it elsewhere$"):
        second.publish(False, fence)
    second.publish(True, fence)
    assert open_rows(url, ndim=1).compute().tolist() == [1, 1, 1]
    second.publish(True, fence)
    fs, final = StagedUrl._store(url)
    assert [name for name in fs.find(final.rpartition("/")[0]) if not name.startswith(final + "/")] == []


def test_a_name_with_the_marks_of_patterns_is_no_pattern(tmp_path):
    url = f"memory://{tmp_path.name}/[ab].zarr"
    other = StagedUrl(f"memory://{tmp_path.name}/a.zarr", "a" * 16)
    write_rows(np.zeros(3), other.path)
    own = StagedUrl(url, "b" * 16)
    write_rows(np.zeros(3), own.path)
    StagedUrl(url, "c" * 16).resume()
    fs = StagedUrl._store(url)[0]
    assert fs.exists(other.path)
    assert not fs.exists(own.path)
    for place in (other.final, url):
        write_rows(np.zeros(3), place)
    write_rows(np.ones(3), url, overwrite=True)
    assert [open_rows(place, ndim=1).compute()[0] for place in (other.final, url)] == [0, 1]


# Locks and fences, to the word


def test_a_file_system_without_locks_is_told_of(tmp_path, monkeypatch, caplog):
    def refused(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refused)
    with locked(tmp_path / "lock", "out/l.zarr"), locked(tmp_path / "lock", "out/l.zarr"):
        pass
    assert f"{tmp_path}: its file system has no locks" in caplog.text


def test_the_attempt_that_took_over_is_named(fence):
    fence.check()
    other = Fence(fence.file, new_attempt())
    other.claim()
    about = f"attempt {other.attempt.id}, process {other.attempt.process} on {socket.gethostname()}"
    with pytest.raises(BlockingIOError, match=f"^the job was taken over by {about}: this attempt publishes nothing$"):
        fence.check()
    for content in ("[]", '{"id": 1}', "{", None):
        fence.file.unlink() if content is None else fence.file.write_text(content)
        with pytest.raises(BlockingIOError, match=r"^the job was taken over by another run: this attempt publishes"):
            fence.check()
