"""Opening of images of all kinds."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import fsspec  # type: ignore[import-untyped, unused-ignore]
import numpy as np
import zarr

from .._errors import ContentsError
from .._locations import has_query, hiding_credentials
from .._process import needed
from .._typing import AnyArray
from ..io.nodes import Location, array_in, dimensions_of, find_node, given_node, group_of, name_of_node
from ..io.paths import local_path, naming, open_parts, refuse_streams
from ..io.repositories import revision_of, snapshot_of
from ..io.rows import StoredArray, as_array, check_chunks, check_complete
from ..io.tables import MOST_BLOCKS
from .axes import AxesView, ScaledView, view_at
from .bands import names_in, scales_in
from .georeference import at_level, flipped, image_in, in_attributes, in_group, names_of_bands, northward
from .image import MOST_BYTES, PANEL, Image
from .ome import multiscale_of
from .quantisation import ALPHAEARTH_NODATA, Dequantise, Described, quantisation_of
from .tiff import open_tiff, warped
from .validity import Nodata, Validity, declared_by, validity_of

CHUNK = 512
"""Lines and columns of a chunk of labels; fewer lines for a low picture, so that it still has several blocks."""

LEAST_BLOCKS = 16


@dataclass(frozen=True)
class Picture:
    """A picture's path, shape and dtype; its pixels are decoded by the workers that need them."""

    path: str = field(repr=False)
    shape: tuple[int, int, int]
    dtype: np.dtype
    flipped: bool = False
    """Whether lines are read from the last to the first."""

    def open(self) -> AnyArray:
        """Decode the picture."""
        pixels = decode(self.path)[0]
        return pixels[::-1] if self.flipped else pixels


@hiding_credentials()
def decode(path: str) -> tuple[AnyArray, str]:
    """Return pixels of shape (lines, columns, bands), upright according to the camera, and the kind of the picture.

    Grey levels keep their 8, 16 or 32 bits; black and white is 0 and 1. Everything else is converted to red, green
    and blue of 8 bits, on white where transparent.
    """
    image = needed("PIL.Image", "images")
    expected = "expected an image, as PNG, JPEG, TIFF, OME-Zarr or a Zarr array"
    with fsspec.open(path, "rb") as file:
        _refuse_deep_colours(path, file.read(26))
        file.seek(0)
        with naming(f"{expected}; got {path}, which cannot be read"), _opened(file, image) as picture:
            pixels = np.asarray(_plain(needed("PIL.ImageOps", "images").exif_transpose(picture), image))
            kind = str(picture.format)
    pixels = pixels.astype(np.uint8) if pixels.dtype == np.bool_ else pixels
    return (pixels if pixels.ndim == 3 else pixels[..., None]), kind


def _opened(file: Any, image: Any) -> Any:
    try:
        return image.open(file)
    except image.UnidentifiedImageError as error:  # its message has the address of the open file, another every time
        raise ValueError("it is of no kind that Pillow knows") from error


def _plain(picture: Any, image: Any) -> Any:
    if picture.has_transparency_data:
        grey = picture.mode == "LA"
        picture = picture.convert("RGBA")
        picture = image.alpha_composite(image.new("RGBA", picture.size, "white"), picture)
        return picture.convert("L" if grey else "RGB")
    return picture if picture.mode[0] in "1LIF" and picture.mode != "LAB" else picture.convert("RGB")


def _refuse_deep_colours(path: str, header: bytes) -> None:
    # Pillow would silently drop eight of the sixteen bits.
    depth, colours = header[24:25], header[25:26]
    if header.startswith(b"\x89PNG") and depth == b"\x10" and colours not in (b"\0", b"\4"):
        raise ValueError(
            f"{path} has colours of 16 bits, 8 of which would be lost: convert it to TIFF, or to colours of 8 bits"
        )


TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


