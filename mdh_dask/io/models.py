"""Saved models: parameters and arrays in a Zarr group, with JSON and numbers only, fully checked on loading.

The group's attribute ``mdh_dask_model`` holds the format's number, the version of the package that wrote it, the kind
of model, the parameters and a CRC-32 of everything. The `State` of a kind checks its arrays and parameters.
"""

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import zarr

from .._locations import hiding_credentials
from .._typing import AnyArray
from .model_contents import (
    BESIDE,
    FORMAT,
    MODEL_MARK,
    TREE,
    as_json,
    check_format,
    checked,
    checksum_of,
    damaged,
    stored_name,
)
from .nodes import Options, find_node, local_path
from .remote import filesystem
from .targets import Kind, will_replace, write_at

T = TypeVar("T")

MODEL = Kind("a model", lambda node: isinstance(node, zarr.Group) and MODEL_MARK in node.attrs)


@hiding_credentials()
def save_model(
    path: str | os.PathLike[str],
    arrays: Mapping[str, AnyArray],
    *,
    parameters: Mapping[str, Any],
    kind: str = TREE,
    overwrite: bool = False,
    storage_options: Options = None,
) -> None:
    """Write a model to a Zarr group of format 3 that appears only when it is complete.

    Parameters
    ----------
    path : path or URL
    arrays : dict of str to ndarray
        Arrays of numbers.
    parameters : dict
        None, booleans, finite numbers, strings, and lists and dicts of these. NumPy scalars become Python numbers,
        tuples lists.
    kind : str, default "tree"
        The kind of the model's `State`.
    overwrite : bool, default False
        Replace an existing model. Nothing else is ever replaced.
    storage_options : dict, optional
        Options of fsspec for URLs.

    Raises
    ------
    FileExistsError
        If the path exists; see `overwrite`.
    TypeError, ValueError
        If a parameter has another type, or is a number that is not finite, which JSON cannot represent.

    Notes
    -----
    In folders the group is staged under a hidden name beside `path` and renamed at the end; object stores cannot
    rename: there an older model is deleted first, and `read_model` refuses the new one until the end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/m.zarr", {"points": np.eye(1)}, parameters={"seed": np.int64(3)}, kind="points")
    ...     read_model(f"{folder}/m.zarr", lambda kind, parameters, arrays: (kind, parameters, arrays))
    ('points', {'seed': 3}, {'points': array([[1.]])})
    """
    stored = {stored_name(kind, name): np.ascontiguousarray(array) for name, array in arrays.items()}
    own = as_json(parameters, "parameters")
    mark = {"format": FORMAT, "package_version": version("mdh_dask"), "parameters": own}
    if kind != TREE:
        mark["kind"] = kind
    if beside := [name for name in stored if name.startswith(BESIDE)]:
        mark["beside"] = beside

    def fill(place: Path | str, replace: bool, options: Options) -> None:
        if isinstance(place, str):
            _upload(place, mark, stored, replace, options)
        else:
            _complete(zarr.create_group(place, attributes={MODEL_MARK: mark}, zarr_format=3), mark, stored)

    write_at(path, fill, will_replace(path, overwrite, MODEL, storage_options), storage_options)


@hiding_credentials()
def read_model(
    path: str | os.PathLike[str],
    make: Callable[[str, dict[str, Any], dict[str, AnyArray]], T],
    *,
    storage_options: Options = None,
) -> T:
    """Read what `save_model` wrote.

    Parameters
    ----------
    path : path or URL
    make : callable
        Makes the model of the kind, the parameters and the arrays, which are the same to the last bit. If it cannot,
        they are damaged.
    storage_options : dict, optional
        Options of fsspec for URLs.

    Returns
    -------
    object
        What `make` returned.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is not a model, is damaged or incomplete, or has a format that this version does not know.
    """
    group = _model_at(path, storage_options)
    if group is None:
        raise FileNotFoundError(f"{path} is not there; give the path that a model was saved to")
    if isinstance(group, str):
        raise ValueError(f"expected a saved model, got {group}: {path}; give the path that a model was saved to")
    mark = group.attrs[MODEL_MARK]
    check_format(mark, path)
    try:
        found = checked(group, mark)
    except OSError:
        raise
    except Exception as error:  # whatever Zarr and its codecs raise for bytes that they did not write
        raise damaged(path, error) from error
    try:
        return make(*found)
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
    ) as error:
        raise damaged(path, error) from error


def _upload(url: str, mark: dict[str, Any], arrays: dict[str, AnyArray], replace: bool, options: Options) -> None:
    """Write a model to a URL by one request for each object: Zarr makes several for every array."""
    fs, root = filesystem(url, options)
    fs.invalidate_cache()
    if replace:
        fs.rm(root, recursive=True)
    with TemporaryDirectory() as folder:
        group = zarr.create_group(folder, attributes={MODEL_MARK: mark}, zarr_format=3)
        metadata = Path(folder, "zarr.json")
        fs.pipe_file(f"{root}/zarr.json", metadata.read_bytes())  # of a model that is not complete
        _complete(group, mark, arrays)
        files = [path for path in Path(folder).rglob("*") if path.is_file() and path != metadata]
        fs.pipe({f"{root}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in files})
        fs.pipe_file(f"{root}/zarr.json", metadata.read_bytes())


def _complete(group: zarr.Group, mark: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    # Chunks of zeros, too: where a deletion at a URL was cut off, chunks of an older model would stand for them.
    for name, array in arrays.items():
        group.create_array(name, data=array, config={"write_empty_chunks": True})
    group.update_attributes({MODEL_MARK: mark | {"checksum": checksum_of(mark, arrays)}})


def _model_at(path: str | os.PathLike[str], storage_options: Options) -> zarr.Group | str | None:
    """Return the model at a location, a description of what is there instead, or None."""
    try:
        node = find_node(path, storage_options)
    except ValueError as error:
        return f"something that Zarr cannot read ({error.__cause__ or error})"
    if node is None:
        folder = local_path(path)
        return "no Zarr group" if folder is not None and folder.exists() else None
    if isinstance(node, zarr.Array):
        return "a Zarr array"
    return node if MODEL_MARK in node.attrs else "another Zarr group"
