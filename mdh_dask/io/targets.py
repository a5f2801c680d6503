"""Writing to a path or URL: which outputs may be replaced, and none appears before it is complete."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeVar

import zarr

from .files import file_exists
from .folders import existing, naming_place, published
from .nodes import Options, find_node, local_path, overlaps, url_options

T = TypeVar("T")


class Kind(NamedTuple):
    """A kind of output, which may only replace outputs of the same kind."""

    what: str
    is_one: Callable[[Any], bool]
    """Returns whether a Zarr node is of this kind."""


ARRAY = Kind("a Zarr array", lambda node: isinstance(node, zarr.Array))


def will_replace(
    path: str | os.PathLike[str], overwrite: bool, kind: Kind = ARRAY, storage_options: Options = None
) -> bool:
    """Return whether a path or URL holds something that may be replaced.

    Raises
    ------
    FileExistsError
        If it holds something that must not be replaced.
    """
    folder = local_path(path)
    there = folder is not None and folder.exists()
    if there and not overwrite:
        raise existing(path)
    try:
        node = find_node(path, storage_options)
    except ValueError:  # Zarr cannot read it
        node, there = None, True
    if node is None and not there:
        return False
    if not overwrite:
        raise existing(path)
    if node is None or not kind.is_one(node):
        raise FileExistsError(f"{path} is not {kind.what}, and nothing else is replaced: name another output")
    return True


def check_file(path: str | os.PathLike[str], overwrite: bool, example: str) -> None:
    """Raise an error if a file, named like `example`, cannot be written to a path or URL.

    Raises
    ------
    FileExistsError, IsADirectoryError
        If it exists and must not be replaced, or is a folder.
    """
    file = local_path(path)
    if os.fspath(path).endswith("/") if file is None else file.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder: name the file of the {PurePath(example).stem}, as {path}/{example}"
        )
    if not overwrite and file_exists(path):
        raise existing(path)


Fill = Callable[[Path | str, bool, Options], T]
"""Writes to a folder or URL; the arguments are the place, whether to replace its contents and Zarr's options."""


def write_at(
    path: str | os.PathLike[str], fill: Fill[T], replace: bool, storage_options: Options, in_place: bool = False
) -> T:
    """Call a function to write to a path or URL.

    On a file system the function writes to a hidden folder beside `path`, renamed at the end, unless `in_place`.
    """
    folder = local_path(path)
    with naming_place(path):
        if in_place or folder is None:
            return fill(folder or os.fspath(path), replace, url_options(storage_options) if folder is None else None)
        with published(folder, replace) as staged:
            return fill(staged, False, None)


def refuse_input(path: str | os.PathLike[str], inputs: Iterable[zarr.Array], storage_options: Options) -> None:
    """Raise an error if an input is stored at a path or URL, inside it or around it."""
    for source in inputs:
        if overlaps(path, source, storage_options):
            raise ValueError(f"{path} holds an input of the array that is to be written there; choose another path")
