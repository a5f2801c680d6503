"""What of a path or URL is shown and stored: all but its credentials, a user before the host and the query.

Whatever is written for people or programs, as a log, a report or the state of a job, goes through `redacted`.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

HIDDEN = "***"

USER = re.compile(
    r"([A-Za-z][\w+.-]+:/{1,2})(?!/)"
    # A password may hold a slash that should have been written as %2F: what follows the colon is then no port.
    r"(?:[^\s/?#]*|[^\s/?#:@\[]*:(?!\d*[/?#])[^\s/?#@]*[/?#]\S*)@"
)
"""The user and password of a URL, also of one that `Path` took a slash away from."""

QUERY = re.compile(r"([A-Za-z][\w+.-]+:/{1,2}[^\s?]*\?)\S+?(?=[\]'\")>,.;:]*(?:\s|$))")
"""Signatures and tokens are queries, and what is none cannot be told from them."""


def redacted(text: str) -> str:
    """Return a text without the credentials of the URLs in it.

    Examples
    --------
    >>> redacted("no file at https://me:secret@host/x.npy?token=abc; check the path")
    'no file at https://***@host/x.npy?***; check the path'
    >>> redacted("/data/a@b?.npy")
    '/data/a@b?.npy'
    """
    return QUERY.sub(rf"\1{HIDDEN}", USER.sub(rf"\1{HIDDEN}@", text))


def all_redacted(value: Any) -> Any:
    """Return what JSON can hold with all its texts redacted.

    Examples
    --------
    >>> all_redacted({"path": ["s3://key:secret@bucket/x.zarr", 1]})
    {'path': ['s3://***@bucket/x.zarr', 1]}
    """
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, Mapping):
        return {key: all_redacted(item) for key, item in value.items()}
    return [all_redacted(item) for item in value] if isinstance(value, list | tuple) else value


def stored(location: str) -> str:
    """Return a location as files keep it: where credentials are hidden, with a digest of all of it.

    Examples
    --------
    >>> stored("/data/x.npy"), stored("http://host/x.npy?token=abc")
    ('/data/x.npy', 'http://host/x.npy?*** (digest 69582e065c87d584866bfef91f43449b)')
    """
    shown = redacted(location)
    if shown == location:
        return location
    # Slow on purpose: who reads the file must not be able to try passwords until one has the digest.
    digest = hashlib.scrypt(os.fsencode(location), salt=b"mdh_dask", n=2**14, r=8, p=1, dklen=16)
    return f"{shown} (digest {digest.hex()})"


def has_query(location: str | os.PathLike[str]) -> bool:
    """Tell whether a location is a URL with a query, which then names one file."""
    return without_query(location) != os.fspath(location)


def without_query(location: str | os.PathLike[str]) -> str:
    """Return a location up to the query, if it is a URL that has one.

    Examples
    --------
    >>> without_query("https://host/x.npy?token=a.parquet"), without_query("data/what?.npy")
    ('https://host/x.npy', 'data/what?.npy')
    """
    text = os.fspath(location)
    return text.partition("?")[0] if "://" in text else text


def name_of(location: str | os.PathLike[str]) -> str:
    """Return the last part of a location, without a query.

    Examples
    --------
    >>> name_of("https://host/x.npy?token=abc"), name_of("data/x.zarr/")
    ('x.npy', 'x.zarr')
    """
    return PurePosixPath(redacted(without_query(location))).name


@contextmanager
def hiding_credentials() -> Iterator[None]:
    """Redact the message of an error that passes, and those of its causes."""
    try:
        yield
    except Exception as error:
        if _is_redacted(error):
            raise
        # Some put their message together when it is asked for.
        raise OSError(redacted(str(error))) from None


def _is_redacted(error: BaseException, seen: frozenset[int] = frozenset()) -> bool:
    """Redact an error and its causes as far as possible; tell whether its own message holds no credentials now."""
    seen |= {id(error)}  # an error may be among its own causes
    error.args = tuple(redacted(arg) if isinstance(arg, str) else arg for arg in error.args)
    if isinstance(error, OSError) and isinstance(error.filename, str):
        error.filename = redacted(error.filename)
    for name in ("__cause__", "__context__"):
        behind = getattr(error, name)
        if behind is not None and id(behind) not in seen and not _is_redacted(behind, seen):
            setattr(error, name, None)
    return redacted(str(error)) == str(error)
