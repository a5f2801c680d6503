"""File systems behind URLs, and what is missing to reach them."""

import os
from typing import Any

from fsspec.core import split_protocol, url_to_fs  # type: ignore[import-untyped, unused-ignore]

from .nodes import Options

REMEDIES = {
    "s3": 'pip install "mdh_dask[s3]"',
    "s3a": 'pip install "mdh_dask[s3]"',
    "gs": "pip install gcsfs",
    "gcs": "pip install gcsfs",
    "http": "pip install aiohttp",
    "https": "pip install aiohttp",
}
"""What to do where the package for a protocol is missing."""


def filesystem(location: str | os.PathLike[str], storage_options: Options = None) -> tuple[Any, str]:
    """Return the file system of a path or URL, and its name there.

    Raises
    ------
    ImportError
        If a package is missing for the protocol of a URL.
    ValueError
        If nothing is known of the protocol.
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
