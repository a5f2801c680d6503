"""GeoTIFFs seen in another coordinate system, tile by tile, by rasterio's WarpedVRT."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._errors import ContentsError
from .._packages import needed
from .._typing import AnyArray
from ..io.paths import filesystem, local_path, naming
from .georeference import placed_by
from .image import AS_STORED, Block, Image
from .validity import Validity

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
        """Read a block, shape (lines, columns, bands)."""
        return self.with_left_out(block)[..., : self.shape[2]]

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with the band that is zero outside of the file and where it holds no data."""
        vrt, warp = needed("rasterio.vrt", "maps"), needed("rasterio.warp", "maps")
        window = needed("rasterio.windows", "maps").Window.from_slices(*block)
        affine = needed("rasterio", "maps").Affine(*self.transform)
        height, width, _ = self.shape
        with opened(self.path) as file, naming(f"{self.path} cannot be read"), vrt.WarpedVRT(
            file, crs=self.crs, transform=affine, height=height, width=width, add_alpha=True,
            resampling=warp.Resampling.nearest, src_nodata=None,
        ) as warped:  # fmt: skip
            found: AnyArray = warped.read(window=window).transpose(1, 2, 0)
        return found


def warped(image: Image, crs: str) -> Image:
    """Return a GeoTIFF in another coordinate system, or itself if it is in that.

    Pixels are as large as those of the file where the units are the same, and lie on the multiples of their size, so
    that neighbouring files fit together. Values are those of the nearest pixels; outside of the file are no data.

    Raises a ValueError for an image of another kind, without a coordinate system or with opacity, or an unknown one.
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
    with opened(image.path) as file:
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
    place = placed_by(affine[:6], target.to_wkt())
    return replace(image, source=source, chunks=(TILE, TILE), georeference=place, geo_tags=(), validity=rule)


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a file by rasterio, at a URL by way of fsspec."""
    rasterio = needed("rasterio", "maps")
    local = local_path(path)
    fs, name = (None, str(local)) if local is not None else filesystem(path)
    given = {} if fs is None else {"opener": fs}
    with rasterio.Env(GDAL_CACHEMAX=64), rasterio.open(name, **given) as file:
        yield file
