"""The stored array of an image of labels, which is created, found again to resume a write, and completed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from .._typing import Integers
from ..io.blocks import CONFIG, Block, complete, incomplete
from ..io.nodes import MARK, count_missing
from ..io.targets import Kind
from .image import Image
from .label_blocks import NO_DATA
from .ome import VERSION, label_metadata
from .pyramid import n_copies, write_copies

NAME = "segments"
"""Name of the labels in an OME-Zarr group."""


def is_label_image(node: object) -> bool:
    """Return whether a Zarr node is a complete or incomplete output of `write_labels`."""
    if isinstance(node, zarr.Group):
        return MARK in node.attrs
    return isinstance(node, zarr.Array) and node.ndim == 2 and MARK in node.attrs


LABEL_IMAGE = Kind("an image of labels", is_label_image)


def layout_of(image: Image, n_labels: int, lowest: int) -> dict[str, Any]:
    """Return shape, dtype and chunks of the stored array."""
    lowest = lowest if image.validity is None else min(lowest, NO_DATA)
    return {"shape": image.shape[:2], "dtype": label_dtype(n_labels, lowest), "chunks": image.label_chunks}


def path_inside(image: Image) -> str:
    """Return the path of the array in the group that is written for an OME-Zarr image; nothing for other images."""
    return "" if image.multiscale is None else f"labels/{NAME}/0"


def create(
    image: Image,
    layout: Mapping[str, Any],
    place: Path | str,
    attributes: Mapping[str, Any],
    *,
    replace: bool,
    name: str | None,
    options: Any,
) -> zarr.Array:
    """Create the array, marked incomplete; for an OME-Zarr image in a new group."""
    begun = incomplete(name)
    nodata = {} if image.validity is None else {"nodata": NO_DATA}
    options_of_array: dict[str, Any] = dict(layout) | {
        "dimension_names": ["y", "x"],
        "attributes": dict(attributes) | dict(image.georeference) | nodata | begun,
        "config": CONFIG,
    }
    if not (inside := path_inside(image)):
        return zarr.create_array(place, overwrite=replace, storage_options=options, **options_of_array)
    root = zarr.create_group(place, overwrite=replace, storage_options=options, attributes=begun)
    root.create_group("labels").create_group(NAME)
    return root.create_array(inside, **options_of_array)


def label_dtype(n_labels: int, lowest: int = 0) -> np.dtype:
    """Return the smallest integer dtype for so many labels from the lowest, unsigned if none is negative."""
    return np.min_scalar_type(-n_labels if lowest < 0 else max(n_labels - 1, 0))


def finish(
    target: zarr.Array,
    blocks: list[Block],
    image: Image,
    colours: Callable[[], Integers],
    place: Path | str,
    *,
    lowest: int,
    name: str | None,
    options: Any,
) -> None:
    """Record the written blocks beside the array, and mark it complete if all are present.

    Only the metadata for OME-Zarr need the colours, which take percentiles of the small picture.

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
    done = complete(target, blocks, name)
    target.update_attributes(done)
    if image.multiscale is not None:
        root = zarr.open_group(place, mode="r+", storage_options=options)
        labels = root[f"labels/{NAME}"]
        assert isinstance(labels, zarr.Group)
        write_copies(labels, target, place if isinstance(place, Path) else None)
        about = label_metadata(NAME, image.multiscale, colours(), image.path, n_copies(target.shape), lowest)
        labels.attrs["ome"] = about
        root["labels"].attrs["ome"] = {"version": VERSION, "labels": [NAME]}
        root.update_attributes(done)
