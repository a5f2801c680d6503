"""STAC items of labels: where they lie, and the names, colours and sizes of their segments."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from .._packages import needed
from .image import Image
from .label_arrays import NO_DATA, layout_of
from .maps import LARGEST_OF, Place, dtype_of, is_map, place_of
from .overview import SegmentSummary

EXTENSIONS = ("classification/v2.0.0", "projection/v2.0.0", "raster/v1.1.0")

COG, ZARR = "image/tiff; application=geotiff; profile=cloud-optimized", "application/vnd.zarr"

AROUND = 16
"""Points on each side of an outline, as a straight side may be a curve in longitude and latitude."""


def item_of(
    image: Image, seen: SegmentSummary, name: str, labels: str, source: str | None, lowest: int = 0
) -> dict[str, Any]:
    """Return the STAC item of the labels of an image.

    `labels` and `source` are the addresses of the labels and of the image, relative to the item; `lowest` is the lowest
    label. Its time is that at which it is made. Without a coordinate system it has no geometry.
    """
    place = place_of(image) if image.georeference or image.geo_tags else None
    outline = None if place is None else _outline(place, image.shape[:2])
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    item = {
        "type": "Feature",
        "stac_version": "1.1.0",
        "stac_extensions": [f"https://stac-extensions.github.io/{name}/schema.json" for name in EXTENSIONS],
        "id": name,
        "geometry": outline,
        "properties": {"datetime": now, "created": now, **_projection(place, image.shape[:2])},
        "links": [] if source is None else [{"rel": "derived_from", "href": source}],
        "assets": {"labels": _asset(image, seen, place, labels, lowest)},
    }
    return item if outline is None else item | {"bbox": _box(outline)}


def _asset(image: Image, seen: SegmentSummary, place: Place | None, labels: str, lowest: int) -> dict[str, Any]:
    n, on_map = len(seen.sizes), is_map(labels)
    dtype = dtype_of(n + lowest) if on_map else layout_of(image, n, lowest)["dtype"].name
    nodata = LARGEST_OF[dtype] if on_map else NO_DATA
    may_lack = on_map or dtype.startswith("int")
    band = {
        "data_type": dtype, **({"nodata": nodata} if may_lack else {}), **_sampling(place),
        "histogram": {"count": n, "min": lowest, "max": n + lowest - 1, "buckets": seen.sizes.tolist()},
    }  # fmt: skip
    classes = [
        {"value": i, "name": f"segment_{i}", "title": f"segment {i}", "color_hint": bytes(colour).hex().upper()}
        for i, colour in enumerate(seen.colours[-lowest:].astype(np.uint8))
    ]
    none = {"value": nodata, "name": "no_data", "title": "no data, or in no segment", "nodata": True}
    return {
        "href": labels,
        "type": COG if on_map else ZARR,
        "title": "Segments",
        "roles": ["data"],
        "raster:bands": [band],
        "classification:classes": [*classes, none] if may_lack else classes,
    }


def _sampling(place: Place | None) -> dict[str, Any]:
    if place is None or place.crs is None:
        return {}
    found: dict[str, Any] = {"sampling": place.tags.get("AREA_OR_POINT", "Area").lower()}
    if place.crs.is_projected:
        found["spatial_resolution"] = place.crs.linear_units_factor[1] * abs(place.transform.determinant) ** 0.5
    return found


def _projection(place: Place | None, shape: tuple[int, ...]) -> dict[str, Any]:
    if place is None or place.crs is None:
        return {"proj:shape": [*shape]}
    code = place.crs.to_epsg()
    system = {"proj:projjson": place.crs.to_dict(projjson=True)} if code is None else {"proj:code": f"EPSG:{code}"}
    return system | {"proj:shape": [*shape], "proj:transform": [*place.transform[:6]]}


def _outline(place: Place, shape: tuple[int, ...]) -> dict[str, Any] | None:
    """Return the outline of an image in longitude and latitude as GeoJSON, None if it is unknown."""
    if place.crs is None:
        return None
    corners = np.array([[0, 0], [0, shape[0]], [shape[1], shape[0]], [shape[1], 0]], float)
    steps = np.linspace(0, 1, AROUND, endpoint=False)[:, None]
    ring = np.concatenate([a + steps * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0))])
    a, b, c, d, e, f = place.transform[:6]
    ring = np.concatenate([ring, ring[:1]]) @ np.array([[a, d], [b, e]]) + (c, f)
    warp = needed("rasterio.warp", "maps")
    outline = {"type": "Polygon", "coordinates": [ring.tolist()]}
    found: dict[str, Any] = warp.transform_geom(place.crs, "EPSG:4326", outline)
    return found


def _box(outline: dict[str, Any]) -> list[float]:
    """Return west, south, east and north of an outline; one across the date line begins in the east."""
    parts = outline["coordinates"] if outline["type"] == "MultiPolygon" else [outline["coordinates"]]
    boxes = np.array([[*np.min(part[0], axis=0)[:2], *np.max(part[0], axis=0)[:2]] for part in parts])
    west, east = (boxes[:, 0].min(), boxes[:, 2].max()) if len(parts) == 1 else (boxes[:, 0].max(), boxes[:, 2].min())
    return [float(value) for value in (west, boxes[:, 1].min(), east, boxes[:, 3].max())]
