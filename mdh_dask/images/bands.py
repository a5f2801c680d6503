"""Bands of images: names, scales and offsets; those of several files, or of an array of xarray, as one image."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.array as da
import numpy as np

from .._process import needed
from .._typing import AnyArray
from ..chunks import is_dask
from .axes import NAMES, view_of
from .features import Features
from .georeference import differing_place, in_attributes, names_of_bands, placed
from .image import PANEL, Block, Image, Source, opened
from .label_arrays import NO_DATA, Label, label_dtype
from .validity import ATTRIBUTES, Nodata, OpenPixels, declared_by, validity_of

NAMING = ("band_names", "bands", "long_name")
"""Attributes of Zarr arrays that name the bands, the first two of ours and others', the last of rioxarray."""

SCALES = {"scale": "scale_factor", "offset": "add_offset"}
"""Scale and offset of stored numbers by the roles of GDAL, and their attributes of Zarr arrays by CF."""

ITEM = re.compile(r"<Item\b([^>]*)>([^<]*)</Item>", re.IGNORECASE)


def names_in_gdal(text: str, n_bands: int) -> tuple[str, ...]:
    """Return the descriptions of all bands in the metadata that GDAL writes to a TIFF; empty unless all have one."""
    found = _of_role(text, "description")
    return tuple(found[i] for i in range(n_bands)) if found.keys() >= {*range(n_bands)} else ()


def scales_in_gdal(text: str, n_bands: int) -> dict[str, list[float]]:
    """Return scales and offsets of the bands in the metadata that GDAL writes to a TIFF, those that one band has."""
    given = {role: _of_role(text, role) for role in SCALES}
    plain = {"scale": 1.0, "offset": 0.0}
    return {role: [float(found.get(i, plain[role])) for i in range(n_bands)] for role, found in given.items() if found}


def _of_role(text: str, role: str) -> dict[int, str]:
    """Return what the metadata of GDAL say in a role, by the number of the band."""
    found = {}
    for about, value in ITEM.findall(text):
        sample = re.search(r'sample="(\d{1,6})"', about)
        if sample and f'role="{role}"' in about:
            found[int(sample[1])] = html.unescape(value).strip()
    return found


