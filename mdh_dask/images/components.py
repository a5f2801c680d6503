"""Regions: connected pixels of one segment in a stored image of labels, exact whatever its blocks."""

from dataclasses import dataclass, field
from typing import NamedTuple

import dask.array as da
import numpy as np
import zarr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._jit.components import measure_components, number_components
from .._typing import AnyArray, Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.blocks import CONFIG
from .image import Block

NONE = np.zeros(0, np.int64)

SIDE = 2048
"""Approximate lines and columns of a block of whole chunks."""


class Regions(NamedTuple):
    """The regions of an image, numbered by their first pixels, line by line."""

    classes: Integers
    """Segment of each region, shape (n_regions,)."""
    areas: Integers
    """Pixels of each region, of the same shape."""
    boxes: Integers
    """First and last line, first and last column, shape (n_regions, 4)."""
    firsts: Integers
    """Number of the first pixel, ``line * width + column``."""
    of_parts: Integers
    """Region of each component of each block, in the order of blocks."""
    starts: Integers
    """Number of components in all blocks before each."""

    @property
    def n(self) -> int:
        """Return the number of regions."""
        return len(self.classes)


@dataclass(frozen=True)
class Grid:
    """Blocks of whole chunks of an array, by rows of blocks."""

    array: zarr.Array

    @property
    def sides(self) -> tuple[int, int]:
        """Return lines and columns of blocks."""
        lines, columns = (max(SIDE // chunk, 1) * chunk for chunk in self.array.chunks)
        return lines, columns

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of blocks."""
        (height, width), (lines, columns) = self.array.shape, self.sides
        return -(-height // lines), -(-width // columns)

    def block(self, i: int) -> Block:
        """Return the `i`-th block."""
        (height, width), (lines, columns) = self.array.shape, self.sides
        y, x = divmod(i, self.shape[1])
        return (slice(y * lines, min((y + 1) * lines, height)), slice(x * columns, min((x + 1) * columns, width)))

    def numbers(self) -> da.Array:
        """Return the numbers of the blocks, one in a chunk."""
        return da.arange(self.shape[0] * self.shape[1], chunks=1)


class Part(NamedTuple):
    """The components of one block."""

    classes: Integers
    areas: Integers
    boxes: Integers
    firsts: Integers
    edges: tuple[Integers, Integers, Integers, Integers]
    """Components of the first and the last line, the first and the last column."""


@dataclass(frozen=True)
class Parts(Statistic):
    """The components of all blocks of a grid, a list of `Part`; the rows are numbers of blocks."""

    grid: Grid

    # Labels may be written anew.
    journalled = False

    # The parts are listed in their order.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: AnyArray) -> list[Part]:
        """Find the components of blocks with these numbers."""
        return [self._part(self.grid.block(int(i))) for i in blocks[0]]

    def _part(self, block: Block) -> Part:
        classes, found, n = components_of(self.grid.array, block)
        areas, boxes = np.zeros(n, np.int64), np.tile(np.array([2**62, -1, 2**62, -1]), (n, 1))
        measure_components(found, areas, boxes)
        flat = found.ravel()
        places = np.flatnonzero(flat >= 0)
        first = np.empty(n, np.int64)
        first[flat[places[::-1]]] = places[::-1]  # the last to be written is the first pixel
        y, x = np.divmod(first, found.shape[1])
        of_class = classes.ravel()[first].astype(np.int64)
        boxes += np.repeat([block[0].start, block[1].start], 2)
        firsts = (y + block[0].start) * self.grid.array.shape[1] + x + block[1].start
        edges = (found[0].copy(), found[-1].copy(), found[:, 0].copy(), found[:, -1].copy())
        return Part(of_class, areas, boxes, firsts, edges)


def components_of(array: zarr.Array, block: Block) -> tuple[Integers, Integers, int]:
    """Return the classes of a block, the component of each pixel, and the number of components."""
    classes = np.asarray(array[block])
    found = np.empty(classes.shape, np.int32)
    return classes, found, int(number_components(classes, found))


def find_regions(labels: zarr.Array, progress: Progress | None = None) -> Regions:
    """Return the regions of a stored image of labels, in one pass over the labels; negative labels are in none.

    Memory of this process grows with the number of regions, not with their sizes.
    """
    grid = Grid(labels)
    parts: list[Part] = reduce_rows(Parts(grid), grid.numbers(), progress=progress)
    starts = np.concatenate([[0], np.cumsum([len(part.classes) for part in parts])]).astype(np.int64)
    n = int(starts[-1])
    classes = np.concatenate([part.classes for part in parts])
    met = [_met(parts, starts, a, b, sides) for a, b, sides in _neighbours(grid.shape)]
    one, other = (np.concatenate([pair[i] for pair in met] or [np.zeros(0, np.int64)]) for i in range(2))
    there = (one >= 0) & (other >= 0)
    one, other = one[there], other[there]
    same = classes[one] == classes[other]
    graph = coo_array((np.ones(same.sum(), np.int8), (one[same], other[same])), shape=(n, n))
    n_regions, of_parts = connected_components(graph, directed=False) if n else (0, np.zeros(0, np.int64))
    areas, boxes, firsts = (np.concatenate([getattr(part, name) for part in parts]) for name in Part._fields[1:4])
    return _grouped(classes, areas, boxes, firsts, of_parts, n_regions, starts[:-1])


def _grouped(
    classes: Integers, areas: Integers, boxes: Integers, firsts: Integers, groups: Integers, n: int, starts: Integers
) -> Regions:
    """Return `n` groups of components as regions, numbered by their first pixels."""
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, groups, firsts)
    order = np.argsort(first)
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    region = number[groups] if n else groups.astype(np.int64)
    of_region, whole, around = np.zeros(n, np.int64), np.zeros(n, np.int64), np.tile([2**62, -1, 2**62, -1], (n, 1))
    of_region[region] = classes
    np.add.at(whole, region, areas)
    for j, least in enumerate((np.minimum, np.maximum, np.minimum, np.maximum)):
        least.at(around[:, j], region, boxes[:, j])
    return Regions(of_region, whole, around, first[order], region, starts)


def _neighbours(shape: tuple[int, int]) -> list[tuple[int, int, tuple[int, int]]]:
    """Return pairs of adjacent blocks with the edges of both that meet."""
    numbers = np.arange(shape[0] * shape[1]).reshape(shape)
    below = zip(numbers[:-1].ravel(), numbers[1:].ravel(), [(1, 0)] * numbers[1:].size)
    beside = zip(numbers[:, :-1].ravel(), numbers[:, 1:].ravel(), [(3, 2)] * numbers[:, 1:].size)
    return [(int(a), int(b), sides) for a, b, sides in [*below, *beside]]


def _met(parts: list[Part], starts: Integers, a: int, b: int, sides: tuple[int, int]) -> list[Integers]:
    """Return the components on both sides of a border of blocks, -1 for none."""
    found = []
    for block, side in zip((a, b), sides):
        edge = parts[block].edges[side].astype(np.int64)
        found.append(np.where(edge < 0, -1, edge + starts[block]))
    return found


@dataclass(frozen=True)
class WriteRegions(Statistic):
    """Write the region of every pixel to an array with the grid of the labels, -1 for none; the value is None."""

    grid: Grid
    target: zarr.Array
    of_parts: Integers = field(repr=False)
    starts: Integers = field(repr=False)

    # The written regions are not in the journal.
    journalled = False

    def chunk(self, start: int, *blocks: AnyArray) -> None:
        """Write the blocks with these numbers."""
        for i in map(int, blocks[0]):
            block = self.grid.block(i)
            _, found, n = components_of(self.grid.array, block)
            first = int(self.starts[i])
            numbers = np.append(self.of_parts[first : first + n], -1)  # which is what -1 picks
            self.target[block] = numbers[found].astype(self.target.dtype)

    def combine(self, left: None, right: None) -> None:
        """Do nothing."""


def write_regions(labels: zarr.Array, regions: Regions, place: str, progress: Progress | None = None) -> zarr.Array:
    """Write the regions of labels to a Zarr array beside them, in one pass over the labels."""
    target = zarr.create_array(
        place, shape=labels.shape, chunks=labels.chunks, dtype="int32" if regions.n < 2**31 else "int64",
        overwrite=True, config=CONFIG,
    )  # fmt: skip
    grid = Grid(labels)
    reduce_rows(WriteRegions(grid, target, regions.of_parts, regions.starts), grid.numbers(), progress=progress)
    return target
