"""TIFF files, which are read strip by strip or tile by tile, or in another coordinate system by rasterio."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import zarr

from .._errors import ContentsError
from .._locations import hiding_credentials
from .._process import needed
from .._typing import AnyArray
from ..io.paths import filesystem, local_path, naming, open_parts
from ..io.rows import StoredArray, check_chunks
from .axes import AxesView, view_at
from .bands import names_in_gdal, scales_in_gdal
from .georeference import GEO_TAGS, attributes_of, of_tags
from .image import AS_STORED, Block, Image
from .quantisation import Described
from .validity import Validity

PAGES = {"q": "c", "i": "c"}
"""Names of unnamed axes of pages, which count as bands."""

GDAL_NODATA = 42113
"""Tag with the value of pixels without data."""

GDAL_METADATA = 42112
"""Tag with descriptions, scales and offsets of the bands."""

ALPHA = (1, 2)
"""Types of extra samples that hold opacity."""

LEAST_STRIP = 2**18
"""Pixels of the TIFF strips that form one chunk."""


@dataclass(frozen=True)
class TiffArray:
    """An image in a TIFF file, or an overview of it; `series` is its number, `chunks` are its strips or tiles."""

    path: str = field(repr=False)
    series: int
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    level: int = 0

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    @hiding_credentials()
    def __getitem__(self, where: tuple[slice | int, ...]) -> AnyArray:
        with opened(self.path) as tiff:
            try:
                return StoredArray(zarr_of(tiff.series[self.series], self.level), self.path, "strip or tile")[where]
            except ValueError as error:
                if "imagecodecs" not in str(error):
                    raise
                raise ImportError(
                    f"{self.path} is compressed: {error.__cause__ or error}, which is missing: pip install "
                    '"mdh_dask[images]"'
                ) from error


def open_tiff(path: str, axes: str | None, index: dict[str, int]) -> tuple[Image, Described]:
    """Open an image in a TIFF file, or an overview of it, and return what the file says of its numbers, too.

    `axes` and `index` are those of the user; ``"series"`` and ``"level"`` are removed from the index. Unnamed pages are
    bands; no pixel is read.
    """
    asked, level = index.pop("series", None), index.pop("level", 0)
    with opened(path) as tiff:
        number = _chosen(path, tiff, asked)
        series, levels = tiff.series[number], tiff.series[number].levels
        if not 0 <= level < len(levels):
            there = ", ".join(" x ".join(map(str, one.shape)) for one in levels)
            raise ValueError(f"expected a level from 0 to {len(levels) - 1} in {path}, of {there}; got {level}")
        with naming(f"{path} is a TIFF file that cannot be read"):
            page, array = series.keyframe, _array_of(path, series, number, level)
            names = tuple(PAGES.get(axis.lower(), axis.lower()) for axis in series.axes)
            mask, place = _mask_of(path, tiff, series, level), _place_of(series, names, array.shape)
            extra = [sample in ALPHA for sample in page.extrasamples] if "s" in names else []
            found = {code: str(page.tags[code].value) for code in (GDAL_NODATA, GDAL_METADATA) if code in page.tags}
            _check_stored(levels[level])
        if extra != sorted(extra):
            raise ContentsError(f"expected opacity in the last bands of {path}; got others after it: save them before")
        if {"s", "c"} <= set(names):  # for example three colours in every page
            raise ValueError(f"{path} has colours in several channels (axes {series.axes}): save one of them")
    view = view_at(path, array, names, axes, index)
    n_alpha = sum(extra) if any(extra) and view.axes[names.index("s")] == "c" else 0  # samples may be no bands
    view = replace(view, n_left_out=n_alpha)
    check_chunks(path, array.chunks, array.dtype)
    lines, columns = view.in_plane(array.chunks)
    if columns >= view.shape[1]:  # strips, often of one line
        lines *= -(-LEAST_STRIP // (lines * columns))
    rule = Validity(alpha=n_alpha > 0, mask=None if mask is None else AxesView(mask, ("y", "x")))
    described, n_bands = found.get(GDAL_METADATA, ""), view.shape[2]
    bands = names_in_gdal(described, n_bands)
    image = Image(view, path, "TIFF", (lines, columns), bands=bands, validity=rule, **place)
    nodata = [found[GDAL_NODATA].strip(" \0")] if GDAL_NODATA in found else []
    return image, {"nodata": nodata, **scales_in_gdal(described, n_bands)}


def _check_stored(series: Any) -> None:
    """Raise an error for strips or tiles at the very beginning of the file, or if none is there: they would be zeros.

    Some writers leave out a few, which then have no bytes.
    """
    pages = [page for page in series.pages if page is not None]
    if any(count and not start for page in pages for start, count in zip(page.dataoffsets, page.databytecounts)):
        raise ContentsError("a strip or tile has bytes, but no place in the file")
    if pages and not any(map(any, (page.databytecounts for page in pages))):
        raise ContentsError("none of its strips or tiles is stored")


def _array_of(path: str, series: Any, number: int, level: int) -> TiffArray:
    array = zarr_of(series, level)
    return TiffArray(path, number, tuple(array.shape), tuple(array.chunks), array.dtype, level)


def _place_of(series: Any, axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the fields of an image of this shape, which may be an overview, that say where it lies."""
    page = series.keyframe
    scale = tuple(series.shape[axes.index(axis)] / shape[axes.index(axis)] for axis in "yx" if axis in axes)
    down, across = scale if len(scale) == 2 else (1.0, 1.0)
    view = (across, 0.0, 0.0, 0.0, down, 0.0)
    tags = tuple((tag.code, int(tag.dtype), tag.count, tag.value, True) for tag in page.tags if tag.code in GEO_TAGS)
    return {"georeference": of_tags(page.geotiff_tags, view) if page.is_geotiff else {}, "geo_tags": tags, "view": view}


