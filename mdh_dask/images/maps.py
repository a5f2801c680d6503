"""Labels as maps: cloud-optimised GeoTIFF with place, value without data, colours and names of the segments."""

import io
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import zarr

from .._locations import ending_of, hiding_credentials
from .._process import needed
from .._typing import AnyArray, Integers
from ..io.blocks import Grid
from ..io.paths import naming
from ..io.repositories import revision_of
from ..io.staging import staged_file
from .georeference import CRS, after
from .image import AS_STORED, Image, View

ENDINGS = (".tif", ".tiff")

TILE = 512
"""Lines and columns of the tiles of a map."""

LARGEST_OF = {"uint8": 255, "uint16": 65535, "int32": -1}
"""The value of pixels without data by type: the largest of those with a table of colours."""


class Place(NamedTuple):
    """Where an image lies, as rasterio has it."""

    crs: Any
    transform: Any
    gcps: tuple[Sequence[Any], Any] = ((), None)
    tags: Mapping[str, str] = {}


def is_map(path: str | os.PathLike[str] | None) -> bool:
    """Return whether labels at a path or URL are a map, by its ending."""
    return path is not None and ending_of(path) in ENDINGS


def hidden_array(path: str | os.PathLike[str]) -> str:
    """Return the path or URL of the hidden Zarr array that becomes a map."""
    if (node := revision_of(path)) is not None:
        return node.hidden("zarr")
    parent, slash, name = os.fspath(path).rpartition("/")
    return f"{parent}{slash}.{name}.zarr"


def place_of(image: Image) -> Place | None:
    """Return where an image lies, or None if that is unknown."""
    attributes = image.georeference
    with naming(f"{image.path} has coordinates that cannot be read", "mend or remove them"):
        if image.geo_tags:
            return _seen(_of_tags(image.geo_tags), image.view)
        if "spatial:transform" not in attributes:
            return None
        rasterio = needed("rasterio", "maps")
        a, b, c, d, e, f = attributes["spatial:transform"]
        if attributes.get("spatial:registration") == "node":
            c, f = c - (a + b) / 2, f - (d + e) / 2
        transform = rasterio.Affine(a, b, c, d, e, f)
        given = next((attributes[name] for name in CRS if name in attributes), None)
        return Place(None if given is None else rasterio.crs.CRS.from_user_input(given), transform)


def _of_tags(tags: Sequence[tuple]) -> Place:
    """Return the place that GDAL reads from the tags of a GeoTIFF, by way of one of a single pixel."""
    rasterio, tifffile = needed("rasterio", "maps"), needed("tifffile", "images")
    file = io.BytesIO()
    tifffile.imwrite(file, np.zeros((1, 1), np.uint8), extratags=tags, metadata=None)
    with _without_warnings(), rasterio.MemoryFile(file.getvalue()) as memory, memory.open() as found:
        point = {name: value for name, value in found.tags().items() if name == "AREA_OR_POINT"}
        return Place(found.crs, found.transform, found.gcps, point)


def _seen(place: Place, view: View) -> Place:
    """Return the place of an image that has the pixels of another where `view` says."""
    if view == AS_STORED:
        return place
    rasterio, (across, _, left, _, down, top) = needed("rasterio", "maps"), view
    points, crs = place.gcps
    moved = [
        rasterio.control.GroundControlPoint((p.row - top) / down, (p.col - left) / across, p.x, p.y, p.z)
        for p in points
    ]
    transform = place.transform if place.transform.is_identity else after(place.transform[:6], view)  # which is none
    return Place(place.crs, rasterio.Affine(*transform[:6]), (moved, crs), place.tags)


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Dataset has no geotransform")
        yield


@hiding_credentials()
def write_map(
    labels: zarr.Array,
    path: str | os.PathLike[str],
    place: Place | None,
    colours: Integers,
    names: Sequence[str],
    *,
    overwrite: bool = False,
    tags: Mapping[str, Any] | None = None,
) -> None:
    """Write labels as a cloud-optimised GeoTIFF, tile by tile, which appears when it is complete.

    Labels count from 0; all others are pixels without data. `colours`, shape (n_labels, 3), are a table of colours, and
    `names` are kept as tags ``CATEGORY_0``, ``CATEGORY_1`` and so on of the band; `tags` of the file become upper case.

    The dtype is uint8 with 255 for pixels without data, uint16 with 65535, or, without a table of colours, int32 with
    -1. One pass over the labels, and one over the map for its overviews, in this process.
    """
    about = {key.upper(): str(value) for key, value in (tags or {}).items()}
    with (
        staged_file(path, overwrite) as final,
        TemporaryDirectory(dir=final.parent, prefix=".map-") as folder,
    ):
        plain = Path(folder, "plain.tif")
        _write_plain(labels, plain, place, colours, names, about)
        _write_cog(plain, final)


def dtype_of(n_labels: int) -> str:
    """Return the dtype of a map."""
    return next(name for name in LARGEST_OF if n_labels <= LARGEST_OF[name] or name == "int32")


def _write_plain(
    labels: zarr.Array,
    file: Path,
    place: Place | None,
    colours: Integers,
    names: Sequence[str],
    tags: Mapping[str, str],
) -> None:
    rasterio = needed("rasterio", "maps")
    dtype, grid = dtype_of(len(colours)), Grid(labels, TILE)
    nodata, (height, width) = LARGEST_OF[dtype], labels.shape
    about = {"driver": "GTiff", "height": height, "width": width, "count": 1, "dtype": dtype, "nodata": nodata}
    if place is not None:
        about |= {"crs": place.crs, "transform": place.transform}
    layout = {"tiled": True, "blockxsize": TILE, "blockysize": TILE, "compress": "deflate", "bigtiff": "if_safer"}
    if dtype != "int32":
        layout["photometric"] = "palette"
    with _without_warnings(), rasterio.Env(GDAL_CACHEMAX=64), rasterio.open(file, "w", **about, **layout) as target:
        if place is not None:
            target.update_tags(**place.tags)
            if place.gcps[0]:
                target.gcps = place.gcps
        if dtype != "int32":
            table = {i: (*map(int, colour), 255) for i, colour in enumerate(colours)}
            target.write_colormap(1, table | {nodata: (0, 0, 0, 0)})
        target.update_tags(**tags)
        target.update_tags(1, **{f"CATEGORY_{i}": name for i, name in enumerate(names)})
        for where in map(grid.block, range(math.prod(grid.shape))):
            block: AnyArray = np.asarray(labels[where])
            block = np.where(block < 0, nodata, block.astype(np.int64)).astype(dtype)
            target.write(block, 1, window=rasterio.windows.Window.from_slices(*where))


def _write_cog(plain: Path, final: Path) -> None:
    rasterio, shutil = needed("rasterio", "maps"), needed("rasterio.shutil", "maps")
    with _without_warnings(), rasterio.Env(GDAL_CACHEMAX=64):
        shutil.copy(
            plain, final, driver="COG", compress="deflate", blocksize=TILE, bigtiff="if_safer",
            overview_resampling="nearest",  # the mean of labels is not a label
        )  # fmt: skip
