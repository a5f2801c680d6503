"""Views of arrays as lines, columns and bands: by their axes, of some bands, or of the bands of several files."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import AnyArray
from .image import Block, Image, Source

MOST_BANDS = 32
"""The first or last of three axes is assumed to hold bands if it is at most this long and the other is longer."""

NAMES = {"y": "y", "lat": "y", "latitude": "y", "northing": "y", "row": "y", "x": "x", "lon": "x", "longitude": "x",
         "easting": "x", "col": "x", "column": "x", "c": "c", "s": "c", "b": "c", "band": "c", "bands": "c",
         "channel": "c", "channels": "c"}  # fmt: skip
"""Names of axes for lines (y), columns (x) and bands (c)."""


@dataclass(frozen=True)
class AxesView:
    """A view of an array, read by slices and integers, with axes in any order as (y, x, band)."""

    array: Any
    axes: tuple[str, ...]
    index: Mapping[str, int] = field(default_factory=dict)
    n_left_out: int = 0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""
        sizes = dict(zip(self.axes, self.array.shape))
        return sizes["y"], sizes["x"], sizes.get("c", 1) - self.n_left_out

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels: booleans are 0 and 1."""
        return np.dtype(np.uint8) if self.array.dtype == np.bool_ else np.dtype(self.array.dtype.newbyteorder("="))

    def open(self) -> "AxesView":
        """Return this view, which is ready to be read."""
        return self

    def __getitem__(self, block: Block) -> AnyArray:
        """Read a block, shape (lines, columns, bands)."""
        return self._read(block, self.shape[2])

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the bands that are left out otherwise."""
        return self._read(block, self.shape[2] + self.n_left_out)

    def _read(self, block: Block, n_bands: int) -> AnyArray:
        where = {"y": block[0], "x": block[1], "c": slice(n_bands), **self.index}
        values = np.asarray(self.array[tuple(where[axis] for axis in self.axes)])
        left = [axis for axis in self.axes if axis in "yxc"]
        values = values if "c" in left else values[..., None]
        left = left if "c" in left else [*left, "c"]
        return values.transpose([left.index(axis) for axis in "yxc"]).astype(self.dtype, copy=False)


def view_of(array: Any, names: Sequence[str | None] | None, axes: str | None, index: Mapping[str, int]) -> AxesView:
    """Find lines, columns and bands of an array by the given axes, by the names of its axes, or by their lengths.

    `names` are stored with the array; `axes`, given by the user, has a letter for every axis: ``"y"``, ``"x"``, ``"c"``
    for the bands, others for the rest, on which `index` chooses one. A ValueError says what is ambiguous.

    Examples
    --------
    >>> view_of(np.zeros((3, 500, 400)), None, None, {}).axes
    ('c', 'y', 'x')
    """
    known = tuple(axes) if axes is not None else _named(names)
    known = known or _guessed(array.shape)
    if axes is not None:
        known = _named(known)
    if len(known) != array.ndim:
        raise ValueError(f"expected a letter for each of {array.ndim} axes of shape {array.shape}; got {axes!r}")
    if not {"y", "x"} <= set(known) or len(set(known)) < len(known):
        raise ValueError(
            f"expected one axis y, one axis x and at most one of bands; got {', '.join(known)} for shape "
            f"{array.shape}: name them with axes='yxc', where c are the bands"
        )
    return AxesView(array, known, _places(dict(zip(known, array.shape)), index))


def _named(names: Sequence[str | None] | None) -> tuple[str, ...]:
    """Return the axes by their names, or an empty tuple if one has no name."""
    if not names or not all(names):
        return ()
    return tuple(NAMES.get(str(name).lower(), str(name).lower()) for name in names)


def _guessed(shape: tuple[int, ...]) -> tuple[str, ...]:
    if len(shape) == 2:
        return "y", "x"
    if len(shape) == 3 and (shape[0] <= MOST_BANDS) != (shape[2] <= MOST_BANDS):
        return ("c", "y", "x") if shape[0] <= MOST_BANDS else ("y", "x", "c")
    raise ValueError(
        f"expected lines and columns, and bands as the one axis of at most {MOST_BANDS}, first or last; got shape "
        f"{shape}, which does not say what its axes are: name them with axes='yxc', where c are the bands"
    )


def _places(sizes: Mapping[str, int], index: Mapping[str, int]) -> dict[str, int]:
    others = {axis: size for axis, size in sizes.items() if axis not in "yxc"}
    for axis, place in index.items():
        if axis not in others:
            raise ValueError(f"there is no axis {axis} for an index: the axes besides y, x and c are {[*others]}")
        if not 0 <= place < others[axis]:
            raise ValueError(f"expected an index from 0 to {others[axis] - 1} on axis {axis}; got {place}")
    for axis, size in others.items():
        if size > 1 and axis not in index:
            raise ValueError(
                f"axis {axis} has length {size}, of which an image uses one: choose it with index, as {axis}=0"
            )
    return {axis: index.get(axis, 0) for axis in others}


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
class SelectedBands:
    """Bands of sources of one size, in any order, one source after another, as a source."""

    sources: tuple[Any, ...]
    bands: tuple[tuple[int, ...], ...]
    """Numbers of the bands of each source."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return lines, columns and bands."""
        lines, columns, _ = self.sources[0].shape
        return lines, columns, sum(map(len, self.bands))

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""
        return np.dtype(self.sources[0].dtype)

    def open(self) -> "SelectedBands":
        """Return the bands of the open sources."""
        return replace(self, sources=tuple(source.open() for source in self.sources))

    def __getitem__(self, block: Block) -> AnyArray:
        """Read a block."""
        parts = [source[block][..., list(bands)] for source, bands in zip(self.sources, self.bands)]
        return np.concatenate(parts, axis=2) if len(parts) > 1 else np.asarray(parts[0])

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the bands that the only source leaves out."""
        ((source, bands),) = zip(self.sources, self.bands)
        pixels = source.with_left_out(block)
        return np.asarray(pixels[..., [*bands, *range(source.shape[2], pixels.shape[2])]])


def with_bands(image: Image, names: Sequence[str] | None) -> Image:
    """Return an image of the bands with these names, in their order; None for all.

    Raises a ValueError if it has not exactly one band of each name.
    """
    if names is None or tuple(names) == image.bands:
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
    return replace(image, source=SelectedBands((image.source,), (numbers,)), bands=tuple(names))


def stacked(images: Sequence[Image]) -> Image:
    """Return the bands of several images as one, which lies where the first does.

    Raises a ValueError if they differ in size, dtype, or in the values of pixels without data, or one has a mask or
    opacity.
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
    sources, bands = zip(*((image.source, tuple(range(image.shape[2]))) for image in images))
    source: Source = SelectedBands(sources, bands)
    return replace(first, source=source, bands=tuple(name for image in images for name in image.bands))