def _mask_of(path: str, tiff: Any, image: Any, level: int) -> TiffArray | None:
    """Return the mask of as many lines and columns as the image, or as its overview, if it has one."""
    pages = (image.levels[i].keyframe for i in (0, level))
    whole, size = ((page.imagelength, page.imagewidth) for page in pages)
    for number, series in enumerate(tiff.series):
        mask = series.keyframe
        if mask.is_mask and not mask.is_reduced and mask.shape[:2] == whole:
            sizes = [one.keyframe.shape[:2] for one in series.levels]
            if size not in sizes:
                raise ValueError(f"its mask has no overview of {size[0]} x {size[1]} pixels")
            return _array_of(path, series, number, sizes.index(size))
    return None


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Provide an open TIFF file."""
    tifffile = needed("tifffile", "images")
    with open_parts(path) as file:
        with naming(f"{path} is a TIFF file that cannot be read"):
            tiff = tifffile.TiffFile(file)
        with tiff:
            yield tiff


def zarr_of(series: Any, level: int = 0) -> zarr.Array:
    """Return an image, at full resolution or as an overview, as a Zarr array that decodes on reading."""
    array = zarr.open(series.aszarr(level=level), mode="r")
    assert isinstance(array, zarr.Array)
    return array


def _chosen(path: str, tiff: Any, number: int | None) -> int:
    with naming(f"{path} is a TIFF file that cannot be read"):
        whole = {i: s for i, s in enumerate(tiff.series) if not (s.keyframe.is_reduced or s.keyframe.is_mask)}
    if not whole:
        raise ValueError(f"{path} is a TIFF file that cannot be read: it holds no image")
    first = next(iter(whole))
    if number is None and len(whole) == 1:
        return first
    if number is None or number not in whole:
        shapes = ", ".join(str(series.shape) for series in whole.values())
        raise ValueError(
            f"{path} holds {len(whole)} images, of shapes {shapes}: choose one with index, as series={first}"
        )
    return number


TILE = 512
"""Lines and columns of the blocks that are warped at once."""


@dataclass(frozen=True)
class Warped:
    """The pixels of a GeoTIFF in another coordinate system, each the nearest one, with a band that is zero outside."""

    path: str = field(repr=False)
    crs: str
    transform: tuple[float, ...]
    shape: tuple[int, int, int]
    dtype: np.dtype

    def open(self) -> "Warped":
        """Return this source, which is ready to be read."""
        return self

    def __getitem__(self, block: Block) -> AnyArray:
        return self.with_left_out(block)[..., : self.shape[2]]

    @hiding_credentials()
    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the band that is zero outside of the file and where it holds no data."""
        vrt, warp = needed("rasterio.vrt", "maps"), needed("rasterio.warp", "maps")
        window = needed("rasterio.windows", "maps").Window.from_slices(*block)
        affine = needed("rasterio", "maps").Affine(*self.transform)
        height, width, _ = self.shape
        with _by_rasterio(self.path) as file, naming(f"{self.path} cannot be read"), vrt.WarpedVRT(
            file, crs=self.crs, transform=affine, height=height, width=width, add_alpha=True,
            resampling=warp.Resampling.nearest, src_nodata=None,
        ) as warped:  # fmt: skip
            found: AnyArray = warped.read(window=window).transpose(1, 2, 0)
        return found


