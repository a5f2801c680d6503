"""The table of regions, written band by band: what each is, the means of its bands, and its polygon."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, Self

import dask.array as da
import numpy as np
import zarr

from .._jit.rows import loop_ready
from .._locations import ending_of
from .._process import needed
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.staging import staged_file
from ..summaries.moments import MomentPass, largest_of, means_of, tops_of
from .components import NONE, SIDE, Regions
from .image import Image
from .label_arrays import StoredLabels
from .maps import place_of
from .rows import all_rows

ENDING = ".geoparquet"


def holds_polygons(path: str | os.PathLike[str]) -> bool:
    """Return whether a table of regions holds their polygons, by its ending."""
    return ending_of(path) == ENDING


@dataclass(frozen=True)
class Polygons:
    """The parts of polygons that were found so far, of regions that have not been taken."""

    transform: tuple[float, ...]
    """a, b, c, d, e, f of ``(a column + b line + c, d column + e line + f)``."""
    crs: Any = None
    """The coordinate system as PROJJSON, None if it is unknown."""
    parts: dict[int, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, image: Image) -> Self:
        """Return none yet, where an image lies; without a place coordinates are columns and lines."""
        place = place_of(image)
        if place is None:
            return cls((1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
        return cls(tuple(place.transform[:6]), None if place.crs is None else place.crs.to_dict(projjson=True))

    def add(self, numbers: zarr.Array, first: int, end: int) -> None:
        """Find the parts of regions between two lines of the image of their numbers, block by block."""
        shapes = needed("rasterio.features", "maps").shapes
        shape = needed("shapely.geometry", "maps").shape
        for y in range(first, end, SIDE):
            for x in range(0, numbers.shape[1], SIDE):
                block = np.asarray(numbers[y : min(y + SIDE, end), x : x + SIDE])
                inside = block >= 0
                ids, local = np.unique(block[inside], return_inverse=True)
                drawn = np.zeros(block.shape, np.int32)  # GDAL knows no larger numbers everywhere
                drawn[inside] = local
                for found, i in shapes(drawn, mask=inside, connectivity=4, transform=(1, 0, x, 0, 1, y)):
                    self.parts.setdefault(int(ids[int(i)]), []).append(shape(found))

    def take(self, ids: Integers) -> list[bytes]:
        """Return the polygons of regions as WKB, and forget them."""
        shapely = needed("shapely", "maps")
        parts = [self.parts.pop(i) for i in ids.tolist()]
        whole = np.array([own[0] if len(own) == 1 else shapely.union_all(own) for own in parts], object)
        a, b, c, d, e, f = self.transform

        def placed(at: AnyArray) -> AnyArray:
            return at @ np.array([[a, d], [b, e]]) + (c, f)

        return shapely.to_wkb(shapely.transform(whole, placed)).tolist()

    def about(self) -> dict[str, Any]:
        """Return the metadata of a GeoParquet file."""
        column = {"encoding": "WKB", "geometry_types": ["Polygon"], "crs": self.crs}
        return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}


class Sums(NamedTuple):
    """Numbers of regions, of pixels with data in each, and the sums of their bands, see `SlicedSums`."""

    ids: Integers
    n_rows: Integers
    sums: Integers

    def of(self, which: Integers | Booleans) -> "Sums":
        """Return those of some regions."""
        return Sums(*(part[which] for part in self))


@dataclass(frozen=True)
class LargestValues(Statistic):
    """The largest absolute value of every band, from which all sums of regions have the same slices."""

    n_bands: int

    def chunk(self, start: int, *blocks: AnyArray) -> Floats:
        return largest_of(loop_ready(blocks[1][:, : self.n_bands]), np.zeros(self.n_bands))

    def combine(self, left: Floats, right: Floats) -> Floats:
        return np.maximum(left, right)


@dataclass(frozen=True)
class RegionSums(Statistic):
    """Sums of the bands of every region; the blocks are `MarkedRows` and the numbers of their regions."""

    top: Integers

    # The regions are not in the journal.
    journalled = False

    # Blocks of `MarkedRows` cannot be divided.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: Any) -> Sums:
        marked, numbers = blocks
        inside = numbers >= 0
        ids, labels = np.unique(numbers[inside], return_inverse=True)
        moments = MomentPass(len(ids), np.zeros(self.top.shape[1]), top=self.top)
        found = moments.chunk(start, labels, marked.rows[inside])
        return Sums(ids, found.n_rows, found.sums)

    def combine(self, left: Sums, right: Sums) -> Sums:
        ids = np.union1d(left.ids, right.ids)
        n_rows, sums = np.zeros(len(ids), np.int64), np.zeros((len(ids), *left.sums.shape[1:]), np.int64)
        for part in (left, right):
            place = np.searchsorted(ids, part.ids)
            n_rows[place] += part.n_rows
            sums[place] += part.sums
        return Sums(ids, n_rows, sums)


def write_table(
    path: str, numbers: StoredLabels, image: Image, regions: Regions, largest: Floats,
    bar: Callable[[str], Progress | None], overwrite: bool,
) -> None:  # fmt: skip
    """Write the table of regions as a Parquet file, in one pass over the image; those that end first come first.

    Columns are ``region``, ``segment``, ``area`` in pixels, ``first_line``, ``last_line``, ``first_column``,
    ``last_column``; ``x`` and ``y`` of the middle of this box, if the image has coordinates; and ``mean_`` with the
    name of each band, or its number unless all have names of their own. Ending in ``.geoparquet``, also ``geometry``,
    the polygon, along the edges of pixels.

    Sums and polygons are kept only for regions that go on below the lines that were read. `largest` is the value of
    `LargestValues`; `bar` returns the progress bar for a text.
    """
    parquet = needed("pyarrow.parquet", "parquet")
    polygons = Polygons.of(image) if holds_polygons(path) else None
    schema = _rows(regions, NONE, np.zeros((0, image.shape[2])), image, polygons).schema
    with staged_file(path, overwrite) as file, parquet.ParquetWriter(file, schema) as writer:
        for lines, ids, means in _measured(numbers, image, regions, largest, bar):
            if polygons is not None:
                polygons.add(numbers.array, lines.start, lines.stop)
            if len(ids):
                writer.write_table(_rows(regions, ids, means, image, polygons))


def _measured(
    numbers: StoredLabels, image: Image, regions: Regions, largest: Floats, bar: Callable[[str], Progress | None]
) -> Iterator[tuple[slice, Integers, Floats]]:
    """Yield bands of lines of an image with the regions that end in each and the means of their bands."""
    statistic, going_on = RegionSums(tops_of(largest)), None
    for lines, *arrays in _bands(image, numbers):
        found = reduce_rows(statistic, *arrays, progress=bar(f"measuring to line {lines.stop}"))
        if going_on is not None:
            found = statistic.combine(going_on, found)
        last = regions.boxes[found.ids, 1]
        done = np.flatnonzero(last < lines.stop)
        done = done[np.lexsort((found.ids[done], last[done]))]  # whatever the bands are
        yield lines, found.ids[done], means_of(found.n_rows[done], found.sums[done], statistic.top)
        going_on = found.of(last >= lines.stop)


def _rows(regions: Regions, ids: Integers, means: Floats, image: Image, polygons: Polygons | None) -> Any:
    pyarrow, boxes = needed("pyarrow", "parquet"), regions.boxes[ids]
    ids = ids.astype(np.int64, copy=False)
    columns: dict[str, Any] = {"region": ids, "segment": regions.classes[ids], "area": regions.areas[ids]}
    columns |= dict(zip(("first_line", "last_line", "first_column", "last_column"), boxes.T))
    columns |= dict(zip("xy", _middles(boxes, image)))
    names = image.bands if len({*image.bands}) == len(means.T) else count()
    columns |= {f"mean_{name}": mean for name, mean in zip(names, means.T)}
    columns = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    if polygons is None:
        return pyarrow.table(columns)
    columns["geometry"] = pyarrow.array(polygons.take(ids), pyarrow.binary())
    return pyarrow.table(columns).replace_schema_metadata({"geo": json.dumps(polygons.about())})


def _middles(boxes: Integers, image: Image) -> tuple[Floats, ...]:
    """Return the coordinates of the middles of boxes, or nothing without any."""
    if "spatial:transform" not in image.georeference:
        return ()
    a, b, c, d, e, f = image.georeference["spatial:transform"]
    half = 0.0 if image.georeference.get("spatial:registration") == "node" else 0.5
    line, column = boxes[:, :2].mean(axis=1) + half, boxes[:, 2:].mean(axis=1) + half
    return a * column + b * line + c, d * column + e * line + f


def _bands(image: Image, numbers: StoredLabels) -> Iterator[tuple[slice, da.Array, da.Array]]:
    """Yield about `SIDE` lines after another, with the rows of all columns and the numbers of their regions."""
    rows = all_rows(image)  # of which known blocks without data are not read
    unit = rows.chunks[0][0] // min(image.order.panel, image.shape[1])
    numbers_of_rows = numbers.rows(unit)
    blocks = np.arange(rows.numblocks[0]).reshape(-1, -(-image.shape[0] // unit))  # by panels
    step = max(1, SIDE // unit)
    for i in range(0, blocks.shape[1], step):
        own = blocks[:, i : i + step].ravel().tolist()
        yield slice(i * unit, min((i + step) * unit, image.shape[0])), rows.blocks[own], numbers_of_rows.blocks[own]
