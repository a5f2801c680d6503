"""OME-Zarr: metadata of the image at full resolution and of its labels, and smaller copies of these for viewers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import zarr

from .._locations import redacted
from .._typing import AnyArray, Integers
from ..io.blocks import CONFIG, Grid, store
from ..io.nodes import count_missing

VERSION = "0.5"
"""Version of the written metadata."""


@dataclass(frozen=True)
class Multiscale:
    """The image at full resolution in an OME-Zarr group."""

    path: str
    axes: tuple[Mapping[str, Any], ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the axes."""
        return tuple(str(axis["name"]) for axis in self.axes)

    def in_plane(self) -> "Multiscale":
        """Return the metadata of lines and columns only."""
        at = [self.names.index(name) for name in "yx"]
        scale, translation = (tuple(own[i] for i in at) for own in (self.scale, self.translation))
        return Multiscale("0", tuple(self.axes[i] for i in at), scale, translation)


def multiscale_of(attributes: Mapping[str, Any], level: int = 0) -> Multiscale | None:
    """Return a resolution, 0 for the full one, of the image that a group of version 0.4 or 0.5 describes, or None."""
    found = attributes.get("ome", attributes).get("multiscales")
    if not found or isinstance(found, Mapping):  # that of GeoZarr
        return None
    try:
        datasets = found[0]["datasets"]
        chosen = datasets[min(level, len(datasets) - 1)]
        axes = tuple(found[0]["axes"])
        if not all(isinstance(axis, Mapping) and "name" in axis for axis in axes):
            raise ValueError("axes without names, as before version 0.4")
        steps = [*chosen.get("coordinateTransformations", ()), *found[0].get("coordinateTransformations", ())]
        scale, translation = _placed(steps, len(axes))
        path = str(chosen["path"])
        if ".." in PurePosixPath(path).parts or path.startswith("/") or ":" in path:
            raise ValueError(f"the path {path!r} leads out of the group")
        multiscale = Multiscale(path, axes, scale, translation)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected the metadata of OME-Zarr 0.4 or 0.5; got multiscales that are not: {error}; name an array of "
            "the group, as image.zarr/0"
        ) from error
    if not 0 <= level < len(datasets):
        raise ValueError(f"expected a level of OME-Zarr from 0 to {len(datasets) - 1}; got {level}")
    return multiscale


def _placed(steps: Sequence[Mapping[str, Any]], n: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    scale, translation = [1.0] * n, [0.0] * n
    for step in steps:
        if step["type"] == "scale":
            scale = [a * float(b) for a, b in zip(scale, step["scale"], strict=True)]
            translation = [a * float(b) for a, b in zip(translation, step["scale"], strict=True)]
        elif step["type"] == "translation":
            translation = [a + float(b) for a, b in zip(translation, step["translation"], strict=True)]
    return tuple(scale), tuple(translation)


def label_metadata(
    name: str, image: Multiscale, colours: Integers, source: str, n_copies: int, lowest: int
) -> dict[str, Any]:
    """Return the attributes of a group of labels: an array named ``"0"``, and copies of half the size each.

    `image` holds the metadata of the lines and columns of the labelled image, `source` its path; `lowest` is the label
    that has the first colour.
    """
    levels = [
        {"path": str(number), "coordinateTransformations": _steps(image, 2**number)} for number in range(n_copies + 1)
    ]
    return {
        "version": VERSION,
        "multiscales": [{"name": name, "axes": [dict(axis) for axis in image.axes], "datasets": levels}],
        "image-label": {
            "version": VERSION,
            "colors": [{"label-value": i, "rgba": [*map(int, c), 255]} for i, c in enumerate(colours, lowest)],
            "source": {"image": redacted(source)},
        },
    }


def _steps(image: Multiscale, factor: int) -> list[dict[str, Any]]:
    """Return the positions of pixels of a copy that has the first of every `factor` pixels."""
    steps: list[dict[str, Any]] = [{"type": "scale", "scale": [factor * step for step in image.scale]}]
    if any(image.translation):
        steps.append({"type": "translation", "translation": list(image.translation)})
    return steps


SMALLEST = 512
"""Most lines and columns of the smallest copy."""

BLOCK = 2048
"""Approximate lines and columns of a block of whole chunks."""


def n_copies(shape: tuple[int, ...]) -> int:
    """Return the number of copies of an image."""
    return max(0, (-(-max(shape) // SMALLEST) - 1).bit_length())


def write_copies(group: zarr.Group, labels: zarr.Array, folder: Path | None) -> None:
    """Write the copies beside the array ``"0"`` of a group, as ``"1"`` and so on, while `folder` exists.

    One pass over every array but the last, on the current scheduler. Copies take nearest neighbours, as the mean of
    labels is not a label.
    """
    larger = labels
    for number in range(1, n_copies(labels.shape) + 1):
        smaller = group.create_array(
            str(number),
            shape=tuple(-(-n // 2) for n in larger.shape),
            dtype=labels.dtype,
            chunks=labels.chunks,
            dimension_names=["y", "x"],
            config=CONFIG,
            overwrite=True,
        )
        _copy(larger, smaller, folder)
        larger = smaller


def _copy(larger: zarr.Array, smaller: zarr.Array, folder: Path | None) -> None:
    grid = Grid(smaller, BLOCK)
    grid.numbers().map_blocks(_copy_block, grid, larger, folder, dtype=bool).all().compute()
    missing, expected = count_missing(smaller)
    if missing:
        raise RuntimeError(
            f"{missing} of {expected} chunks of a smaller copy of the labels are not visible here; write to a "
            "folder that this process and all workers share, or to a URL"
        )


def _copy_block(numbers: Integers, grid: Grid, larger: zarr.Array, folder: Path | None) -> AnyArray:
    for where in map(grid.block, numbers.tolist()):
        every_second = tuple(slice(2 * s.start, 2 * s.stop) for s in where)
        store(grid.array, folder, where, np.asarray(larger[every_second])[::2, ::2])
    return np.ones(len(numbers), bool)
