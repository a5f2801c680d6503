"""Fingerprints of what is stored, which change with it."""

import hashlib
import json
import os
from pathlib import PurePosixPath
from typing import Any

from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]

from .._locations import hiding_credentials, missing, name_of, without_query
from .paths import CHANGES, reaching
from .repositories import revision_of, store_of

METADATA = ("zarr.json", ".zarray", ".zattrs", ".zmetadata")


@hiding_credentials()
def fingerprint(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fingerprint of a file or folder, or of several files with an asterisk, from one listing.

    ``"objects"`` and ``"bytes"`` are the numbers of stored objects and bytes; ``"metadata"`` is a digest of Zarr's
    metadata files, ``"listing"`` of all names, sizes and entity tags or, without these, times of modification: a file
    replaced by its copy counts as changed. That of an Icechunk repository is its ``"snapshot"``.
    """
    if (revision := revision_of(source)) is not None:
        return {"snapshot": store_of(revision).session.snapshot_id}
    store, root = url_to_fs(os.fspath(source))
    store.invalidate_cache()
    try:
        with reaching(source):
            objects = _objects(store, root)
    except FileNotFoundError as error:  # of HTTP; it has no words of its own
        raise missing(source) from error
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
    """Return the properties of a file, of all files in a folder, or of those that match a pattern."""
    if "*" in without_query(root):
        found: dict[str, Any] = store.glob(root, detail=True)
    elif "http" in store.protocol and PurePosixPath(name_of(root)).suffix not in ("", ".zarr"):
        # Listing an HTTP URL would read all of it to search for links.
        found = {root: store.info(root)}
    else:
        found = store.find(root, detail=True)
    return found