def warped(image: Image, crs: str) -> Image:
    """Return a GeoTIFF in another coordinate system, or itself if it is in that.

    Pixels are as large as those of the file where the units are the same, and lie on the multiples of their size, so
    that neighbouring files fit together. Values are those of the nearest pixels; outside of the file are no data.
    """
    if image.kind != "TIFF":
        raise ValueError(
            f"expected a GeoTIFF to reproject; got {image.kind} in {image.path}: convert it, or reproject it"
        )
    rasterio, warp = needed("rasterio", "maps"), needed("rasterio.warp", "maps")
    with naming(f"{crs!r} is no coordinate system", "give one as EPSG:32633"):
        target = rasterio.crs.CRS.from_user_input(crs)
    if not image.geo_tags:
        raise ContentsError(f"expected coordinates in {image.path}, to reproject it; it has none")
    with _by_rasterio(image.path) as file:
        if file.crs == target:
            return image
        alpha = rasterio.enums.ColorInterp.alpha in file.colorinterp
        if alpha or (file.height, file.width, file.count) != image.shape or image.view != AS_STORED:
            raise ContentsError(
                f"expected bands without opacity of the whole {image.path} to reproject it; got others: save them alone"
            )
        left, right = sorted((file.bounds.left, file.bounds.right))
        bottom, top = sorted((file.bounds.bottom, file.bounds.top))
        same = file.crs.is_projected and target.is_projected and file.crs.linear_units == target.linear_units
        given = {"resolution": tuple(map(abs, file.res))} if same else {}
        affine, width, height = warp.calculate_default_transform(
            file.crs, target, file.width, file.height, left, bottom, right, top, **given
        )
        affine, width, height = warp.aligned_target(affine, width, height, (affine.a, -affine.e))
    source = Warped(image.path, target.to_wkt(), affine[:6], (height, width, image.shape[2]), image.source.dtype)
    rule = replace(image.validity or Validity(), alpha=True, mask=None)
    place = attributes_of(affine[:6], {"proj:wkt2": target.to_wkt()})
    return replace(image, source=source, chunks=(TILE, TILE), georeference=place, geo_tags=(), validity=rule)


@contextmanager
def _by_rasterio(path: str) -> Iterator[Any]:
    """Open a file by rasterio, at a URL by way of fsspec."""
    rasterio = needed("rasterio", "maps")
    local = local_path(path)
    fs, name = (None, str(local)) if local is not None else filesystem(path)
    given = {} if fs is None else {"opener": fs}
    with rasterio.Env(GDAL_CACHEMAX=64), rasterio.open(name, **given) as file:
        yield file
