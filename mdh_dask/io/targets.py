"""Checks of the paths that arrays are written to."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import zarr

from .nodes import Options, find_node, local_path, overlaps


def will_replace(
    path: str | os.PathLike[str],
    overwrite: bool,
    storage_options: Options,
    what: str = "Zarr arrays",
    is_what: Callable[[Any], bool] = lambda node: isinstance(node, zarr.Array),
) -> bool:
    """Return whether a path or URL holds something that may be replaced.

    Raises
    ------
    FileExistsError
        If it holds something that must not be replaced.
    """
    folder = local_path(path)
    node = find_node(path, storage_options)
    if node is None and (folder is None or not folder.exists()):
        return False
    if not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it, or choose another path")
    if not is_what(node):
        kind = (
            "not a Zarr array" if node is None else "a Zarr group" if isinstance(node, zarr.Group) else "a Zarr array"
        )
        raise FileExistsError(f"{path} is {kind}, and only {what} are overwritten; choose another path")
    return True


def refuse_input(path: str | os.PathLike[str], inputs: Iterable[zarr.Array], storage_options: Options) -> None:
    """Raise an error if an input is stored at a path or URL, inside it or around it."""
    for source in inputs:
        if overlaps(path, source, storage_options):
            raise ValueError(f"{path} holds an input of the array that is to be written there; choose another path")
