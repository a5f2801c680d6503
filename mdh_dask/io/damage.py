"""Distinction between damaged contents, an error of the input, and failed reads, an error of the machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from .._errors import ContentsError

CLIENTS = ("adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google", "requests", "s3fs", "urllib3")
"""Packages for access to servers, whose errors do not concern contents."""

REMEDY = "restore it from a copy, or write it again"


@contextmanager
def naming(what: str, remedy: str = REMEDY) -> Iterator[None]:
    """Turn any error of a decoder into one that names the damaged input.

    Raises
    ------
    ContentsError
        With `what`, the reason and `remedy` in the message.

    Examples
    --------
    >>> with naming("a.png cannot be read"):
    ...     raise IndexError("index out of range")
    Traceback (most recent call last):
    mdh_dask._errors.ContentsError: a.png cannot be read (index out of range); restore it from a copy, or write it again
    """
    try:
        yield
    except Exception as error:
        if not is_damage(error):
            raise
        raise ContentsError(f"{what} ({str(error) or type(error).__name__}); {remedy}") from error


@contextmanager
def reaching(location: object) -> Iterator[None]:
    """Name the place in an error of a server that is not reached.

    Raises
    ------
    ConnectionError
        Also where fsspec says that a file is missing, as it does for HTTP.

    Examples
    --------
    >>> with reaching("http://host/x.npy"):
    ...     raise FileNotFoundError("http://host/x.npy") from OSError("no route to host")
    Traceback (most recent call last):
    ConnectionError: http://host/x.npy cannot be reached (no route to host); try again later
    """
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
        of_client = cause is not error or type(error).__module__.partition(".")[0] in CLIENTS
        if not of_client or not isinstance(cause, OSError):
            raise
        raise ConnectionError(f"{location} cannot be reached ({cause}); try again later") from error


def is_damage(error: Exception) -> bool:
    """Return whether an error of a decoder concerns the contents.

    Examples
    --------
    >>> is_damage(EOFError()), is_damage(OSError("image file is truncated")), is_damage(OSError(5, "I/O error"))
    (True, True, False)
    """
    kind = type(error)
    if kind.__module__.partition(".")[0] in CLIENTS:
        return False
    if isinstance(error, OSError):  # errors of the system have a number or a subclass, those of decoders do not
        return error.errno is None and (kind is OSError or kind.__module__ != "builtins")
    return not isinstance(error, MemoryError | ImportError)
