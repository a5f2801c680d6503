"""The overview of a segmented image: sizes and mean colours of its segments, and a small picture."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._jit.rows import loop_ready
from .._jit.sums import add_to_labels
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Statistic
from .image import Image, PixelOrder

LARGEST = 2000
"""Most pixels on each side of a small picture."""

SHOWN_RANGE = (2, 98)
"""Percentiles of a band that are shown as black and white, unless the image is a photograph."""

BOUNDARY = 0.45
"""Brightness of the boundaries of segments relative to their mean colours."""


@storable
class SegmentSummary(NamedTuple):
    """The value of `Overview`."""

    sizes: Integers
    """Pixels of each segment, shape (n_labels,)."""
    means: Floats
    """Mean of every shown band in each segment, shape (n_labels, 1 or 3); zero for a segment without pixels."""
    labels: Integers
    """Labels of every `step`-th pixel in both directions, two-dimensional."""
    pixels: AnyArray
    """Shown bands of the same pixels."""
    is_photograph: bool
    """Whether 0 is black and 255 white."""
    n_without: int | None = None
    """Pixels without data, whose label in the small picture is the number of segments; None if all must hold some."""
    more: Any = None
    """Value of another statistic of labels and pixels, if there is one."""

    @property
    def colours(self) -> Integers:
        """Return the mean colour of every segment, shape (n_labels, 3), uint8 (thesis section 4.4.5)."""
        return self._as_colours(self.means)

    @property
    def photograph(self) -> Integers:
        """Return the small picture of the image itself, shape (lines, columns, 3), uint8."""
        return self._as_colours(self.pixels)

    def segmented(self) -> Integers:
        """Return the small picture in the mean colours of the segments, with darker boundaries.

        Pixels without data are transparent: there is a fourth colour if pixels may hold none.
        """
        colours = np.concatenate([self.colours, np.zeros((1, 3), np.uint8)])
        colours = np.concatenate([colours, np.rint(colours * BOUNDARY).astype(np.uint8)])
        picture = colours[self.labels.astype(np.intp) + (len(self.means) + 1) * _boundaries(self.labels)]
        if self.n_without is None:
            return picture
        return np.dstack([picture, np.where(self._there(), np.uint8(255), np.uint8(0))])

    def _there(self) -> Booleans:
        """Return which pixels of the small picture hold data."""
        return np.asarray(self.labels != len(self.means))

    def _as_colours(self, values: AnyArray) -> Integers:
        there = self._there()
        if self.is_photograph or not there.any():
            low, high = np.zeros(1), np.full(1, 255.0)
        else:
            bands = self.pixels[there].T
            low, high = np.array([np.percentile(band.astype(np.float64), SHOWN_RANGE) for band in bands]).T
        shares = (values - low) / np.where(high > low, high - low, 1)
        return np.broadcast_to(np.rint(255 * shares.clip(0, 1)), (*values.shape[:-1], 3)).astype(np.uint8)


@dataclass(frozen=True)
class Overview(Statistic):
    """Sizes and mean colours of segments, and a regular subset of the pixels of labels and image.

    The blocks hold whole lines: labels, and rows that start with the pixels' bands.
    """

    order: PixelOrder
    n_labels: int
    n_shown: int
    """Number of shown bands: 3, or 1 as grey."""
    is_photograph: bool = False
    """Whether 0 is black and 255 white in all bands."""
    largest: int = LARGEST
    """Most pixels on each side of the small picture."""
    lowest: int = 0
    """The lowest label, which the first of the segments has: -1 for pixels in none."""
    marked: bool = False
    """Whether pixels without data have the label after the highest."""

    @property
    def step(self) -> int:
        """Return the distance between the pixels in the subset."""
        return -(-max(self.order.height, self.order.width) // self.largest)

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, Floats, list]:
        labels = blocks[0] if not self.lowest else blocks[0].astype(np.int32) - self.lowest
        pixels = blocks[1][:, : self.n_shown]
        sizes, sums = np.zeros(self.n_labels, dtype=np.int64), np.zeros((self.n_labels, pixels.shape[1]))
        add_to_labels(labels.astype(np.int32, copy=False), loop_ready(blocks[1]), sizes, sums)
        y, x = self.order.block_of(start, len(labels))
        shape, step = (y.stop - y.start, x.stop - x.start), self.step
        every = slice(-y.start % step, None, step), slice(-x.start % step, None, step)
        corner = -(-y.start // step), -(-x.start // step)
        shown = labels.reshape(shape)[every].copy(), pixels.reshape(*shape, -1)[every].copy()
        if self.marked:
            shown[1][shown[0] == self.n_labels] = 0
        return sizes, sums, [(corner, *shown)]

    def finalise(self, state: tuple[Integers, Floats, list]) -> SegmentSummary:
        sizes, sums, pieces = state
        shape = -(-self.order.height // self.step), -(-self.order.width // self.step)
        small: list[AnyArray] = [np.empty(shape + part.shape[2:], part.dtype) for part in pieces[0][1:]]
        for (y, x), *parts in pieces:
            for whole, part in zip(small, parts):
                whole[y : y + part.shape[0], x : x + part.shape[1]] = part
        n_without = self.order.n_rows - int(sizes.sum()) if self.marked else None
        return SegmentSummary(
            sizes, sums / np.maximum(sizes, 1)[:, None], small[0], small[1], self.is_photograph, n_without
        )


def overview_of(image: Image, n_labels: int, lowest: int = 0) -> Overview:
    """Return the overview of an image; one or three bands of bytes count as a photograph."""
    n_bands = image.shape[2]
    is_photograph = image.dtype == np.uint8 and n_bands in (1, 3)
    n_shown, marked = 3 if n_bands > 2 else 1, image.validity is not None
    return Overview(image.order, n_labels, n_shown, is_photograph, lowest=lowest, marked=marked)


def _boundaries(labels: Integers) -> Integers:
    """Return 1 where the label differs from that of the pixel to the left or above, else 0."""
    edge = np.zeros(labels.shape, np.intp)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    return edge
