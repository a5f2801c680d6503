"""Small regions are merged into their neighbours."""

import heapq

import numpy as np

from .components import Regions, grouped


def sieved(regions: Regions, least: int) -> Regions:
    """Merge regions of fewer pixels into the neighbour with which they share the longest border.

    Parameters
    ----------
    regions : Regions
    least : int
        Fewest pixels of a region that has neighbours.

    Returns
    -------
    Regions
        The merged regions in the segment of the larger part: the smallest region goes first; of equal borders the one
        with the larger, then the earlier neighbour counts. Regions of one segment that come to touch become one.

    Notes
    -----
    The result depends only on the regions, which do not depend on blocks. Time grows with the number of regions.
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
