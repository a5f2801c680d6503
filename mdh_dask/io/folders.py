"""Folders and files that appear under their name only when they are complete."""

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from .nodes import wait_for_zarr

HERE, EXCHANGE = -100, 2
"""What Linux calls AT_FDCWD and RENAME_EXCHANGE."""


@contextmanager
def published(final: Path, replace: bool) -> Iterator[Path]:
    """Lend a hidden folder beside `final` and rename it to `final` at the end, or remove it after any failure."""
    final.parent.mkdir(parents=True, exist_ok=True)
    growing = final.with_name(f".{final.name}.partial-{uuid4().hex}")
    try:
        yield growing
        _move_into_place(growing, final, replace)
    except BaseException:
        # An interrupt ends the waiting for Zarr's event loop but not what runs there.
        wait_for_zarr()
        remove_folder(growing)
        raise


def _move_into_place(growing: Path, final: Path, replace: bool) -> None:
    if not final.exists():
        growing.rename(final)
        return
    if not replace:
        raise FileExistsError(f"{final} appeared while it was being written; choose another path")
    if exchange(growing, final):
        _remove_despite_interrupt(growing)
        return
    aside = final.with_name(f".{final.name}.replaced-{uuid4().hex}")
    try:
        final.rename(aside)
        growing.rename(final)
    finally:
        if final.exists():
            _remove_despite_interrupt(aside)
        else:
            aside.rename(final)


def exchange(a: Path, b: Path) -> bool:
    """Give two files or folders each other's name in one step; tell whether system and file system can do that."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # no Linux
        return False
    return bool(rename(HERE, os.fsencode(a), HERE, os.fsencode(b), EXCHANGE) == 0)


def _remove_despite_interrupt(folder: Path) -> None:
    try:
        remove_folder(folder)
    except KeyboardInterrupt:
        remove_folder(folder)
        raise


def remove_folder(folder: Path) -> None:
    """Remove the folder of a Zarr array, its metadata first: that tells tasks still at work on it to give up."""
    (folder / "zarr.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def write_whole(file: Path, content: bytes) -> None:
    """Write a file that appears, or changes, only when all of it is on the disk."""
    growing = file.with_name(f".{file.name}.partial-{uuid4().hex}")
    try:
        with growing.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        growing.replace(file)
    finally:
        growing.unlink(missing_ok=True)
