"""OME-Zarr metadata: of the image at full resolution, and of its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from .._locations import redacted
from .._typing import Integers

VERSION = "0.5"
"""Version of the written metadata."""


@dataclass(frozen=True)
class Multiscale:
    """The image at full resolution in an OME-Zarr group.

    Parameters
    ----------
    path : str
        Path of its array in the group.
    axes : tuple of mapping
        Name, type and unit of each axis.
    scale, translation : tuple of float
        Scale and translation of each axis, which give the position of a pixel in the unit of the axis.
    """

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
        return Multiscale(
            "0",
            tuple(self.axes[i] for i in at),
            tuple(self.scale[i] for i in at),
            tuple(self.translation[i] for i in at),
        )


def multiscale_of(attributes: Mapping[str, Any], level: int = 0) -> Multiscale | None:
    """Return the image described by the attributes of a group in version 0.4 or 0.5, or None if it is not OME-Zarr.

    Of several resolutions, 0 is the full one.

    Raises
    ------
    ValueError
        If the metadata are incomplete, or of an older version, or there is no such level.
    """
    found = attributes.get("ome", attributes).get("multiscales")
    if not found:
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
    name: str, image: Multiscale, colours: Integers, source: str, n_copies: int = 0, lowest: int = 0
) -> dict[str, Any]:
    """Return the attributes of a group of labels: an array named ``"0"``, and copies of half the size each.

    Parameters
    ----------
    name : str
    image : Multiscale
        Metadata of the lines and columns of the labelled image.
    colours : array of shape (n_labels, 3), uint8
    source : str
        Path of the image.
    n_copies : int
    lowest : int
        The label that has the first colour.
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