def scales_in(attributes: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the scale and the offset that attributes of a Zarr array have by CF."""
    given = {role: attributes[name] for role, name in SCALES.items() if name in attributes}
    return {role: [float(one) for one in (own if isinstance(own, list) else [own])] for role, own in given.items()}


def names_in(attributes: Mapping[str, Any], n_bands: int) -> tuple[str, ...]:
    """Return the names of the bands in attributes of a Zarr array or OME-Zarr group; empty if there are none."""
    about = attributes.get("ome", attributes)
    omero = about.get("omero") if isinstance(about, Mapping) else None
    channels = omero.get("channels") if isinstance(omero, Mapping) else None
    labels = [one.get("label") for one in channels if isinstance(one, Mapping)] if isinstance(channels, list) else None
    for names in (*(attributes.get(name) for name in NAMING), labels):
        if isinstance(names, list) and len(names) == n_bands and all(isinstance(name, str) for name in names):
            return tuple(names)
    return ()


@dataclass(frozen=True)
class SelectedBands(Source):
    """Bands of sources of one size, in any order, one source after another, as a source."""

    sources: tuple[Any, ...]
    bands: tuple[tuple[int, ...], ...]
    """Numbers of the bands of each source."""

    @property
    def shape(self) -> tuple[int, int, int]:
        lines, columns, _ = self.sources[0].shape
        return lines, columns, sum(map(len, self.bands))

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.sources[0].dtype)

    def open(self) -> "SelectedBands":
        return replace(self, sources=tuple(source.open() for source in self.sources))

    def __getitem__(self, block: Block) -> AnyArray:
        parts = [source[block][..., list(bands)] for source, bands in zip(self.sources, self.bands)]
        return np.concatenate(parts, axis=2) if len(parts) > 1 else np.asarray(parts[0])

    def with_left_out(self, block: Block) -> AnyArray:
        """Read a block with a band that is zero where a band that a source leaves out is."""
        parts, left_out = [], []
        for source, bands in zip(self.sources, self.bands):
            pixels = source.with_left_out(block) if hasattr(source, "with_left_out") else source[block]
            parts.append(pixels[..., list(bands)])
            left_out.append(pixels[..., source.shape[2] :])
        return np.concatenate([*parts, np.concatenate(left_out, axis=2).min(axis=2, keepdims=True)], axis=2)


def with_bands(image: Image, names: Sequence[str] | None) -> Image:
    """Return an image of the bands with these names, in their order; None for all."""
    if names is None or tuple(names) == image.bands:
        return image
    if not image.bands:
        raise ValueError(
            f"expected bands named {', '.join(names)}; those of {image.path} have no names: describe its bands, as "
            "GDAL does, or leave the names out"
        )
    for name in names:
        if image.bands.count(name) != 1:
            raise ValueError(
                f"expected one band {name!r} in {image.path}; got {', '.join(image.bands)}: give names among these"
            )
    numbers = tuple(image.bands.index(name) for name in names)
    values = image.quantisation and image.quantisation.of_bands(numbers)
    return replace(image, source=SelectedBands((image.source,), (numbers,)), bands=tuple(names), quantisation=values)


def stacked(images: Sequence[Image]) -> Image:
    """Return the bands of several images as one, which lies where the first does."""
    first, *others = images
    if not others:
        return first
    values = first.quantisation
    for image in others:
        kinds = [(one.shape[:2], one.source.dtype, one.dtype, one.validity) for one in (first, image)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"expected bands of {first.shape[0]} x {first.shape[1]} pixels of {first.dtype} with the same values "
                f"without data, as in {first.path}; got {image.shape[0]} x {image.shape[1]} of {image.dtype} in "
                f"{image.path}: leave it out, or resample it"
            )
        if other := differing_place(first.georeference, image.georeference):
            raise ValueError(
                f"expected bands of one place; got {other} in {first.path} and {image.path}: resample one, or use "
                "reproject=..."
            )
        values = values and image.quantisation and values.beside(image.quantisation)
    if first.validity is not None and first.validity.mask is not None:
        raise ValueError(f"expected bands without a mask of their own; got one in {first.path}: merge them")
    sources, bands = zip(*((image.source, tuple(range(image.shape[2]))) for image in images))
    names = tuple(name for image in images for name in image.bands)
    return replace(first, source=SelectedBands(sources, bands), bands=names, quantisation=values)


def image_of(array: Any, index: Mapping[str, int], nodata: Nodata = None) -> Image:
    """Return a DataArray as an image without computing anything.

    Dimensions have the names of axes as in a Zarr image; `index` chooses on others. By default the attributes of
    the array declare `nodata`; what its encoding declares, xarray has made NaN. Errors are a TypeError if it is no
    DataArray of numbers, a ValueError if it is empty, or its dimensions have other names.
    """
    data_array = needed("xarray", "arrays").DataArray
    if not isinstance(array, data_array):
        raise TypeError(f"expected the path of an image or an xarray DataArray; got a {type(array).__name__}")
    if array.dtype.kind not in "buif":
        raise TypeError(f"expected booleans, integers or real numbers; got a DataArray of {array.dtype}")
    if not array.size:
        raise ValueError(f"expected pixels; got a DataArray of shape {array.shape}")
    lazy = is_dask(array.data)
    view = view_of(array.data if lazy else array.values, [str(name) for name in array.dims], None, index)
    lines, columns = view.in_plane(array.data.chunksize if lazy else array.shape)
    lines = min(lines if lazy else max(1, 2**20 // min(columns, PANEL)), view.shape[0])
    rule = validity_of(view.dtype, declared_by(array.attrs), nodata)
    name = "DataArray" if array.name is None else str(array.name)
    mapping = str(array.encoding.get("grid_mapping", array.attrs.get("grid_mapping", "spatial_ref")))
    about = array.coords[mapping].attrs if mapping in array.coords else {}
    own = {NAMES.get(str(dim).lower()): array.coords[dim] for dim in array.dims if dim in array.coords}
    place = placed(in_attributes(array.attrs), about, [own.get("y"), own.get("x")])
    bands = names_of_bands(own.get("c"), view.shape[2]) or names_in(array.attrs, view.shape[2])
    return Image(view, name, "DataArray", (lines, columns), place, validity=rule, bands=bands)


def labels_like(array: Any, image: Image, features: Features, label: Label, n_labels: int, lowest: int) -> Any:
    """Return the labels of the pixels of a DataArray as a DataArray, lazy if it is lazy.

    One pass to compute. Pixels without data have the label -1.
    """
    lowest = lowest if image.validity is None else NO_DATA
    dtype = label_dtype(n_labels, lowest)
    chunks = da.core.normalize_chunks(image.label_chunks, image.shape[:2])
    labels = da.map_blocks(
        _label, opened(image), features, dask.delayed(label, traverse=False), chunks=chunks, dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip
    names = {NAMES.get(str(name).lower(), str(name).lower()): name for name in array.dims}
    dims = (names["y"], names["x"])
    coords = {name: one for name, one in array.coords.items() if set(one.dims) <= {*dims}}
    of_values = {*ATTRIBUTES, *SCALES.values()}  # which would be those of the labels
    attributes = {name: value for name, value in array.attrs.items() if name not in of_values}
    attributes |= {"nodata": NO_DATA} if lowest < 0 else {}
    values = labels if is_dask(array.data) else labels.compute()
    return type(array)(values, coords=coords, dims=dims, name="segments", attrs=attributes)


def _label(pixels: OpenPixels, features: Features, label: Label, block_info: Mapping[Any, Any]) -> AnyArray:
    about = block_info[None]
    block = tuple(slice(*ends) for ends in about["array-location"])
    height, width = about["shape"]
    rows, valid = features.rows(pixels, height, width, (block[0], block[1]))
    found = np.full(len(rows), NO_DATA, np.int32)
    there = np.ones(len(rows), bool) if valid is None else valid
    if there.any():
        found[there] = label(rows[there])
    return found.reshape([s.stop - s.start for s in block]).astype(about["dtype"])
