"""The names of an image's bands, and images of some bands, or of the bands of several files."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import AnyArray
from .image import Image, Source
from .order import Block

NAMING = ("band_names", "bands", "long_name")
"""Attributes of Zarr arrays that name the bands, the first two of ours and others', the last of rioxarray."""

ITEM = re.compile(r"<Item\b([^>]*)>([^<]*)</Item>", re.IGNORECASE)


def names_in_gdal(text: str, n_bands: int) -> tuple[str, ...]:
    """Return the descriptions of all bands in the metadata that GDAL writes to a TIFF; empty unless all have one.

    Examples
    --------
    >>> item = '<Item name="DESCRIPTION" sample="{}" role="description">{}</Item>'
    >>> names_in_gdal(item.format(1, "nir") + item.format(0, "red &amp; more"), 2)
    ('red & more', 'nir')
    """
    found = {}
    for about, value in ITEM.findall(text):
        sample = re.search(r'sample="(\d{1,6})"', about)
        if sample and 'role="description"' in about:
            found[int(sample[1])] = html.unescape(value).strip()
    return tuple(found[i] for i in range(n_bands)) if found.keys() >= {*range(n_bands)} else ()


def names_in(attributes: Mapping[str, Any], n_bands: int) -> tuple[str, ...]:
    """Return the names of the bands in attributes of a Zarr array or OME-Zarr group; empty if there are none.

    Examples
    --------
    >>> names_in({"long_name": ["red", "nir"]}, 2)
    ('red', 'nir')
    """
    about = attributes.get("ome", attributes)
    omero = about.get("omero") if isinstance(about, Mapping) else None
    channels = omero.get("channels") if isinstance(omero, Mapping) else None
    labels = [one.get("label") for one in channels if isinstance(one, Mapping)] if isinstance(channels, list) else None
    for names in (*(attributes.get(name) for name in NAMING), labels):
        if isinstance(names, list) and len(names) == n_bands and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()


@dataclass(frozen=True)
class SomeBands:
    """Some bands of a source, in another order, as a source."""

    source: Any
    bands: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""
        lines, columns, _ = self.source.shape
        return lines, columns, len(self.bands)

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""
        return np.dtype(self.source.dtype)

    def open(self) -> "SomeBands":
        """Return the bands of the open source."""
        return replace(self, source=self.source.open())

    def __getitem__(self, block: Block) -> AnyArray:
        """Read a block."""
        return np.asarray(self.source[block][..., list(self.bands)])

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the bands that the source leaves out."""
        pixels = self.source.with_left_out(block)
        return np.asarray(pixels[..., [*self.bands, *range(self.source.shape[2], pixels.shape[2])]])


@dataclass(frozen=True)
class StackedBands:
    """The bands of several sources of one size, one after another, as a source."""

    sources: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""
        lines, columns, _ = self.sources[0].shape
        return lines, columns, sum(source.shape[2] for source in self.sources)

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""
        return np.dtype(self.sources[0].dtype)

    def open(self) -> "StackedBands":
        """Return the bands of the open sources."""
        return StackedBands(tuple(source.open() for source in self.sources))

    def __getitem__(self, block: Block) -> AnyArray:
        """Read a block."""
        return np.concatenate([source[block] for source in self.sources], axis=2)


def with_bands(image: Image, names: Sequence[str]) -> Image:
    """Return an image of the bands with these names, in their order.

    Raises
    ------
    ValueError
        If it has not exactly one band of each name.
    """
    if tuple(names) == image.bands:
        return image
    if not image.bands:
        raise ValueError(
            f"expected bands named {', '.join(names)}; those of {image.path} have no names: describe its bands, as "
            "GDAL does, or leave the names out"
        )
    for name in names:
        if image.bands.count(name) != 1:
            raise ValueError(
                f"expected one band {name!r} in {image.path}; got {', '.join(image.bands)}: give names among these"
            )
    numbers = tuple(image.bands.index(name) for name in names)
    return replace(image, source=SomeBands(image.source, numbers), bands=tuple(names))


def stacked(images: Sequence[Image]) -> Image:
    """Return the bands of several images as one, which lies where the first does.

    Raises
    ------
    ValueError
        If they differ in size, dtype, or in the values of pixels without data, or one has a mask or opacity.
    """
    first, *others = images
    if not others:
        return first
    for image in images:
        if (image.shape[:2], image.dtype) != (first.shape[:2], first.dtype) or image.validity != first.validity:
            raise ValueError(
                f"expected bands of {first.shape[0]} x {first.shape[1]} pixels of {first.dtype} with the same values "
                f"without data, as in {first.path}; got {image.shape[0]} x {image.shape[1]} of {image.dtype} in "
                f"{image.path}: leave it out, or resample it"
            )
    if first.validity is not None and (first.validity.alpha or first.validity.mask is not None):
        raise ValueError(f"expected bands without a mask or opacity of their own; got one in {first.path}: merge them")
    source: Source = StackedBands(tuple(image.source for image in images))
    return replace(first, source=source, bands=tuple(name for image in images for name in image.bands))
