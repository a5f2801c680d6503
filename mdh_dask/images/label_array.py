"""The stored array of an image of labels, which is created, found again to resume a write, and completed."""

import json
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from .._typing import Integers
from ..io.blocks import Block
from ..io.nodes import MARK, RECORD, Options, count_missing, find_node, local_path, url_options, write_beside
from ..io.resuming import is_unborn
from .image import Image
from .ome import VERSION, label_metadata
from .pyramid import n_copies, write_copies

NAME = "segments"
"""Name of the labels in an OME-Zarr group."""

CONFIG = {"write_empty_chunks": True}
"""Write all chunks, also those of the fill value, so that a missing chunk is a lost chunk."""


def is_label_image(node: object) -> bool:
    """Return whether a Zarr node is a complete or incomplete output of `write_labels`."""
    if isinstance(node, zarr.Group):
        return MARK in node.attrs
    return isinstance(node, zarr.Array) and node.ndim == 2 and MARK in node.attrs


def create(
    image: Image,
    n_labels: int,
    place: Path | str,
    attributes: Mapping[str, Any],
    *,
    replace: bool,
    of: Mapping[str, str],
    options: Any,
) -> zarr.Array:
    """Create the array, marked incomplete; for an OME-Zarr image in a new group."""
    begun = {MARK: {"complete": False} | dict(of)}
    layout: dict[str, Any] = {
        "shape": image.shape[:2],
        "dtype": label_dtype(n_labels),
        "chunks": image.label_chunks,
        "dimension_names": ["y", "x"],
        "attributes": dict(attributes) | dict(image.georeference) | begun,
        "config": CONFIG,
    }
    if image.multiscale is None:
        return zarr.create_array(place, overwrite=replace, storage_options=options, **layout)
    root = zarr.create_group(place, overwrite=replace, storage_options=options, attributes=begun)
    root.create_group("labels").create_group(NAME)
    return root.create_array(f"labels/{NAME}/0", **layout)


def find_begun(image: Image, n_labels: int, path: str, name: str | None, storage_options: Options) -> zarr.Array | None:
    """Return the array that was begun at a path under a name, if it has the layout that it would have now."""
    folder = local_path(path)
    if name is None:
        return None
    if folder is not None and is_unborn(folder):
        shutil.rmtree(folder)
    node = find_node(path, storage_options)
    inside = "" if image.multiscale is None else f"/labels/{NAME}/0"
    if isinstance(node, zarr.Group) and inside:
        node = node.get(inside[1:])
    if not isinstance(node, zarr.Array):
        return None
    mark = node.attrs.get(MARK)
    found = node.shape, node.chunks, node.dtype
    if not isinstance(mark, dict) or mark.get("of") != name:
        return None
    if found != (image.shape[:2], image.label_chunks, label_dtype(n_labels)):
        return None
    options = url_options(storage_options) if folder is None else None
    array = zarr.open_array(f"{folder or path}{inside}", mode="r+", storage_options=options)
    return array.with_config(CONFIG)


def label_dtype(n_labels: int) -> np.dtype:
    """Return the smallest unsigned integer dtype for the labels."""
    return np.min_scalar_type(max(n_labels - 1, 0))


def complete(
    target: zarr.Array,
    blocks: list[Block],
    image: Image,
    colours: Integers,
    place: Path | str,
    *,
    of: Mapping[str, str],
    options: Any,
) -> None:
    """Record the written blocks beside the array, and mark it complete if all are present.

    Raises
    ------
    RuntimeError
        If some blocks are missing.
    """
    missing, expected = count_missing(target)
    n_written = sum(rows for _, rows, _ in blocks)
    if missing or n_written != image.order.n_rows:
        raise RuntimeError(
            f"{n_written} of {image.order.n_rows} pixels were written, and {missing} of {expected} chunks are not "
            "visible here; write to a folder that this process and all workers share, or to a URL"
        )
    record = json.dumps(blocks)
    write_beside(target, RECORD, record)
    done = {MARK: {"complete": True, "record": zlib.crc32(record.encode())} | dict(of)}
    target.update_attributes(done)
    if image.multiscale is not None:
        root = zarr.open_group(place, mode="r+", storage_options=options)
        labels = root[f"labels/{NAME}"]
        assert isinstance(labels, zarr.Group)
        write_copies(labels, target, place if isinstance(place, Path) else None)
        about = label_metadata(NAME, image.multiscale, colours, image.path, n_copies(target.shape))
        labels.attrs["ome"] = about
        root["labels"].attrs["ome"] = {"version": VERSION, "labels": [NAME]}
        root.update_attributes(done)
