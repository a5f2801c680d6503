"""The contents of saved models: their mark, arrays and checksum, and whether they are those that were written."""

import json
import math
import os
import zlib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import zarr

from .._locations import hiding_credentials
from .._process import check_memory
from .._typing import AnyArray
from ..tree.saving import FIELDS
from .nodes import array_in, find_node
from .paths import Options, filesystem, local_path
from .staging import Kind, staged, will_replace

MODEL_MARK = "mdh_dask_model"
"""The attribute that makes a group a model; the checksum in it is written last."""

FORMAT = 1

TREE = "tree"
"""The kind of models of one tree, whose arrays have no prefix."""

BESIDE = "beside_"
"""Prefix of the names of arrays that do not belong to a tree."""


def stored_name(kind: str, name: str) -> str:
    """Return the name under which an array is stored."""
    return name if kind == TREE and name in FIELDS else BESIDE + name


def checksum_of(mark: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> int:
    """Return the CRC-32 of a mark without its checksum, and of arrays, whatever the byte order here."""
    crc = zlib.crc32(json.dumps({k: v for k, v in mark.items() if k != "checksum"}, sort_keys=True).encode())
    for name, array in arrays.items():
        crc = zlib.crc32(f"{name} {array.shape}".encode(), crc)
        crc = zlib.crc32(array.astype(array.dtype.newbyteorder("<"), copy=False), crc)
    return crc


def as_json(value: Any, name: str) -> Any:
    """Return a value as JSON restores it, or raise an error that names the part which JSON cannot represent."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite to be saved, since JSON has no {value}; use None or a number")
        return value
    if isinstance(value, list | tuple):
        return [as_json(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {str(key): as_json(item, f"{name}[{key!r}]") for key, item in value.items()}
    what = "a dict with keys that are not strings" if isinstance(value, Mapping) else f"a {type(value).__name__}"
    raise TypeError(
        f"{name} must be None, a boolean, a number, a string, or a list or dict of these to be saved; got {what}: "
        "set it to such a value (a seed for a random state, a name for a function, tolist() of an array)"
    )


def check_format(mark: Any, path: str | os.PathLike[str]) -> None:
    """Raise an error unless a model is complete and of a format that this version reads."""
    number = mark.get("format") if isinstance(mark, dict) else None
    if not isinstance(number, int):
        raise damaged(path, f"its attribute {MODEL_MARK} gives no format")
    if number != FORMAT:
        raise ValueError(
            f"{path} has model format {number}, written by mdh_dask {mark.get('package_version')}; this is mdh_dask "
            f"{version('mdh_dask')}, which reads format {FORMAT}: install the version that wrote it, or a later one"
        )
    if "checksum" not in mark:
        raise ValueError(f"{path} was left incomplete by an interrupted write; save it again with overwrite=True")


def damaged(path: str | os.PathLike[str], reason: object) -> ValueError:
    """Return the error for a damaged model."""
    return ValueError(f"{path} is a damaged model: {reason}; restore it from a copy, or fit and save the model again")


def checked(group: zarr.Group, mark: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, AnyArray]]:
    """Return the kind, the parameters and the arrays that were saved, if they are those."""
    kind, beside = mark.get("kind"), mark.get("beside")
    if not isinstance(kind, str):
        raise ValueError(f"expected a text for the kind of model, got {kind!r}")
    if not isinstance(beside, list) or not all(isinstance(name, str) and name.startswith(BESIDE) for name in beside):
        raise ValueError(f"expected names that begin with {BESIDE} for the arrays beside the tree, got {beside!r}")
    fields = FIELDS if kind == TREE else ()
    found = {name: _found(group, name, FIELDS.get(name)) for name in [*fields, *beside]}
    _check_memory(found)
    arrays = {name: np.ascontiguousarray(array[...]) for name, array in found.items()}
    if mark["checksum"] != checksum_of(mark, arrays):
        raise ValueError("its contents do not have the checksum that was recorded")
    if not isinstance(mark.get("parameters"), dict):
        raise ValueError(f"expected a dict of parameters, got a {type(mark.get('parameters')).__name__}")
    return kind, mark["parameters"], {name.removeprefix(BESIDE): array for name, array in arrays.items()}


def _found(group: zarr.Group, name: str, dtype: str | None) -> zarr.Array:
    array = array_in(group, name)
    if array is None:
        raise ValueError(f"the array {name} is missing")
    if dtype is not None and array.dtype != np.dtype(dtype):
        raise ValueError(f"expected {dtype} for the array {name}, got {array.dtype}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"expected numbers in the array {name}, got {array.dtype}")
    return array


def _check_memory(arrays: Mapping[str, zarr.Array]) -> None:
    """Raise an error if arrays that are still to be read do not fit into memory."""
    whole = 0
    for name, array in arrays.items():
        unit = array.shards or array.chunks  # is decoded whole
        whole += array.dtype.itemsize * math.prod(max(sizes) for sizes in zip(array.shape, unit))
        check_memory(whole, f"the array {name}")


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

    `arrays` hold numbers. `parameters` are None, booleans, finite numbers, strings, and lists and dicts of these: NumPy
    scalars become Python numbers, tuples lists; others are a TypeError or ValueError. `kind` is that of the model's
    `State`. With `overwrite` an existing model is replaced, and nothing else ever. At URLs, which cannot be renamed,
    the older model is deleted first, and `read_model` refuses the new one until the end.

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
    beside = [name for name in stored if name.startswith(BESIDE)]
    mark = {"format": FORMAT, "package_version": version("mdh_dask"), "kind": kind, "parameters": own, "beside": beside}

    replace = will_replace(path, overwrite, MODEL, storage_options)
    with staged(path, replace, storage_options) as stage:
        if stage.folder is None:
            _upload(os.fspath(path), mark, stored, replace, storage_options)
        else:
            _complete(zarr.create_group(stage.folder, attributes={MODEL_MARK: mark}, zarr_format=3), mark, stored)


@hiding_credentials()
def read_model(
    path: str | os.PathLike[str],
    make: Callable[[str, dict[str, Any], dict[str, AnyArray]], T],
    *,
    storage_options: Options = None,
) -> T:
    """Read what `save_model` wrote: the result of `make` for the kind, the parameters and the arrays, to the last bit.

    Raises
    ------
    FileNotFoundError
        If nothing is there.
    ValueError
        If it is not a model, is damaged or incomplete, `make` cannot use it, or this version does not know its format.
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
