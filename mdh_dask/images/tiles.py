"""Tiles of images as groups of pixels that depend on each other, and how large they must be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, log2, sqrt
from typing import NamedTuple

import dask.array as da
import numpy as np

from .._jit.hashing import hash_again
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from .._words import full_count
from ..chunks import Progress, Statistic, reduce_rows
from ..splits.dependence import parts_in
from .features import Features
from .image import Image
from .rows import pixel_rows

MOST_TILES = 2**16
"""About the most tiles of an image whose sums are compared to find the side of independent ones."""

MOST_GIVEN = 2**20
"""Most tiles of a given side: their sums are in memory."""

PARTS = 1
"""Key of the hashes that deal tiles to parts."""

LEVEL = 2.5
"""A side is large enough if tiles of twice that side vary less than so many times as much.

The design effect of tiles within one patch grows with their area, fourfold, and that of independent tiles does not
grow: this is midway. Larger tiles are more independent, but fewer, and a test of few tiles confirms nothing."""


@storable
class Tiles(NamedTuple):
    """How images are divided into tiles."""

    side: int
    """Lines and columns of a tile."""
    n_tiles: int
    """Tiles that hold data."""
    n_pixels: int
    """Pixels with data."""
    design_effect: float
    """How many times as much the sums of tiles vary as those of independent pixels, in the most dependent column."""

    @property
    def n_independent(self) -> float:
        """Number of independent pixels whose sums in tiles would vary as much."""
        return self.n_pixels / max(self.design_effect, 1.0)

    def __str__(self) -> str:
        tiles, n = full_count(self.n_tiles, "tile"), full_count(round(self.n_independent), "independent pixel")
        return (
            f"{tiles} of {self.side} x {self.side} pixels, which vary as {n} (design effect {self.design_effect:.3g})"
        )

    def check(self) -> None:
        """Raise an error for values that no image has."""
        if min(self.side, self.n_tiles, self.n_pixels) < 1 or not 0 <= self.design_effect < float("inf"):
            raise ValueError(f"expected sides and numbers of tiles from 1; got {tuple(self)}")


class TiledRows(NamedTuple):
    """Rows of pixels, and the tile of each."""

    rows: da.Array
    tiles: da.Array
    """Shape (n_rows,), int64: line and column of the tile in its image, and the image, as one number."""
    names: Integers
    """All tiles that hold data, in ascending order."""
    n: Integers
    """Number of pixels with data in each."""
    summary: Tiles


@storable
class TileSums(NamedTuple):
    """Numbers of pixels and sums of columns in tiles, and sums of squares of all."""

    tiles: Integers
    n: Integers
    sums: Floats
    """Shape (n_tiles, n_columns)."""
    squares: Floats
    """Shape (n_columns,)."""


@dataclass(frozen=True)
class SumTiles(Statistic):
    """Sums of the columns of pixels in tiles; the last columns of rows are line, column and number of the image."""

    side: int

    def chunk(self, start: int, *blocks: AnyArray) -> TileSums:
        rows = blocks[0][:, :-3].astype(np.float64)
        tiles = tiles_of(blocks[0], self.side)
        return _merged(TileSums(tiles, np.ones(len(rows), np.int64), rows, (rows**2).sum(axis=0)), tiles)

    def combine(self, left: TileSums, right: TileSums) -> TileSums:
        tiles, n, sums = (np.concatenate(pair) for pair in zip(left[:3], right[:3]))
        return _merged(TileSums(tiles, n, sums, left.squares + right.squares), tiles)


def tiled_rows(
    images: Sequence[Image], features: Features | None = None, side: int | None = None, progress: Progress | None = None
) -> TiledRows:
    """Return the rows of the pixels of images of the same bands, one after another, and their tiles.

    Images with pixels without data are `counted`; the columns have no coordinates and factors. By default the side of a
    tile is the smallest power of two whose tiles are nearly independent by the sums of every column, as a valley may
    lie along any of them. One pass finds it; see `LEVEL`.
    """
    features = features or Features()
    located = replace(features, coordinates=True)
    parts = [_with_number(pixel_rows(image, located), number) for number, image in enumerate(images)]
    both = da.concatenate(parts)
    n_pixels = sum(image.order.n_rows for image in images)
    base = 2 ** max(0, ceil(log2(n_pixels / MOST_TILES) / 2))
    if side is not None and n_pixels > MOST_GIVEN * side**2:
        least = ceil(sqrt(n_pixels / MOST_GIVEN))
        raise ValueError(
            f"expected at most {MOST_GIVEN:,} tiles; got tiles of {side} pixels: at least {least} are needed"
        )
    sums: TileSums = reduce_rows(SumTiles(side or base), both, progress=progress)
    merged = [*wider(sums)]
    effects = np.array([design_effects(one) for one in merged]).round(6)  # the last bits of sums depend on the chunks
    place = 0 if side else max(map(level_of, effects.T))
    side = side or base * 2**place
    rows = both[:, :-3].astype(features.dtype(images[0].dtype))
    tiles = both.map_blocks(tiles_of, side, dtype=np.int64, drop_axis=1)
    names, n = merged[place][:2]
    return TiledRows(rows, tiles, names, n, Tiles(side, len(names), int(n.sum()), float(effects[place].max())))


def _with_number(rows: da.Array, number: int) -> da.Array:
    """Return rows with a last column, the number of their image."""
    chunks, beside = (rows.chunks[0], (rows.shape[1] + 1,)), ((0, 0), (0, 1))
    return rows.map_blocks(np.pad, pad_width=beside, constant_values=number, dtype=rows.dtype, chunks=chunks)


def tiles_of(rows: AnyArray, side: int) -> Integers:
    """Return the tiles of pixels, whose last three columns are line, column and number of the image."""
    line, column = (rows[:, -3:-1].astype(np.int64) // side).T
    return (rows[:, -1].astype(np.int64) << 44) | (line << 22) | column


def parts_by_tiles(image: Image, side: int) -> da.Array:
    """Return the part of each pixel with data, which a hash deals to its tile: no pass asks for the tiles.

    The image is `counted`; the array is lazy, of shape (n_rows,), uint8.
    """
    located = _with_number(pixel_rows(image, Features(coordinates=True)), 0)
    return located.map_blocks(_hashed_parts, side, dtype=np.uint8, drop_axis=1)


def _hashed_parts(rows: AnyArray, side: int) -> Integers:
    return parts_in(hash_again(tiles_of(rows, side).astype(np.uint64), PARTS))


def wider(sums: TileSums) -> Iterator[TileSums]:
    """Yield the sums of tiles, of tiles of twice the side, and so on, as long as there are four parts of images."""
    yield sums
    while len(sums.tiles) >= 4 and (sums.tiles & 0xFFFFFFFFFFF).any():
        image, line, column = sums.tiles >> 44, (sums.tiles >> 22) & 0x3FFFFF, sums.tiles & 0x3FFFFF
        sums = _merged(sums, (image << 44) | ((line >> 1) << 22) | (column >> 1))
        if len(sums.tiles) >= 4:
            yield sums


def design_effects(sums: TileSums) -> Floats:
    """Return how many times as much the sums of tiles vary as those of independent pixels, for each column."""
    n_rows = sums.n.sum()
    mean = sums.sums.sum(axis=0) / n_rows
    variance = sums.squares / n_rows - mean**2
    varies = variance > 1e-12 * np.abs(sums.squares / n_rows)
    between = ((sums.sums - sums.n[:, None] * mean) ** 2).sum(axis=0)
    return np.divide(between, n_rows * variance, out=np.ones(len(mean)), where=varies)


def level_of(effects: Sequence[float]) -> int:
    """Return the place of the first effect that the next exceeds little, the last one if there is none."""
    level = (i for i, (own, wider) in enumerate(pairwise(effects)) if wider < LEVEL * own)
    return next(level, len(effects) - 1)


def _merged(sums: TileSums, tiles: Integers) -> TileSums:
    """Return the sums of tiles that get other names, of which several may be the same."""
    names, place = np.unique(tiles, return_inverse=True)
    n = np.bincount(place, sums.n, len(names)).astype(np.int64)
    added: Floats = np.stack([np.bincount(place, column, len(names)) for column in sums.sums.T], axis=1)
    return TileSums(names, n, added, sums.squares)
