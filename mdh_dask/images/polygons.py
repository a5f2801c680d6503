"""Polygons of regions along the edges of their pixels, put together band by band, for GeoParquet files."""

import os
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Self

import numpy as np
import zarr

from .._locations import name_of
from .._packages import needed
from .._typing import AnyArray, Integers
from .components import SIDE
from .image import Image
from .maps import place_of

ENDING = ".geoparquet"


def holds_polygons(path: str | os.PathLike[str]) -> bool:
    """Return whether a table of regions holds their polygons, by its ending.

    Examples
    --------
    >>> holds_polygons("regions.geoparquet"), holds_polygons("regions.parquet")
    (True, False)
    """
    return PurePosixPath(name_of(path)).suffix.lower() == ENDING


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

        wkb: list[bytes] = shapely.to_wkb(shapely.transform(whole, placed)).tolist()
        return wkb

    def about(self) -> dict[str, Any]:
        """Return the metadata of a GeoParquet file."""
        column = {"encoding": "WKB", "geometry_types": ["Polygon"], "crs": self.crs}
        return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
