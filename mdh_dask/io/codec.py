"""Values as JSON and arrays: exact, of classes that say so only, without pickle, and checked when they are read.

`FolderJournal` stores the results of passes, each in one file; models are a Zarr group with an array for each part,
see `mdh_dask.io.models`.
"""

import hashlib
import io
import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any
from zipfile import ZipFile

import numpy as np

from .._errors import BugError
from .._process import check_memory
from .._storable import STORABLE, checked_value, names_of, stored_name
from .._typing import AnyArray
from ..chunks import is_dask
from .staging import write_whole

FORMAT = 1

SKELETON = "-skeleton"  # which no array is called


class OtherFormatError(ValueError):
    """A value was stored in the format of another version of the package."""


def check_format(found: Any, what: str, writer: object, remedy: str) -> None:
    """Raise an error unless a value has the format of this version."""
    if found != FORMAT:
        raise OtherFormatError(
            f"{what} has format {found}, which {writer} wrote; this is mdh_dask {version('mdh_dask')}, which reads "
            f"format {FORMAT}: {remedy}"
        )


def store(path: Path, value: Any) -> None:
    """Write a value to a file that appears under its name only when it is complete.

    Raises a TypeError if the value contains anything but None, booleans, numbers, strings, arrays of these, lists,
    tuples, dicts of strings and `STORABLE`.
    """
    form, arrays = _taken_apart_here(value)
    skeleton = json.dumps({"format": FORMAT, "value": form})
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{SKELETON: np.frombuffer(skeleton.encode(), np.uint8)}, **arrays)
    write_whole(path, buffer.getvalue())


def load(path: Path) -> Any:
    """Return a value written by `store`.

    Raises a FileNotFoundError if there is no such file; an OtherFormatError if another version wrote it in another
    format; a ValueError if the file is damaged.
    """
    content = path.read_bytes()
    try:
        check_memory(sum(member.file_size for member in ZipFile(io.BytesIO(content)).infolist()), f"what {path} holds")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            skeleton = json.loads(stored[SKELETON].tobytes())
            remedy = "continue with that version, or discard its work with restart=True"
            check_format(skeleton["format"], str(path), "another version of mdh_dask", remedy)
            return put_together(skeleton["value"], stored.__getitem__)
    except OtherFormatError:
        raise
    except Exception as error:  # parsers raise anything for a damaged archive
        raise ValueError(f"{path} is not a value of format {FORMAT}: {error}; remove it") from error


def digest(*values: Any) -> str:
    """Return 64 hexadecimal digits that differ for different values."""
    return digest_of(*_taken_apart_here(values))


def digest_of(form: Any, arrays: Mapping[str, AnyArray]) -> str:
    """Return the digest of a value that was taken apart, whatever the byte order here."""
    code = hashlib.sha256(json.dumps(form, sort_keys=True).encode())
    for array in arrays.values():
        ordered = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        code.update(f"{ordered.dtype.str} {array.shape}".encode())
        code.update(ordered.tobytes())
    return code.hexdigest()


def _taken_apart_here(value: Any) -> tuple[Any, dict[str, AnyArray]]:
    """Return the form and arrays of a value of the package: what cannot be stored is a fault of its own."""
    try:
        return taken_apart(value)
    except TypeError as error:
        raise BugError(
            f"{error}, in the journal of a job: decorate a dataclass or named tuple with mdh_dask._storable.storable"
        ) from None


def taken_apart(value: Any) -> tuple[Any, dict[str, AnyArray]]:
    """Return the JSON form of a value, and its arrays by names of letters, digits, points and underscores.

    All but None, booleans, finite numbers and strings become a dict of one key, which names the kind.
    """
    arrays: dict[str, AnyArray] = {}
    return _apart(value, arrays, ()), arrays


def _apart(value: Any, arrays: dict[str, AnyArray], place: tuple[str | int, ...]) -> Any:
    def apart(part: Any, at: str | int) -> Any:
        return _apart(part, arrays, (*place, at))

    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        name = ".".join(map(str, place))
        if (
            not name
            or name in arrays
            or not all(isinstance(at, int) or (at.isascii() and at.isidentifier()) for at in place)
        ):
            name = f"_{len(arrays)}"
        arrays[name] = np.asarray(value)
        return {"array" if isinstance(value, np.ndarray) else "scalar": name}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if STORABLE.get(name := stored_name(type(value))) is type(value):
        return {name: {own: apart(getattr(value, own), own) for own in names_of(type(value))}}
    if type(value) in (list, tuple):
        return {type(value).__name__: [apart(item, i) for i, item in enumerate(value)]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {key: apart(item, key) for key, item in value.items()}}
    where = "value" + "".join(f"[{at!r}]" for at in place)
    what = "a dict with keys that are not strings" if isinstance(value, dict) else f"a {type(value).__name__}"
    raise TypeError(
        f"{where} must be None, a boolean, a number, a string, an array of these, or a list, tuple or dict of these "
        f"to be saved; got {what}"
    )


