"""Where images lie: by the tags of a GeoTIFF, or the attributes and coordinates of Zarr arrays, as attributes."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
import zarr

from .._storable import fits
from .._typing import Floats
from ..io.nodes import array_in, dimensions_of
from .axes import named
from .image import AS_STORED, Image, View

CONVENTIONS = (
    {"uuid": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4", "name": "spatial",
     "schema_url": "https://raw.githubusercontent.com/zarr-conventions/spatial/refs/tags/v0.1/schema.json"},
    {"uuid": "f17cb550-5864-4468-aeb7-f3180cfb622f", "name": "proj",
     "schema_url": "https://raw.githubusercontent.com/zarr-conventions/proj/refs/tags/v0.1/schema.json"},
)  # fmt: skip

GEO_TAGS = (33550, 33922, 34264, 34735, 34736, 34737)
"""Codes of the tags that place a GeoTIFF."""

USER_DEFINED = 32767
"""Code of a user-defined coordinate system, described by other tags of the GeoTIFF."""

POINT = 2
"""Raster type whose coordinates refer to the centres of pixels."""

ATTRIBUTES = ("spatial:dimensions", "spatial:transform", "spatial:transform_type", "spatial:registration",
              "spatial:bbox", "proj:code", "proj:wkt2", "proj:projjson", "zarr_conventions", "geotiff")  # fmt: skip

CRS = ("proj:wkt2", "proj:projjson", "proj:code")
"""Attributes that hold a coordinate system, the most exact first."""

EVEN = 0.01
"""Share of a pixel by which coordinates may differ from evenly spaced ones, as rounded numbers do."""


def of_tags(tags: Mapping[str, Any], view: View = AS_STORED) -> dict[str, Any]:
    """Return the attributes of an array with the georeference of a GeoTIFF; ``geotiff`` holds the original tags.

    `view` says where the image with these tags has the pixels of an overview.

    Examples
    --------
    >>> tags = {"ModelPixelScale": [30.0, 30.0, 0.0], "ModelTiepoint": [0, 0, 0, 5e5, 7e6, 0]}
    >>> of_tags(tags | {"ProjectedCSTypeGeoKey": 32721})["spatial:transform"]
    [30.0, 0.0, 500000.0, 0.0, -30.0, 7000000.0]
    """
    is_node = tags.get("GTRasterTypeGeoKey") == POINT
    code = int(tags.get("ProjectedCSTypeGeoKey", tags.get("GeographicTypeGeoKey", USER_DEFINED)))
    crs = {} if code == USER_DEFINED else {"proj:code": f"EPSG:{code}"}
    attributes = attributes_of(_transform(tags), crs, is_node)
    return moved({"geotiff": {name: _plain(value) for name, value in tags.items()}, **attributes}, view)


def attributes_of(transform: Sequence[float] | None, crs: Mapping[str, Any], is_node: bool = False) -> dict[str, Any]:
    """Return the attributes of an image by its transform and coordinate system."""
    place = {} if transform is None else {
        "spatial:dimensions": ["y", "x"],
        "spatial:transform_type": "affine",
        "spatial:transform": [*map(float, transform)],
        "spatial:registration": "node" if is_node else "pixel",
    }  # fmt: skip
    used = [convention for convention, has in zip(CONVENTIONS, (place, crs)) if has]
    return {**place, **crs, "zarr_conventions": used}


def _transform(tags: Mapping[str, Any]) -> list[float] | None:
    """Return a, b, c, d, e, f of ``(a x + b y + c, d x + e y + f)``."""
    matrix = tags.get("ModelTransformation")
    if matrix is not None:
        a, b, _, c, d, e, _, f = (float(v) for row in list(matrix)[:2] for v in row)
        return [a, b, c, d, e, f]
    if "ModelPixelScale" not in tags or "ModelTiepoint" not in tags:
        return None
    across, down = (float(v) for v in list(tags["ModelPixelScale"])[:2])
    column, line, _, x, y, _ = (float(v) for v in list(tags["ModelTiepoint"])[:6])
    return [across, 0.0, x - column * across, 0.0, -down, y + line * down]


def _plain(value: Any) -> Any:
    """Return a tag's value as a JSON value."""
    if isinstance(value, Enum):
        return int(value.value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def after(transform: Sequence[float], view: View) -> list[float]:
    """Return the transform of an image that has the pixels of another with a transform where `view` says.

    Examples
    --------
    >>> after([30, 0, 500, 0, -30, 700], (1, 0, 0, 0, -1, 10))  # its ten lines from the last to the first
    [30, 0, 500, 0, 30, 400]
    """
    (a, b, c, d, e, f), (p, q, r, s, t, u) = transform, view
    return [a * p + b * s, a * q + b * t, a * r + b * u + c, d * p + e * s, d * q + e * t, d * r + e * u + f]


def moved(attributes: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return the attributes of an image that has the pixels of another where `view` says."""
    if view == AS_STORED or not attributes:
        return dict(attributes)
    found = {name: value for name, value in attributes.items() if name != "geotiff"}  # which do not place this one
    if "spatial:transform" in found:
        p, q, r, s, t, u = view
        if found.get("spatial:registration") == "node":  # whose transform names the middle of the first pixel
            r, u = r + (p + q - 1) / 2, u + (s + t - 1) / 2
        found["spatial:transform"] = after(found["spatial:transform"], (p, q, r, s, t, u))
    return found


def northward(image: Image) -> Image:
    """Return an image with the northernmost line first: its lines are read from the last to the first otherwise."""
    transform: Any = image.georeference.get("spatial:transform")
    if image.multiscale or not fits(transform, [float | int]) or len(transform) != 6:  # what maps need is checked there
        return image
    if transform[4] <= 0 or transform[1] or transform[3]:
        return image
    flip: View = (1.0, 0.0, 0.0, 0.0, -1.0, float(image.shape[0]))
    (p, q, r, s, t, u) = after(image.view, flip)
    return replace(flipped(image), georeference=moved(image.georeference, flip), view=(p, q, r, s, t, u))


def flipped(image: Image) -> Image:
    """Return an image, and any mask, with lines from the last to the first."""
    rule = image.validity
    if rule is not None and rule.mask is not None:
        rule = replace(rule, mask=replace(rule.mask, flipped=not rule.mask.flipped))
    source: Any = image.source
    return replace(image, source=replace(source, flipped=not source.flipped), validity=rule)


def differing_place(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in words where two georeferences differ; nothing if they agree, as far as they say."""
    found = [
        f"{one[name]} and {other[name]}"
        for name in ("spatial:transform", *CRS) if name in one and name in other and one[name] != other[name]
    ]  # fmt: skip
    return "; ".join(found)


def in_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a Zarr array or group that belong to its georeference."""
    if not any(name.startswith(("spatial:", "proj:")) for name in attributes):
        return {}
    return {name: attributes[name] for name in ATTRIBUTES if name in attributes}


def in_group(group: zarr.Group, attributes: Mapping[str, Any], dims: tuple[str, str]) -> dict[str, Any]:
    """Return the georeference of an array by its attributes, those of its group, its grid mapping and coordinates.

    Where the attributes, by the conventions of GeoZarr, say nothing of the coordinate system or the transform, the
    variable ``grid_mapping`` does, by CF and as GDAL writes it, and one-dimensional arrays with the coordinates of
    pixels; `dims` are the names of the dimensions of lines and columns.
    """
    found = {**in_attributes(group.attrs.asdict()), **in_attributes(attributes)}
    mapping = array_in(group, str(attributes.get("grid_mapping", "spatial_ref")).partition(":")[0])
    about = {} if mapping is None else mapping.attrs.asdict()
    return placed(found, about, [array_in(group, name) for name in dims])


def placed(found: Mapping[str, Any], about: Mapping[str, Any], lines_columns: Sequence[Any]) -> dict[str, Any]:
    """Return the georeference that attributes name, and a grid mapping and arrays of coordinates, None for none."""
    crs = {name: found[name] for name in CRS if name in found}
    if not crs and (text := about.get("crs_wkt") or about.get("spatial_ref")):
        crs = {"proj:wkt2": str(text)}
    if "spatial:transform" in found:
        return {**found, **crs}
    transform = _of_coordinates(lines_columns, _of_gdal(about.get("GeoTransform")))
    return attributes_of(transform, crs) if crs or transform else {}


def image_in(group: zarr.Group, level: int = 0) -> tuple[str, bool]:
    """Return the path of the only array in a group with lines and columns, empty if there is none, or are several.

    Of a pyramid of GeoZarr it is the array of a level, 0 for the first; whether the group is one follows.
    """
    layout = _layout_of(group)
    if layout is None or not all(isinstance(one, Mapping) and "asset" in one for one in layout):
        found = [name for name, array in group.arrays() if {"y", "x"} <= {*named(dimensions_of(array))}]
        return (found[0] if len(found) == 1 else ""), False
    if not 0 <= level < len(layout):
        raise ValueError(f"expected a level of GeoZarr from 0 to {len(layout) - 1}; got {level}")
    asset = str(layout[level]["asset"])
    node = group.get(asset)
    inner = image_in(node)[0] if isinstance(node, zarr.Group) else ""
    return f"{asset}/{inner}".rstrip("/"), True


def at_level(group: zarr.Group, level: int, place: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the georeference of a level of a GeoZarr pyramid, with the transform of its layout if that has one.

    place: that of the array of the level, which has these attributes, by itself and its own group. The transform of the
        pyramid is that of its first level.
    """
    layout = _layout_of(group) or []
    entry = layout[level] if 0 <= level < len(layout) else {}
    own, whole = in_attributes(entry), in_attributes(group.attrs.asdict())
    found = {**whole, **place}
    if "spatial:transform" in attributes:
        return found
    if "spatial:transform" in own:
        return {**found, **own}
    if level and found.get("spatial:transform") == whole.get("spatial:transform"):
        found.pop("spatial:transform", None)
    return found


def _layout_of(group: zarr.Group) -> list[Any] | None:
    """Return the levels of a pyramid of GeoZarr, None if a group is none."""
    scales = group.attrs.get("multiscales")
    layout = scales.get("layout") if isinstance(scales, Mapping) else None
    return layout if isinstance(layout, list) else None


def names_of_bands(array: Any, n_bands: int) -> tuple[str, ...]:
    """Return the texts in an array of coordinates; empty if it holds others, or is None."""
    if array is None or array.shape != (n_bands,) or array.dtype.kind not in "UOT":
        return ()
    return tuple(map(str, np.asarray(array[:])))


def _of_gdal(text: Any) -> list[float] | None:
    """Return the transform of a text as GDAL writes it, in another order: c, a, b, f, d, e."""
    with suppress(ValueError):
        c, a, b, f, d, e = map(float, re.split(r"[\s,]+", str(text).strip()))
        return [a, b, c, d, e, f]
    return None


def _of_coordinates(lines_columns: Sequence[Any], given: list[float] | None) -> list[float] | None:
    """Return the transform by evenly spaced coordinates of pixels' middles, or the one that is given if they agree."""
    for array in lines_columns:
        if array is None or array.ndim != 1 or array.shape[0] < 2 or array.dtype.kind not in "iuf":
            return given
    y, x = (np.asarray(array[:], np.float64) for array in lines_columns)
    (e, f), (a, c) = (_even(values) for values in (y, x))
    if not a or not e:
        return None  # no transform has such coordinates, whatever was written before they were cut or moved
    found = [a, 0.0, c - a / 2, 0.0, e, f - e / 2]
    size = (len(x), len(y), 1)
    if given is not None and np.abs(np.subtract(found, given) * (*size, *size)).max() <= EVEN * min(abs(a), abs(e)):
        return given
    return found


def _even(values: Floats) -> tuple[float, float]:
    """Return the step between values and the first; a step of zero if they are not evenly spaced."""
    step = float(values[-1] - values[0]) / (len(values) - 1)
    expected = values[0] + step * np.arange(len(values))
    return (step if np.abs(values - expected).max() <= EVEN * abs(step) else 0.0), float(values[0])
