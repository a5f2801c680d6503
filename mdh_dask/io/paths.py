"""Files at paths and URLs: their file systems and contents, and errors that say what is wrong."""

import errno
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gaierror
from typing import Any

from dask.base import tokenize
from fsspec.core import (  # type: ignore[import-untyped, unused-ignore]
    split_protocol,
    url_to_fs,  # type: ignore[import-untyped, unused-ignore]
)

from .._errors import NO_CREDENTIALS, ContentsError

REPOSITORY = "icechunk::"
"""What begins the location of what is in a repository, before its path or URL."""


def local_path(location: str | os.PathLike[str]) -> Path | None:
    """Return the absolute path with links resolved of a location on a file system, or None for any other URL.

    ``~`` is the home folder of the user, as for fsspec. None, too, for what is in an Icechunk repository: it has no
    files of its own.
    """
    protocol, path = split_protocol(os.fspath(location))
    if protocol not in (None, "file", "local") or path.startswith(REPOSITORY):
        return None
    if "\0" in path:
        raise ValueError(f"expected a path without null characters; got {path!r}")
    resolved = Path(os.path.realpath(os.path.expanduser(path)))
    try:
        resolved.stat()
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
            raise
    return resolved


def refuse_streams(location: str | os.PathLike[str]) -> None:
    """Raise a ValueError if a path is a pipe, a socket or a device, as reading one may never end."""
    path = local_path(location)
    if path is not None and path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{location} is a pipe, a socket or a device: write what comes from it to a file first")


def file_exists(location: str | os.PathLike[str]) -> bool:
    """Return whether a path exists, or a file at a URL."""
    path = local_path(location)
    if path is not None:
        return path.exists()
    fs, name = filesystem(location)
    fs.invalidate_cache()
    with reaching(location), suppress(OSError):  # what may only be written may not be looked at
        return bool(fs.info(name)["type"] == "file")
    return False


def read_file(location: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file."""
    fs, name = filesystem(location)
    return fs.cat_file(name)


CLIENTS = ("adlfs", "aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google", "requests", "s3fs", "urllib3")
"""Packages for access to servers, whose errors do not concern contents."""

REMEDY = "restore it from a copy, or write it again"


@contextmanager
def naming(what: str, remedy: str = REMEDY) -> Iterator[None]:
    """Turn any error of a decoder into one that names the damaged input.

    Raises ContentsError with `what`, the reason and `remedy` in the message.
    """
    try:
        yield
    except Exception as error:
        if not is_damage(error):
            raise
        raise ContentsError(f"{what} ({str(error) or type(error).__name__}); {remedy}") from error


@contextmanager
def reaching(location: object) -> Iterator[None]:
    """Name the place in an error of a server that is not reached, or to which no credentials are known.

    Raises a ConnectionError, also where fsspec says that a file is missing, as it does for HTTP; or a PermissionError.
    """
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
        unreached = (isinstance(error, ConnectionError) and error.errno is not None) or isinstance(error, gaierror)
        of_client = cause is not error or unreached or type(error).__module__.partition(".")[0] in CLIENTS
        if not of_client or not isinstance(cause, OSError):
            raise
        raise ConnectionError(
            f"{location} cannot be reached ({cause}); check the name of the server, or try again later"
        ) from error
    except Exception as error:
        if type(error).__name__ not in NO_CREDENTIALS:
            raise
        raise without_credentials(location, error) from error


def without_credentials(location: object, error: Exception) -> PermissionError:
    """Return the error for a place whose server is given no credentials."""
    return PermissionError(
        f"{location} cannot be reached ({error}): give credentials in the environment or in files, where other "
        "programs for this server look for them, too"
    )


def is_damage(error: Exception) -> bool:
    """Return whether an error of a decoder concerns the contents."""
    kind = type(error)
    if kind.__module__.partition(".")[0] in CLIENTS:
        return False
    if isinstance(error, OSError):  # errors of the system have a number or a subclass, those of decoders do not
        return error.errno is None and (kind is OSError or kind.__module__ != "builtins")
    return not isinstance(error, MemoryError | ImportError)


PROTOCOLS = {
    "s3": ("s3", "s3a"),
    "gcs": ("gs", "gcs"),
    "azure": ("az", "abfs", "abfss"),
    "http": ("http", "https"),
}
"""Extras, and the protocols for which they have packages."""

AHEAD = 2**17
"""Bytes that are read beyond those asked for."""


def filesystem(location: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path there."""
    protocol = split_protocol(os.fspath(location))[0]
    try:
        with reaching(location):
            fs, path = url_to_fs(os.fspath(location))
    except ImportError as error:
        extra = next((extra for extra, own in PROTOCOLS.items() if protocol in own), None)
        remedy = str(error) if extra is None else f'pip install "mdh_dask[{extra}]"'
        raise ImportError(f"{location} cannot be reached, as a package is missing: {remedy}") from error
    except ValueError as error:
        if protocol in PROTOCOLS["azure"]:
            raise without_credentials(location, error) from error
        raise ValueError(f"expected a path or a URL of a known kind, as s3://; got {location}: {error}") from error
    return fs, path


def remove_below(fs: Any, path: str) -> None:
    """Remove an object, and all below it; fsspec would take a path with marks of patterns, as ``[a].zarr``, for one."""
    fs.rm(glob.escape(path), recursive=True)


def about_file(location: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a file system's information on a file."""
    fs, name = filesystem(location)
    try:
        with reaching(location):
            about: dict[str, Any] = fs.info(name)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no file at {location}; check the path") from error
    return about


def version_of(fs: Any, name: str) -> Any:
    """Return what identifies a file, on which server it may be, and changes with its contents."""
    # Servers may describe two files alike. Their names are hashed, as options hold credentials, too.
    key = name, fs.ukey(name), tokenize(type(fs), fs.storage_args, fs.storage_options)
    if "http" not in fs.protocol:
        return key
    about = fs.info(name)  # the key is the same for any contents
    return *key, *(str(about.get(change)) for change in ("size", *CHANGES))


def open_parts(location: str | os.PathLike[str]) -> Any:
    """Return an open file that reads only the parts asked for, as by range requests; a context.

    File systems of fsspec read 5 MiB ahead by default, several times what a tile of an image takes.
    """
    fs, name = filesystem(location)
    with reaching(location):
        return fs.open(name, "rb", block_size=AHEAD)


CHANGES = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "Last-Modified", "updated")
"""Properties of stored objects that change with their contents, the best first."""
