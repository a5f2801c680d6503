"""Saved models: Zarr groups that hold one value of the codec, and whether it is the one that was written."""

import math
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import zarr

from .._locations import hiding_credentials
from .._process import check_memory
from .._storable import UnknownClassError
from .._typing import AnyArray
from . import codec
from .nodes import array_in, find_node
from .paths import filesystem, local_path, remove_below
from .staging import Kind, staged, will_replace

MODEL_MARK = "mdh_dask_model"
"""The attribute that makes a group a model; the checksum in it is written last."""

NAME = re.compile(r"\w[\w.]*", re.ASCII)
"""Names of arrays, which lead nowhere else."""


def checksum_of(mark: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> str:
    """Return the digest of a mark without its checksum, and of arrays, whatever the byte order here."""
    return codec.digest_of({name: value for name, value in mark.items() if name != "checksum"}, arrays)


def check_format(mark: Any, path: str | os.PathLike[str]) -> None:
    """Raise an error unless a model is complete and of the format that this version reads."""
    number = mark.get("format") if isinstance(mark, dict) else None
    if not isinstance(number, int):
        raise damaged(path, f"its attribute {MODEL_MARK} gives no format")
    remedy = "install the version that wrote it, or a later one"
    codec.check_format(number, f"the model {path}", f"mdh_dask {mark.get('package_version')}", remedy)
    if "checksum" not in mark:
        raise ValueError(f"{path} was left incomplete by an interrupted write; save it again with overwrite=True")


def damaged(path: str | os.PathLike[str], reason: object) -> ValueError:
    """Return the error for a damaged model."""
    return ValueError(f"{path} is a damaged model: {reason}; restore it from a copy, or fit and save the model again")


def checked(group: zarr.Group, mark: dict[str, Any], prepare: Callable[[Any], None]) -> Any:
    """Return the value that was saved, if it is that."""
    names = mark.get("arrays")
    if not isinstance(names, list) or not all(isinstance(name, str) and NAME.fullmatch(name) for name in names):
        raise ValueError(f"expected names of arrays, got {names!r:.99}")
    found = {name: _found(group, name) for name in names}
    _check_memory(found)
    arrays = {name: np.asarray(array[...], order="C") for name, array in found.items()}
    if mark["checksum"] != checksum_of(mark, arrays):
        raise ValueError("its contents do not have the checksum that was recorded")
    prepare(mark.get("value"))
    return codec.put_together(mark.get("value"), arrays.__getitem__)


def _found(group: zarr.Group, name: str) -> zarr.Array:
    array = array_in(group, name)
    if array is None:
        raise ValueError(f"the array {name} is missing")
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
def save_model(path: str | os.PathLike[str], value: Mapping[str, Any], *, overwrite: bool = False) -> None:
    """Write a value to a Zarr group of format 3 that appears only when it is complete.

    What the codec cannot store is a TypeError, before anything is written. With `overwrite` an existing model is
    replaced, and nothing else ever. At URLs, which cannot be renamed, the older model is deleted first, and
    `read_model` refuses the new one until the end.
    """
    try:
        form, arrays = codec.taken_apart(value)
    except TypeError as error:
        remedy = "set it to such a value (a seed for a random state, the registered name of a function)"
        raise TypeError(f"{error}: {remedy}") from None
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.itemsize > 8:
            raise TypeError(f"{name} must hold numbers of at most 8 bytes to be saved; got {array.dtype}")
    mark = {"format": codec.FORMAT, "package_version": version("mdh_dask"), "value": form, "arrays": list(arrays)}

    replace = will_replace(path, overwrite, MODEL)
    with staged(path, replace) as stage:
        if stage.folder is None:
            _upload(str(stage.place), mark, arrays, stage.replace)
        else:
            _complete(zarr.create_group(stage.folder, attributes={MODEL_MARK: mark}, zarr_format=3), mark, arrays)


@hiding_credentials()
def read_model(
    path: str | os.PathLike[str],
    make: Callable[[Any], T],
    prepare: Callable[[Any], None] = lambda form: None,
) -> T:
    """Read what `save_model` wrote: the result of `make` for the value, to the last bit.

    `prepare` may import the classes of the value, given its form, which may have been tampered with.
    """
    group = _model_at(path)
    mark = group.attrs[MODEL_MARK]
    check_format(mark, path)
    try:
        value = checked(group, mark, prepare)
    except UnknownClassError as error:
        raise ImportError(
            f"{path}: {error.args[0]}: import the package that defines it first, or install the version of mdh_dask "
            "that wrote it"
        ) from None
    except OSError:
        raise
    except Exception as error:  # whatever Zarr and its codecs raise for bytes that they did not write
        raise damaged(path, error) from error
    try:
        return make(value)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise damaged(path, error) from error


def _upload(url: str, mark: dict[str, Any], arrays: dict[str, AnyArray], replace: bool) -> None:
    """Write a model to a URL by one request for each object: Zarr makes several for every array."""
    fs, root = filesystem(url)
    fs.invalidate_cache()
    if replace:
        remove_below(fs, root)
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


def _model_at(path: str | os.PathLike[str]) -> zarr.Group:
    """Return the group of the model at a location, or raise an error that says what is there instead."""
    remedy = "give the path that a model was saved to"
    try:
        node = find_node(path)
    except ValueError as error:
        found = f"something that Zarr cannot read ({error.__cause__ or error})"
    else:
        folder = local_path(path)
        if node is None and (folder is None or not folder.exists()):
            raise FileNotFoundError(f"{path} is not there; {remedy}")
        if isinstance(node, zarr.Group) and MODEL.is_one(node):
            return node
        other = "a Zarr array" if isinstance(node, zarr.Array) else "another Zarr group"
        found = "no Zarr group" if node is None else other
    raise ValueError(f"expected a saved model, got {found}: {path}; {remedy}")