@hiding_credentials()
def open_image(
    path: Location,
    *,
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: Literal["error", "fill"] = "error",
    nodata: Nodata = None,
    mask: str | os.PathLike[str] | None = None,
    dequantise: Dequantise | None = None,
    described: Described | None = None,
    reproject: str | None = None,
) -> Image:
    """Open an image of any size without reading it.

    Parameters
    ----------
    path : path, URL, Zarr array or group, Zarr store, or session of Icechunk that only reads
        PNG, JPEG or another picture that Pillow reads; TIFF of strips, tiles or pages; an OME-Zarr group of version
        0.4 or 0.5, which is opened at full resolution; or a Zarr array, also as the only one with lines and columns of
        a group, as xarray and GeoZarr have them. Of an Icechunk repository
        ``"icechunk::s3://bucket/folder@v1/embeddings"`` is an array at a branch, tag or snapshot, also with
        ``file:///folder``, by default at the branch ``main``.
    axes : str, optional
        A letter for each axis of a TIFF or Zarr image, such as ``"yxc"`` or ``"cyx"`` with c for the bands. By default
        the names of the axes in the file; for a Zarr array without names, a first or last axis of at most 32 holds the
        bands. Unnamed pages of a TIFF are bands.
    index : mapping of str to int, optional
        Indices on other axes, such as ``{"t": 0, "z": 5}``; ``{"series": 1}`` for a TIFF of several images;
        ``{"level": 2}`` for an overview of a TIFF or another resolution of OME-Zarr or GeoZarr, to look at a large
        image first.
    missing_chunks : {"error", "fill"}, default "error"
        As for `mdh_dask.io.open_rows`, for Zarr.
    nodata : float or "none", optional
        A pixel with this value in any band holds no data; ``"none"``: all pixels hold data. By default what the file
        declares: the tag GDAL_NODATA, an alpha channel or a mask of a TIFF, an attribute ``_FillValue``,
        ``missing_value`` or ``nodata`` of a Zarr array. NaN counts as no data, unless all pixels hold some.
    mask : path or URL, optional
        An image with one band and as many lines and columns, zero where there are no data, in place of a mask in the
        file. Without coordinates its lines are in the order of the file.
    dequantise : {"declared", "alphaearth", "tessera"}, optional
        Values that stored numbers become, as float32: by the scale and offset that the file declares, or those of
        AlphaEarth embeddings, see `mdh_dask.images.quantisation`. `nodata` is a stored number all the same. With
        ``"tessera"`` the numbers of every pixel times its scale in the Zarr array ``scales`` beside them; a pixel
        without a finite one holds no data; leave `nodata` out there. By default pixels are the stored numbers.
    described : mapping of str to list of float, optional
        What a catalogue says of the file, ``"scale"``, ``"offset"`` and ``"nodata"`` of each band, for what it does not
        declare itself.
    reproject : str, optional
        A coordinate system, such as ``"EPSG:32633"``, in which a GeoTIFF of another one is seen by rasterio, see
        `mdh_dask.images.tiff.warped`. By default an image stays in its own.

    Returns
    -------
    Image
        The open image. Pictures are decoded once as a check, and again in every pass.

    Notes
    -----
    Transparent pixels of pictures are set on white, and palettes and other colours become red, green and blue. Grey
    levels keep their bits; booleans become 0 and 1.

    The first line is the northernmost: where coordinates say that a file is stored from the south, its lines are read
    from the last to the first, so that segments and their labels do not depend on how it is stored.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = zarr.create_array(f"{folder}/a.zarr", shape=(3, 500, 400), chunks=(1, 100, 100), dtype="u1")
    ...     image = open_image(f"{folder}/a.zarr", missing_chunks="fill")
    >>> image.shape, image.chunks
    ((500, 400, 3), (100, 100))
    """
    node = None if isinstance(path, str | os.PathLike) else given_node(path)
    where = os.fspath(path) if node is None else name_of_node(node)
    kind = kind_of(where) if node is None else "Zarr"
    declared: Described = {}
    group = None
    if kind == "TIFF":
        image, declared = open_tiff(where, axes, dict(index or {}))
    elif kind == "picture":
        if axes is not None or index:
            raise ValueError(f"{where} is a picture, whose axes are known: leave axes and index out")
        pixels, kind_of_picture = decode(where)  # once, for its shape and dtype
        height, width, n_bands = pixels.shape
        picture = Picture(where, (height, width, n_bands), pixels.dtype)
        chunks = min(CHUNK, -(-height // LEAST_BLOCKS)), min(CHUNK, width)
        image = Image(picture, where, kind_of_picture, chunks)
    else:
        node = find_node(where) if node is None else node
        image, declared, group = _zarr_image(where, node, axes, dict(index or {}), missing_chunks)
    described = described or {}
    without = declared.get("nodata") or described.get("nodata", ())
    if dequantise == "tessera":
        if nodata not in (None, "none"):
            raise ValueError(
                "expected no nodata with dequantise='tessera', where pixels without a finite scale hold no data; got "
                f"{nodata}: leave it out"
            )
        image, without = _scaled(image, group, missing_chunks), described.get("nodata", ())
    own, other = ({key: one[key] for key in one if key != "nodata"} for one in (declared, described))
    values = quantisation_of(dequantise, image.dtype, image.shape[2], own or other, where)
    if dequantise == "alphaearth":
        without = without or [ALPHAEARTH_NODATA]
    rule = validity_of(image.dtype, without, nodata, image.validity)
    image = _checked(replace(image, axes=axes, validity=rule, quantisation=values))
    image = northward(image) if reproject is None else northward(warped(image, reproject))
    return image if mask is None else masked(image, mask, missing_chunks)


def masked(image: Image, mask: str | os.PathLike[str], missing_chunks: Literal["error", "fill"] = "error") -> Image:
    """Return an image with the mask at a path or URL, of its size and one band, in place of one of its own."""
    path = os.fspath(mask)
    try:
        found = open_image(path, nodata="none", missing_chunks=missing_chunks)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no mask {path} of {image.path}") from error
    if found.shape != (*image.shape[:2], 1):
        raise ValueError(
            f"expected a mask of {image.shape[0]} lines, {image.shape[1]} columns and one band, as {image.path} has; "
            f"got {found.shape} in {path}"
        )
    if image.view[4] < 0 and "spatial:transform" not in found.georeference:
        found = flipped(found)
    return replace(image, validity=replace(image.validity or Validity(), mask=found.source))


@hiding_credentials()
def kind_of(path: str) -> Literal["TIFF", "picture", "Zarr"]:
    """Return the kind of an image by its first bytes; anything but an existing file counts as Zarr."""
    if revision_of(path) is not None:
        return "Zarr"
    refuse_streams(path)
    local = local_path(path)
    magic = b"" if local is not None and not local.is_file() else _magic(path)
    if magic.startswith(TIFF):
        return "TIFF"
    is_file = local is not None or has_query(path)
    return "picture" if magic and (is_file or find_node(path) is None) else "Zarr"


def _magic(path: str) -> bytes:
    try:
        with open_parts(path) as file:
            return bytes(file.read(4)) or b"?"
    except (FileNotFoundError, IsADirectoryError):
        return b""


def _zarr_image(
    path: str,
    node: zarr.Array | zarr.Group | None,
    axes: str | None,
    index: dict[str, int],
    missing: Literal["error", "fill"],
) -> tuple[Image, Described, zarr.Group | None]:
    """Return the image, what its attributes say of its numbers, and the group around it if that describes it."""
    multiscale, inner, level = None, "", index.get("level", 0)
    if isinstance(node, zarr.Group):
        multiscale = multiscale_of(node.attrs.asdict(), level)
        inner, has_levels = (multiscale.path, True) if multiscale else image_in(node, level)
        if has_levels:
            index.pop("level", None)
    array = as_array(array_in(node, inner) if inner else node, f"{path}/{inner}".rstrip("/"))
    check_complete(array, path, missing)
    names: Any = multiscale.names if multiscale else dimensions_of(array)
    view = view_at(path, StoredArray(array, path), names, axes, index)
    check_chunks(path, array.chunks, view.dtype)
    chunks = _decoded(view, view.in_plane(array.chunks), view.in_plane(array.shards or array.chunks))
    plane = multiscale.in_plane() if multiscale and axes is None else None
    attributes, kind = array.attrs.asdict(), "OME-Zarr" if multiscale else "Zarr"
    group = None if multiscale or not names else group_of(array, path)
    dims = dict(zip(view.axes, names or ()))
    place = in_attributes(attributes) if group is None else in_group(group, attributes, (dims["y"], dims["x"]))
    if isinstance(node, zarr.Group) and multiscale is None:
        place = at_level(node, level, place, attributes)
    image = Image(view, path, kind, chunks, place, plane)
    named = {**attributes, **(node.attrs.asdict() if multiscale and node else {})}
    bands = names_in(named, image.shape[2])
    if not bands and group is not None and "c" in dims:
        bands = names_of_bands(array_in(group, dims["c"]), image.shape[2])
    fill = array.fill_value if array.metadata.zarr_format == 2 and names else None
    if fill:  # which xarray writes there in place of _FillValue; zero is also the default of others
        attributes.setdefault("_FillValue", fill.item())
    image = replace(image, bands=bands, snapshot=snapshot_of(array.store))
    return image, {"nodata": declared_by(attributes), **scales_in(attributes)}, group


def _scaled(image: Image, group: zarr.Group | None, missing: Literal["error", "fill"]) -> Image:
    """Return an image of stored numbers with the values of each pixel, by its scale in the array beside it."""
    scales, view = None if group is None else array_in(group, "scales"), image.source
    if scales is None or image.dtype != np.int8 or not isinstance(view, AxesView):
        got = f"{image.dtype} pixels and {'no such array' if scales is None else scales}"
        raise ValueError(
            f"expected int8 pixels and an array 'scales' beside them for dequantise='tessera'; got {got} at "
            f"{image.path}: give the array of embeddings in its group"
        )
    check_complete(scales, f"{image.path}, scales", missing)
    own = view_at(image.path, StoredArray(scales, image.path), dimensions_of(scales), None, view.index)
    if own.shape != (*view.shape[:2], 1):
        raise ValueError(f"expected a scale for each of {view.shape[:2]} pixels of {image.path}; got {own.shape}")
    return replace(image, source=ScaledView(view.array, view.axes, view.index, scales=own))


def _decoded(view: AxesView, chunks: tuple[int, int], stored: tuple[int, int]) -> tuple[int, int]:
    """Return lines and columns to read together: all that is stored so, or fewer chunks of a shard too large for that.

    A shard is decoded chunk by chunk, so that a worker need not hold the whole of one.
    """
    value_bytes = max(view.dtype.itemsize, 4)  # stored numbers may become float32
    line_bytes = min(PANEL, view.shape[1]) * view.shape[2] * value_bytes
    most = max(1, MOST_BYTES // (line_bytes * chunks[0]))
    return min(stored[0], chunks[0] * 2 ** (most.bit_length() - 1)), stored[1]


def _checked(image: Image) -> Image:
    if 0 in image.shape:
        raise ValueError(f"{image.path}: expected pixels, got an image of {image.shape} lines, columns and bands")
    if image.dtype.kind not in "uif":
        raise TypeError(f"{image.path}: expected booleans, integers or real numbers, got pixels of {image.dtype}")
    # A file of a few bytes may claim any size.
    line_bytes = image.dtype.itemsize * image.shape[2]
    panels, lines = -(-image.shape[1] // image.order.panel), image.block_lines(line_bytes)
    if (n_blocks := -(-image.shape[0] // lines) * panels) > MOST_BLOCKS:
        size = " x ".join(map(str, image.shape[:2]))
        raise ContentsError(
            f"{image.path}: expected at most {MOST_BLOCKS:,} blocks of pixels; got {n_blocks:,} of {size}"
        )
    return image
