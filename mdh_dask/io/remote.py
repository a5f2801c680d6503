"""File systems of URLs, and errors that say what is missing to reach them."""

import os
from typing import Any

from dask.base import tokenize
from fsspec.core import split_protocol, url_to_fs  # type: ignore[import-untyped, unused-ignore]

from .damage import reaching
from .fingerprints import CHANGES
from .nodes import Options

REMEDIES = {
    "s3": 'pip install "mdh_dask[s3]"',
    "s3a": 'pip install "mdh_dask[s3]"',
    "gs": 'pip install "mdh_dask[gcs]"',
    "gcs": 'pip install "mdh_dask[gcs]"',
    "az": 'pip install "mdh_dask[azure]"',
    "abfs": 'pip install "mdh_dask[azure]"',
    "abfss": 'pip install "mdh_dask[azure]"',
    "http": "pip install aiohttp",
    "https": "pip install aiohttp",
}
"""Remedies for the missing package of a protocol."""


AHEAD = 2**17
"""Bytes that are read beyond those asked for."""


def filesystem(location: str | os.PathLike[str], storage_options: Options = None) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path there.

    Raises
    ------
    ImportError
        If the package for the protocol of a URL is missing.
    ValueError
        If the protocol is unknown.
    """
    protocol = split_protocol(os.fspath(location))[0]
    try:
        fs, path = url_to_fs(os.fspath(location), **(storage_options or {}))
    except ImportError as error:
        remedy = REMEDIES.get(protocol, str(error))
        raise ImportError(f"{location} cannot be reached, as a package is missing: {remedy}") from error
    except ValueError as error:
        raise ValueError(f"expected a path or a URL of a known kind, as s3://; got {location}: {error}") from error
    return fs, path


def about_file(location: str | os.PathLike[str], storage_options: Options = None) -> dict[str, Any]:
    """Return a file system's information on a file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ConnectionError
        If its server cannot be reached.
    """
    fs, name = filesystem(location, storage_options)
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


def open_parts(location: str | os.PathLike[str], storage_options: Options = None) -> Any:
    """Return an open file of which only parts are read, as by range requests; a context.

    File systems of fsspec read 5 MiB ahead by default, several times what a tile of an image takes.
    """
    fs, name = filesystem(location, storage_options)
    return fs.open(name, "rb", block_size=AHEAD)
