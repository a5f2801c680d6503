"""Redaction of paths and URLs: user, password and query may hold credentials and are neither shown nor stored.

All output for people or programs, such as logs, reports and the state of jobs, goes through `redacted`.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

HIDDEN = "***"

HOST = re.compile(r"(?:(?<=[\w+.-]{2}):/{1,2}|(?<![\w:/.+-])//)(?!/)")
"""What stands before the host of a URL, also if `Path` has removed a slash from it."""

USER = re.compile(r"[^\s/?#]*")
"""What may be a user and a password, as they should be written."""

NAME = re.compile(r"[^\s/?#:@\[]*:(?!\d*(?:[/?#\s]|$)|\s)")
"""A user before a password with spaces or a slash, which should be %2F. What follows the colon is no port."""

PASSWORD_END = re.compile(r"[\r\n]|\s(?=\S*://)|$")
"""Where such a password ends at the latest: at the line's end or before another URL."""

PARAMETERS = re.compile(r"\?|[;#](?=[^\s=;#?]*=)")
"""What begins the query of a URL, which may be a signature or token; other queries look the same."""

WORD = re.compile(r"\S*")

CLOSING = "]'\")>,.;:"
"""Signs that end the sentence or bracket in which a URL stands."""

UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Control characters, those that turn the direction of texts or have no width, and bytes that are not UTF-8."""

LISTS = (".json", ".geojson")
"""Endings of files that hold STAC items."""


FILES = (
    ".npy", ".npz", ".gz", ".bz2", ".xz", ".csv", ".parquet", ".png", ".jpg", ".jpeg", ".tif", ".tiff", *LISTS
)  # fmt: skip
"""Endings of inputs that are single files."""


def redacted(text: str) -> str:
    """Return a text without the credentials of the URLs in it."""
    for places in (_users, _parameters):
        parts, done = list[str](), 0
        for first, end in places(text):
            parts += text[done:first], HIDDEN
            done = end
        text = "".join([*parts, text[done:]])
    return text


def _users(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the users and passwords of URLs are; this reads each sign of a text a few times at most."""
    seen = 0
    for host in HOST.finditer(text) if "@" in text else ():
        first = host.end()
        if first < seen:
            continue
        at = text.rfind("@", first, _end(USER.match(text, first)))
        if at < 0 and NAME.match(text, first):
            seen = _end(PASSWORD_END.search(text, first))
            at = text.rfind("@", first, seen)
        if at >= 0:
            yield first, at
            seen = at


def _parameters(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the queries of URLs are; this reads each sign of a text a few times at most."""
    seen = 0
    for host in HOST.finditer(text):
        if host.end() < seen:
            continue
        seen = _end(WORD.match(text, host.end()))
        sign = PARAMETERS.search(text, host.end(), seen)
        first = sign.end() if sign else seen
        if query := text[first:seen].rstrip(CLOSING):
            yield first, first + len(query)


def _end(found: re.Match[str] | None) -> int:
    assert found is not None
    return found.end()


def printable(text: str, kept: str = "") -> str:
    """Return a text with escapes in place of control characters, but those `kept`, and of others that show nothing.

    Names of columns, levels and files may hold any: they could move the cursor, reverse texts or forge lines of a log.
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in kept else ascii(found[0])[1:-1], text)


def all_redacted(value: Any) -> Any:
    """Return a JSON value with all its texts redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {key: all_redacted(item) for key, item in value.items()}
    return [all_redacted(item) for item in value] if isinstance(value, list | tuple) else value


def stored(location: str) -> str:
    """Return a location for files: credentials are redacted and replaced by a digest of the whole location."""
    shown = redacted(location)
    if shown == location:
        return location
    # A slow hash on purpose: a reader of the file must not be able to guess the password from the digest.
    digest = hashlib.scrypt(os.fsencode(location), salt=b"mdh_dask", n=2**14, r=8, p=1, dklen=16)
    return f"{shown} (digest {digest.hex()})"


def has_query(location: str | os.PathLike[str]) -> bool:
    """Return whether a location is a URL with a query, which then names a single file."""
    return without_query(location) != os.fspath(location)


def without_query(location: str | os.PathLike[str]) -> str:
    """Return a location without the query of a URL.

    Examples
    --------
    >>> without_query("https://host/x.npy?token=a.parquet"), without_query("data/what?.npy")
    ('https://host/x.npy', 'data/what?.npy')
    """
    text = os.fspath(location)
    return text.partition("?")[0] if "://" in text else text


def name_of(location: str | os.PathLike[str]) -> str:
    """Return the last component of a location, without a query."""
    return PurePosixPath(redacted(without_query(location))).name


def ending_of(location: str | os.PathLike[str]) -> str:
    """Return the ending of a location in small letters, as ``.csv``; empty if it has none."""
    return PurePosixPath(name_of(location)).suffix.lower()


def missing(location: str | os.PathLike[str]) -> FileNotFoundError:
    """Return the error for an input that is not there."""
    what = "file" if name_of(location).lower().endswith(FILES) else "Zarr array"
    return FileNotFoundError(f"there is no {what} at {location}; check the path")


def names_scenes(given: Any) -> bool:
    """Return whether a value names several scenes, and not one image."""
    if isinstance(given, str | os.PathLike):
        path = without_query(given)
        return "*" in path or PurePosixPath(path).suffix.lower() in LISTS
    return isinstance(given, list | tuple) or is_stac(given)


def is_stac(given: object) -> bool:
    """Return whether a value is an object of pystac, which need not be installed."""
    return any(one.__module__.partition(".")[0] == "pystac" for one in type(given).__mro__)


@contextmanager
def hiding_credentials() -> Iterator[None]:
    """Redact the messages of an error that passes through and of its causes."""
    try:
        yield
    except Exception as error:
        if _is_redacted(error):
            raise
        # Some errors build their message on request.
        raise OSError(redacted(str(error))) from None


def _is_redacted(error: BaseException, seen: frozenset[int] = frozenset()) -> bool:
    """Redact an error and its causes as far as possible; return whether its own message is now free of credentials."""
    seen |= {id(error)}  # an error may be among its own causes
    error.args = tuple(redacted(arg) if isinstance(arg, str) else arg for arg in error.args)
    if isinstance(error, OSError) and isinstance(error.filename, str):
        error.filename = redacted(error.filename)
    for name in ("__cause__", "__context__"):
        behind = getattr(error, name)
        if behind is not None and id(behind) not in seen and not _is_redacted(behind, seen):
            setattr(error, name, None)
    return redacted(str(error)) == str(error)
