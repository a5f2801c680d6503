"""Folders and files that appear under their name only when they are complete.

`write_whole` is for a file, which a system replaces in one step, and `published` for a folder, which it does not.
Several outputs that appear together, also after an attempt was killed, are staged by `mdh_dask.jobs.staging`.
"""

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from .nodes import wait_for_zarr

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers for a full disk, quota or file."""

HERE, EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def existing(path: str | os.PathLike[str]) -> FileExistsError:
    """Return the error for an output that must not be replaced."""
    return FileExistsError(f"{os.fspath(path)} exists: name another output, or replace it with overwrite=True")


@contextmanager
def published(final: Path, replace: bool) -> Iterator[Path]:
    """Provide a hidden folder beside `final` and rename it to `final` at the end, or remove it after any failure."""
    final.parent.mkdir(parents=True, exist_ok=True)
    growing = final.with_name(f".{final.name}.partial-{uuid4().hex}")
    aside = final.with_name(f".{final.name}.replaced-{uuid4().hex}")
    try:
        yield growing
        if final.exists() and not replace:
            raise FileExistsError(f"{final} appeared while it was being written; choose another path")
        move_into_place(growing, final, aside)
        remove_folder(growing)
        remove_folder(aside)
    except BaseException:
        # An interrupt ends the wait for Zarr's event loop, but not the tasks that run there. A thread that had just
        # seen the folder may begin one more.
        for _ in range(2):
            try:
                wait_for_zarr()
            finally:
                remove_folder(growing)
        if final.exists():
            remove_folder(aside)
        raise


def move_into_place(growing: Path, final: Path, aside: Path) -> None:
    """Rename an output to its final path; what it replaces moves to its old path, or aside if they cannot exchange."""
    if not final.exists():
        growing.rename(final)
    elif not exchange(growing, final):
        try:
            final.rename(aside)
            growing.rename(final)
        except BaseException:
            if not final.exists():
                aside.rename(final)
            raise


def exchange(a: Path, b: Path) -> bool:
    """Exchange two files or folders in one step; return False if the system or file system cannot do that."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    return bool(rename(HERE, os.fsencode(a), HERE, os.fsencode(b), EXCHANGE) == 0)


def remove_folder(folder: Path) -> None:
    """Remove the folder of a Zarr array, its metadata first, so that tasks which still write to it give up."""
    (folder / "zarr.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def naming_place(place: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path or URL being written to the error of a full disk, which does not name it.

    Examples
    --------
    >>> with naming_place("l.zarr"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'l.zarr'
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(place)) from error


def write_whole(file: Path, content: bytes, overwrite: bool = True) -> None:
    """Write a file that appears, or changes, only when all of it is on disk.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    growing = file.with_name(f".{file.name}.partial-{uuid4().hex}")
    try:
        with naming_place(file), growing.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if not overwrite and file.exists():
            raise existing(file)
        growing.replace(file)
    finally:
        growing.unlink(missing_ok=True)