def put_together(form: Any, array: Callable[[str], AnyArray]) -> Any:
    """Return the value of a JSON form, which may have been tampered with.

    Values of classes get the fields and types that the class declares, and pass its ``check()`` if it has one.

    Raises a LookupError if an array is missing, or no storable class has such a name; a ValueError if it is not the
    form of a value.
    """
    if form is None or isinstance(form, bool | int | float | str):
        return form
    if not isinstance(form, dict) or len(form) != 1:
        raise ValueError(f"expected a dict of one kind, got {form!r:.99}")
    ((kind, content),) = form.items()
    if kind in ("array", "scalar", "float"):
        if not isinstance(content, str):
            raise ValueError(f"expected a text for {kind}, got {content!r:.99}")
        return float(content) if kind == "float" else array(content) if kind == "array" else array(content)[()]
    if not isinstance(content, list if kind in ("list", "tuple") else dict):
        raise ValueError(f"expected the parts of a {kind}, got {content!r:.99}")
    if isinstance(content, list):
        items = [put_together(item, array) for item in content]
        return items if kind == "list" else tuple(items)
    values = {name: put_together(item, array) for name, item in content.items()}
    return values if kind == "dict" else checked_value(kind, values)


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pass:
    """A pass over the data that a job made."""

    statistic: str
    seconds: float
    n_rows: int
    n_bytes: int
    """Bytes of the rows in memory."""
    replayed: bool = False
    """Whether the pass was made in an earlier run of the job."""


@dataclass
class FolderJournal:
    """Store every result of a pass in a file, whose name depends on all results before it.

    `name` identifies the job: a digest of its input and its parameters. The stored value is also the one returned the
    first time, so that interrupted and uninterrupted jobs get the same values. A statistic that is not `journalled` is
    computed each time; of any other, parameters and values must be storable, see `store`, or there is a
    TypeError.
    """

    folder: Path
    name: str
    passes: list[Pass] = field(default_factory=list, init=False)
    _key: str = field(init=False)
    _n_kept: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._key = self.name

    def recall(self, statistic: Any, arrays: Sequence[Any], compute: Callable[[], Any]) -> Any:
        """Return the stored value of the next pass, or compute and store it."""
        # Each name once, as a pass may serve a hundred trees and file names have at most 255 characters.
        parts = getattr(statistic, "parts", (statistic,))
        name = "+".join(dict.fromkeys(type(part).__name__ for part in parts))
        about = (name, len(arrays[0]), sum(int(a.nbytes) for a in arrays))
        if not statistic.journalled:
            return self._timed(about, compute)[0]
        self._key = digest(self._key, statistic, [_looks(array) for array in arrays])
        self._n_kept += 1
        kept = self.folder / f"{self._n_kept:03d}-{name}-{self._key[:16]}.npz"
        value = self._kept(kept, about)
        if value is None:
            store(kept, self._timed(about, compute))
            value, _ = load(kept)
        return value

    def _kept(self, file: Path, about: tuple[str, int, int]) -> Any:
        try:
            value, seconds = load(file)
        except FileNotFoundError:
            return None
        except OtherFormatError:
            raise
        except ValueError as error:
            logger.warning("%s: the pass is made again", error)
            return None
        self.passes.append(Pass(about[0], seconds, *about[1:], replayed=True))
        logger.info("pass %s over the data was made before: %s", len(self.passes), about[0])
        return value

    def _timed(self, about: tuple[str, int, int], compute: Callable[[], Any]) -> tuple[Any, float]:
        started = perf_counter()
        value = compute()
        seconds = perf_counter() - started
        self.passes.append(Pass(about[0], seconds, *about[1:]))
        return value, seconds


def _looks(array: Any) -> list[Any]:
    """Return the identity of an array, including its chunks, on which the last bits of sums depend."""
    chunks = [list(sizes) for sizes in array.chunks] if is_dask(array) else None
    return [list(array.shape), array.dtype.str, chunks]
