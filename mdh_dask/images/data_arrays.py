"""Images that are xarray DataArrays, and their labels as DataArrays."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np

from .._process import needed
from .._typing import AnyArray
from ..chunks import is_dask
from .axes import NAMES, view_of
from .bands import names_in
from .features import Features
from .georeference import in_attributes
from .image import PANEL, Image, opened
from .label_arrays import NO_DATA, Label, label_dtype
from .validity import Nodata, OpenPixels, declared_by, validity_of


def image_of(array: Any, index: Mapping[str, int], nodata: Nodata = None) -> Image:
    """Return a DataArray as an image without computing anything.

    Dimensions have the names of axes as in a Zarr image; `index` chooses on others. By default the attributes and the
    encoding of the array declare `nodata`. Errors are a TypeError if it is no DataArray of numbers, a ValueError if it
    is empty, or its dimensions have other names.
    """
    data_array = needed("xarray", "arrays").DataArray
    if not isinstance(array, data_array):
        raise TypeError(f"expected the path of an image or an xarray DataArray; got a {type(array).__name__}")
    if array.dtype.kind not in "buif":
        raise TypeError(f"expected booleans, integers or real numbers; got a DataArray of {array.dtype}")
    if not array.size:
        raise ValueError(f"expected pixels; got a DataArray of shape {array.shape}")
    view = view_of(array.data if is_dask(array.data) else array.values, [str(name) for name in array.dims], None, index)
    sizes = dict(zip(view.axes, array.data.chunksize if is_dask(array.data) else array.shape))
    lines = sizes["y"] if is_dask(array.data) else max(1, 2**20 // min(sizes["x"], PANEL))
    declared = [*declared_by(array.attrs), *declared_by(array.encoding)]
    rule = validity_of(view.dtype, declared, nodata)
    name = "DataArray" if array.name is None else str(array.name)
    image = Image(
        view, name, "DataArray", (min(lines, view.shape[0]), sizes["x"]), in_attributes(array.attrs), validity=rule
    )
    return replace(image, bands=_names_of_bands(array, image.shape[2]))


def _names_of_bands(array: Any, n_bands: int) -> tuple[str, ...]:
    """Return the names of the bands by the attributes of the array or the coordinates of their dimension."""
    for dim in array.dims:
        if NAMES.get(str(dim).lower()) == "c" and dim in array.coords and array.coords[dim].dtype.kind in "UOT":
            return tuple(map(str, array.coords[dim].values))
    return names_in(array.attrs, n_bands)


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
    attributes = {**array.attrs, "nodata": NO_DATA} if lowest < 0 else {**array.attrs}
    for name in ("_FillValue", "missing_value"):
        attributes.pop(name, None)
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
