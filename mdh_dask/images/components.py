"""Regions: connected pixels of one segment in a stored image of labels, exact whatever its blocks."""

import heapq
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

import numpy as np
import zarr
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .._jit.communities import measure_components, number_components
from .._typing import AnyArray, Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.blocks import CONFIG, Grid
from .image import Block

NONE, NO_BOX = np.zeros(0, np.int64), np.array([2**62, -1, 2**62, -1])

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
    borders: tuple[Integers, Integers, Integers]
    """Pairs of neighbours, the lower first, and the number of edges of pixels that they share."""
    of_parts: Integers
    """Region of each component of each block, in the order of blocks."""
    starts: Integers
    """Number of components in all blocks before each."""

    @property
    def n(self) -> int:
        """Return the number of regions."""
        return len(self.classes)


class Part(NamedTuple):
    """The components of one block."""

    classes: Integers
    areas: Integers
    boxes: Integers
    firsts: Integers
    borders: tuple[Integers, Integers, Integers]
    edges: tuple[Integers, Integers, Integers, Integers]
    """Components of the first and the last line, the first and the last column."""


@dataclass(frozen=True)
class Parts(Statistic):
    """The components of all blocks of a grid, a list of `Part`; the rows are numbers of blocks."""

    grid: Grid
    borders: bool = True
    """Whether the borders between components are wanted."""

    # Labels may be written anew.
    journalled = False

    # The parts are listed in their order.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: AnyArray) -> list[Part]:
        return [self._part(self.grid.block(int(i))) for i in blocks[0]]

    def _part(self, block: Block) -> Part:
        classes, found, n = components_of(self.grid.array, block)
        areas, boxes = np.zeros(n, np.int64), np.tile(NO_BOX, (n, 1))
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
        pairs = [(found[1:], found[:-1]), (found[:, 1:], found[:, :-1])] if self.borders else []
        borders = added_up(*(np.concatenate([NONE, *(pair[i].ravel() for pair in pairs)]) for i in range(2)))
        return Part(of_class, areas, boxes, firsts, borders, edges)


def components_of(array: zarr.Array, block: Block) -> tuple[Integers, Integers, int]:
    """Return the classes of a block, the component of each pixel, and the number of components."""
    classes = np.asarray(array[block])
    found = np.empty(classes.shape, np.int32)
    return classes, found, int(number_components(classes, found))


def added_up(one: Integers, other: Integers, lengths: Integers | None = None) -> tuple[Integers, Integers, Integers]:
    """Return different pairs of numbers, the lower first, with the sums of their lengths, by default one each."""
    there = (one >= 0) & (other >= 0) & (one != other)
    low, high = np.minimum(one, other)[there].astype(np.int64), np.maximum(one, other)[there].astype(np.int64)
    factor = int(high.max(initial=0)) + 1
    keys, inverse = np.unique(low * factor + high, return_inverse=True)
    sums = np.bincount(inverse, None if lengths is None else lengths[there], len(keys)).astype(np.int64)
    return keys // factor, keys % factor, sums


def find_regions(labels: zarr.Array, progress: Progress | None = None, borders: bool = True) -> Regions:
    """Return the regions of a stored image of labels, in one pass over the labels; negative labels are in none.

    Without `borders` these are empty. Memory grows with the number of regions, not with their sizes.
    """
    grid = Grid(labels, SIDE)
    parts: list[Part] = reduce_rows(Parts(grid, borders), grid.numbers(), progress=progress)
    starts = np.concatenate([[0], np.cumsum([len(part.classes) for part in parts])]).astype(np.int64)
    n = int(starts[-1])
    classes = np.concatenate([part.classes for part in parts])
    one, other = _met(parts, starts, grid.shape)
    same = classes[one] == classes[other]
    graph = coo_array((np.ones(same.sum(), np.int8), (one[same], other[same])), shape=(n, n))
    n_regions, of_parts = connected_components(graph, directed=False) if n else (0, np.zeros(0, np.int64))
    apart = ~same & borders
    inside = [[side + start for side in part.borders[:2]] for part, start in zip(parts, starts)]
    pairs = [np.concatenate([*(p[i] for p in inside), edge[apart]]) for i, edge in enumerate((one, other))]
    lengths = np.concatenate([*(part.borders[2] for part in parts), np.ones(apart.sum(), np.int64)])
    areas, boxes, firsts = map(np.concatenate, zip(*((part.areas, part.boxes, part.firsts) for part in parts)))
    whole = Regions(classes, areas, boxes, firsts, (pairs[0], pairs[1], lengths), np.arange(n), starts[:-1])
    return grouped(whole, of_parts, n_regions)


