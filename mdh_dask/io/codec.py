"""Storage of the values of passes as JSON and arrays: exact, for classes that say so only, without pickle.

Unlike saved models, which other versions and programs read from Zarr groups of declared arrays, these are nested values
of any storable class, small, many, and read by the same version that wrote them.
"""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from .._errors import BugError
from .._process import check_memory
from .._storable import STORABLE, stored_name
from .._typing import AnyArray
from .staging import write_whole

FORMAT = 1

SKELETON = "skeleton"


class OtherFormatError(ValueError):
    """A value was stored in the format of another version of the package."""


def store(path: Path, value: Any) -> None:
    """Write a value to a file that appears under its name only when it is complete.

    Raises
    ------
    TypeError
        If the value contains anything but None, booleans, numbers, strings, arrays of these, lists, tuples, dicts of
        strings and `STORABLE`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store(Path(folder) / "x.npz", (np.float32(0.1), [np.eye(1, dtype="u1"), None]))
    ...     load(Path(folder) / "x.npz")
    (np.float32(0.1), [array([[1]], dtype=uint8), None])
    """
    arrays: list[AnyArray] = []
    skeleton = json.dumps({"format": FORMAT, "value": _taken_apart(value, arrays)})
    buffer = io.BytesIO()
    named = {f"a{i}": array for i, array in enumerate(arrays)}
    np.savez(buffer, allow_pickle=False, **{SKELETON: np.frombuffer(skeleton.encode(), np.uint8)}, **named)
    write_whole(path, buffer.getvalue())


def load(path: Path) -> Any:
    """Return a value written by `store`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    OtherFormatError
        If another version wrote it in another format.
    ValueError
        If the file is damaged.
    """
    content = path.read_bytes()
    try:
        check_memory(sum(member.file_size for member in ZipFile(io.BytesIO(content)).infolist()), f"what {path} holds")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            skeleton = json.loads(stored[SKELETON].tobytes())
            if skeleton["format"] != FORMAT:
                raise OtherFormatError(
                    f"{path} has format {skeleton['format']}, which another version of mdh_dask wrote; this is "
                    f"mdh_dask {version('mdh_dask')}, which reads format {FORMAT}: continue with that version, or "
                    "discard its work with restart=True"
                )
            return _put_together(skeleton["value"], lambda i: stored[f"a{i}"])
    except OtherFormatError:
        raise
    except Exception as error:  # parsers raise anything for a damaged archive
        raise ValueError(f"{path} is not a value of format {FORMAT}: {error}; remove it") from error


def digest(*values: Any) -> str:
    """Return 64 hexadecimal digits that differ for different values.

    Raises
    ------
    TypeError
        As for `store`.

    Examples
    --------
    >>> len(digest(1, [2.0])), digest(1, [2.0]) == digest([1, 2.0]), digest(np.ones(1)) == digest(np.ones((1, 1)))
    (64, False, False)
    """
    arrays: list[AnyArray] = []
    code = hashlib.sha256(json.dumps(_taken_apart(values, arrays), sort_keys=True).encode())
    for array in arrays:
        code.update(f"{array.dtype.str} {array.shape}".encode())
        code.update(np.ascontiguousarray(array).tobytes())
    return code.hexdigest()


def _taken_apart(value: Any, arrays: list[AnyArray]) -> Any:
    """Return the JSON form of a value; all but plain numbers, strings and None become a dict with the kind as key."""

    def apart(part: Any) -> Any:
        return _taken_apart(part, arrays)

    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise BugError(f"expected an array of numbers; got one of {value.dtype}")
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if STORABLE.get(name := stored_name(type(value))) is type(value):
        return {name: {name: apart(getattr(value, name)) for name in _names(type(value))}}
    if type(value) in (list, tuple):
        return {type(value).__name__: [apart(item) for item in value]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: apart(item) for key, item in value.items()}}
    raise BugError(
        f"expected numbers, strings, arrays or one of {sorted(STORABLE)} in the journal of a job; got a "
        f"{type(value).__name__}: decorate a dataclass or named tuple with mdh_dask._storable.storable"
    )


def _put_together(part: Any, array: Callable[[int], AnyArray]) -> Any:
    if not isinstance(part, dict):
        return part
    ((kind, content),) = part.items()
    if kind in ("array", "scalar"):
        return array(content) if kind == "array" else array(content)[()]
    if kind in ("list", "tuple"):
        items = [_put_together(item, array) for item in content]
        return items if kind == "list" else tuple(items)
    values = {name: _put_together(item, array) for name, item in content.items()}
    return values if kind == "dict" else STORABLE[kind](**values)


def _names(cls: type) -> list[str]:
    if is_dataclass(cls):
        return [f.name for f in fields(cls)]
    if issubclass(cls, tuple):
        return list(cls._fields)  # type: ignore[attr-defined]
    raise BugError(f"expected a dataclass or named tuple in the journal of a job; got {cls.__name__}: make it one")
