"""Georeferences of images: the tags of a GeoTIFF as attributes by the GeoZarr conventions."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

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


def georeference(tags: Mapping[str, Any], scale: tuple[float, float] = (1.0, 1.0)) -> dict[str, Any]:
    """Return the attributes of an array with the georeference of a GeoTIFF; ``geotiff`` holds the original tags.

    Parameters
    ----------
    tags : mapping
        The tags from tifffile.
    scale : tuple of float
        Lines and columns of the image with these tags per line and column of an overview.

    Examples
    --------
    >>> tags = {"ModelPixelScale": [30.0, 30.0, 0.0], "ModelTiepoint": [0, 0, 0, 5e5, 7e6, 0]}
    >>> georeference(tags | {"ProjectedCSTypeGeoKey": 32721})["spatial:transform"]
    [30.0, 0.0, 500000.0, 0.0, -30.0, 7000000.0]
    """
    is_node = tags.get("GTRasterTypeGeoKey") == POINT
    transform = None if (whole := _transform(tags)) is None else _coarser(whole, scale, is_node)
    code = tags.get("ProjectedCSTypeGeoKey", tags.get("GeographicTypeGeoKey", USER_DEFINED))
    attributes: dict[str, Any] = {}
    if scale == (1, 1):  # the tags do not place an overview
        attributes["geotiff"] = {name: _plain(value) for name, value in tags.items()}
    used = []
    if transform is not None:
        attributes |= {
            "spatial:dimensions": ["y", "x"],
            "spatial:transform_type": "affine",
            "spatial:transform": transform,
            "spatial:registration": "node" if is_node else "pixel",
        }
        used.append(CONVENTIONS[0])
    if int(code) != USER_DEFINED:
        attributes["proj:code"] = f"EPSG:{int(code)}"
        used.append(CONVENTIONS[1])
    return attributes | {"zarr_conventions": used}


def kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a Zarr array that belong to its georeference."""
    if not any(name.startswith(("spatial:", "proj:")) for name in attributes):
        return {}
    names = ("spatial:dimensions", "spatial:transform", "spatial:transform_type", "spatial:registration",
             "spatial:bbox", "proj:code", "proj:wkt2", "proj:projjson", "zarr_conventions", "geotiff")  # fmt: skip
    return {name: attributes[name] for name in names if name in attributes}


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


def _coarser(transform: list[float], scale: tuple[float, float], is_node: bool) -> list[float]:
    """Return the transform of an overview, whose first pixel begins where that of the image does."""
    a, b, c, d, e, f = transform
    down, across = scale
    shift = 0.5 * is_node  # a transform of nodes names the middle of the first pixel
    right, below = shift * (across - 1), shift * (down - 1)
    return [a * across, b * down, c + a * right + b * below, d * across, e * down, f + d * right + e * below]


def _plain(value: Any) -> Any:
    """Return a tag's value as a JSON value."""
    if isinstance(value, Enum):
        return int(value.value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
