"""What tells whether an input is still the same, without reading it."""

import hashlib
import json
import os
from pathlib import PurePosixPath
from typing import Any

from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]

from .._locations import hiding_credentials, name_of, without_query
from .nodes import Options

METADATA = ("zarr.json", ".zarray", ".zattrs", ".zmetadata")

CHANGES = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "Last-Modified", "updated")
"""What stores tell of an object that changes with its contents, the best first."""


@hiding_credentials()
def fingerprint(source: str | os.PathLike[str], storage_options: Options = None) -> dict[str, Any]:
    """Return what changes if a file or a folder changes: its size, and digests of its metadata and of its listing.

    Parameters
    ----------
    source : path or URL
        Of a file or a folder; with an asterisk, of several files.
    storage_options : dict, optional
        For URLs: what fsspec needs to reach them.

    Returns
    -------
    dict
        ``"objects"`` and ``"bytes"`` count what is stored; ``"metadata"`` is a digest of Zarr's own files,
        ``"listing"`` of all names, sizes and entity tags or, where there are none, times of modification.

    Notes
    -----
    No pass: one listing. A file that is replaced by its copy counts as changed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     length = Path(folder, "x.npy").write_bytes(b"123")
    ...     found = fingerprint(folder)
    >>> found["objects"], found["bytes"]
    (1, 3)
    """
    store, root = url_to_fs(os.fspath(source), **(storage_options or {}))
    store.invalidate_cache()
    objects = _objects(store, root)
    listing, metadata = hashlib.sha256(), hashlib.sha256()
    for name in sorted(objects):
        about = objects[name]
        changes = next((str(about[key]) for key in CHANGES if about.get(key) is not None), None)
        listing.update(json.dumps([name.removeprefix(root), about.get("size"), changes]).encode())
        if name.rpartition("/")[2] in METADATA:
            metadata.update(store.cat_file(name))
    return {
        "objects": len(objects),
        "bytes": sum(about.get("size") or 0 for about in objects.values()),
        "metadata": metadata.hexdigest(),
        "listing": listing.hexdigest(),
    }


def _objects(store: Any, root: str) -> dict[str, Any]:
    """Return what a store tells of a file, of all that is in a folder, or of what a pattern names."""
    if "*" in without_query(root):
        found: dict[str, Any] = store.glob(root, detail=True)
    elif "http" in store.protocol and PurePosixPath(name_of(root)).suffix not in ("", ".zarr"):
        # To list a URL is to read all of it, for the links that there may be.
        found = {root: store.info(root)}
    else:
        found = store.find(root, detail=True)
    return found
