"""Views of arrays as lines, columns and bands by their axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import AnyArray
from ..chunks import is_dask
from .image import Block, Source

MOST_BANDS = 32
"""The first or last of three axes is assumed to hold bands if it is at most this long and the other is longer."""

NAMES = {"y": "y", "lat": "y", "latitude": "y", "northing": "y", "row": "y", "x": "x", "lon": "x", "longitude": "x",
         "easting": "x", "col": "x", "column": "x", "c": "c", "s": "c", "b": "c", "band": "c", "bands": "c",
         "channel": "c", "channels": "c"}  # fmt: skip
"""Names of axes for lines (y), columns (x) and bands (c)."""


@dataclass(frozen=True)
class AxesView(Source):
    """A view of an array, read by slices and integers, with axes in any order as (y, x, band)."""

    array: Any
    axes: tuple[str, ...]
    index: Mapping[str, int] = field(default_factory=dict)
    n_left_out: int = 0
    flipped: bool = False
    """Whether lines are read from the last to the first."""

    @property
    def shape(self) -> tuple[int, int, int]:
        sizes = dict(zip(self.axes, self.array.shape))
        return sizes["y"], sizes["x"], sizes.get("c", 1) - self.n_left_out

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels: booleans are 0 and 1."""
        return np.dtype(np.uint8) if self.array.dtype == np.bool_ else np.dtype(self.array.dtype.newbyteorder("="))

    def in_plane(self, sizes: tuple[int, ...]) -> tuple[int, int]:
        """Return those of lines and columns of the sizes of all axes, as of chunks."""
        own = dict(zip(self.axes, sizes))
        return own["y"], own["x"]

    def __getitem__(self, block: Block) -> AnyArray:
        return self._read(block, self.shape[2])

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the bands that are left out otherwise."""
        return self._read(block, self.shape[2] + self.n_left_out)

    def _read(self, block: Block, n_bands: int) -> AnyArray:
        lines, height = block[0], self.shape[0]
        lines = slice(height - lines.stop, height - lines.start) if self.flipped else lines
        where = {"y": lines, "x": block[1], "c": slice(n_bands), **self.index}
        region = self.array[tuple(where[axis] for axis in self.axes)]
        values = np.asarray(region.compute(scheduler="synchronous") if is_dask(region) else region)
        left = [axis for axis in self.axes if axis in "yxc"]
        values = values if "c" in left else values[..., None]
        left = left if "c" in left else [*left, "c"]
        values = values.transpose([left.index(axis) for axis in "yxc"]).astype(self.dtype, copy=False)
        return values[::-1] if self.flipped else values


@dataclass(frozen=True)
class ScaledView(AxesView):
    """A view of stored numbers as float32 values: those of every pixel times its scale, NaN without a finite one."""

    scales: AxesView = field(kw_only=True)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def _read(self, block: Block, n_bands: int) -> AnyArray:
        scales = replace(self.scales, flipped=self.flipped)[block].astype(np.float32)
        values = super()._read(block, n_bands) if np.isfinite(scales).any() else np.zeros(1, np.float32)
        return values * np.where(np.isfinite(scales), scales, np.float32(np.nan))


def view_of(array: Any, names: Sequence[str | None] | None, axes: str | None, index: Mapping[str, int]) -> AxesView:
    """Find lines, columns and bands of an array by the given axes, by the names of its axes, or by their lengths.

    `names` are stored with the array; `axes`, given by the user, has a letter for every axis: ``"y"``, ``"x"``, ``"c"``
    for the bands, others for the rest, on which `index` chooses one. A ValueError says what is ambiguous.
    """
    known = named(names if axes is None else tuple(axes)) or _guessed(array.shape)
    if len(known) != array.ndim:
        raise ValueError(f"expected a letter for each of {array.ndim} axes of shape {array.shape}; got {axes!r}")
    if not {"y", "x"} <= set(known) or len(set(known)) < len(known):
        raise ValueError(
            f"expected one axis y, one axis x and at most one of bands; got {', '.join(known)} for shape "
            f"{array.shape}: name them with axes='yxc', where c are the bands"
        )
    return AxesView(array, known, _places(dict(zip(known, array.shape)), index))


def view_at(path: str, *about: Any) -> AxesView:
    """Return `view_of`, whose errors name the path of the array."""
    try:
        return view_of(*about)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def named(names: Sequence[str | None] | None) -> tuple[str, ...]:
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