def grouped(regions: Regions, groups: Integers, n_groups: int, classes: Integers | None = None) -> Regions:
    """Return the groups of regions as regions, numbered by their first pixels; `classes` are those of the groups."""
    firsts = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(firsts, groups, regions.firsts)
    order = np.argsort(firsts)
    of_old = np.argsort(order)[groups]
    if classes is None:
        classes = np.zeros(n_groups, np.int64)
        classes[groups] = regions.classes
    boxes = np.tile(NO_BOX, (n_groups, 1))
    for j, least in enumerate((np.minimum, np.maximum, np.minimum, np.maximum)):
        least.at(boxes[:, j], of_old, regions.boxes[:, j])
    areas = np.bincount(of_old, regions.areas, n_groups).astype(np.int64)
    one, other, lengths = regions.borders
    borders = added_up(of_old[one], of_old[other], lengths)
    return Regions(classes[order], areas, boxes, firsts[order], borders, of_old[regions.of_parts], regions.starts)


def _met(parts: list[Part], starts: Integers, shape: tuple[int, int]) -> tuple[Integers, Integers]:
    """Return the components of the pixels on both sides of the borders of blocks."""
    numbers = np.arange(len(parts)).reshape(shape)
    below = zip(numbers[:-1].ravel(), numbers[1:].ravel(), repeat((1, 0)))
    beside = zip(numbers[:, :-1].ravel(), numbers[:, 1:].ravel(), repeat((3, 2)))
    one, other = [NONE], [NONE]
    for a, b, (last, first) in (*below, *beside):
        left, right = parts[a].edges[last], parts[b].edges[first]
        there = (left >= 0) & (right >= 0)
        one.append(left[there] + starts[a])
        other.append(right[there] + starts[b])
    return np.concatenate(one), np.concatenate(other)


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
    grid = Grid(labels, SIDE)
    reduce_rows(WriteRegions(grid, target, regions.of_parts, regions.starts), grid.numbers(), progress=progress)
    return target


def sieved(regions: Regions, least: int) -> Regions:
    """Merge regions of fewer pixels than `least` into the neighbour with which they share the longest border.

    The smallest region goes first; of equal borders the one with the larger, then the earlier neighbour counts. Merged
    regions are in the segment of the larger part; regions of one segment that come to touch become one. The result
    depends only on the regions, which do not depend on blocks. Time grows with the number of regions.
    """
    merging = _Merging(regions)
    while (smallest := merging.smallest()) is not None and merging.areas[smallest] < least:
        merging.merge(smallest)
    groups, inverse = np.unique([merging.root(i) for i in range(regions.n)], return_inverse=True)
    return grouped(regions, inverse, len(groups), regions.classes[groups.astype(np.int64)])


class _Merging:
    """Regions that are being merged, with the lengths of their borders."""

    def __init__(self, regions: Regions) -> None:
        self.areas, self.classes = regions.areas.tolist(), regions.classes.tolist()
        self.into, self.firsts = list(range(regions.n)), regions.firsts.tolist()
        self.borders: list[dict[int, int]] = [{} for _ in self.into]
        for a, b, length in zip(*(side.tolist() for side in regions.borders)):
            self.borders[a][b] = self.borders[b][a] = length
        self.heap = list(zip(self.areas, self.firsts, self.into))
        heapq.heapify(self.heap)

    def smallest(self) -> int | None:
        """Remove and return the smallest region that has neighbours; None if there is none."""
        while self.heap:
            area, _, i = heapq.heappop(self.heap)
            if self.into[i] == i and self.areas[i] == area and self.borders[i]:
                return i
        return None

    def merge(self, i: int) -> None:
        """Merge a region into its neighbour of longest border, with others of that segment which then touch it."""
        borders = self.borders[i]
        to = max(borders, key=lambda j: (borders[j], self.areas[j], -self.firsts[j]))
        touching = [j for j in borders if j != to and self.classes[j] == self.classes[to]]
        for j in (i, *touching):
            self._join(j, to)
        heapq.heappush(self.heap, (self.areas[to], self.firsts[to], to))

    def _join(self, i: int, to: int) -> None:
        for j, length in self.borders[i].items():
            del self.borders[j][i]
            if j != to:
                self.borders[j][to] = self.borders[to][j] = self.borders[j].get(to, 0) + length
        self.borders[i] = {}
        self.areas[to] += self.areas[i]
        self.firsts[to] = min(self.firsts[to], self.firsts[i])
        self.into[i] = to

    def root(self, i: int) -> int:
        """Return the region that a region has been merged into."""
        while self.into[i] != i:
            self.into[i] = self.into[self.into[i]]
            i = self.into[i]
        return i
