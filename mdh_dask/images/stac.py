"""STAC items: the files that those of a catalogue name, in its place only, and those of labels that are written."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import dask
import numpy as np

from .._errors import ContentsError
from .._locations import is_stac, name_of
from .._process import needed
from ..io.paths import local_path, read_file
from .image import Image
from .label_arrays import NO_DATA, layout_of
from .maps import LARGEST_OF, Place, dtype_of, is_map, place_of
from .overview import SegmentSummary
from .quantisation import Described

LONGEST_HREF = 4000
"""Most letters of a href, which may be signed."""

ALLOWED, ALLOWED_VARIABLE = "mdh-dask.allowed-hrefs", "DASK_MDH_DASK__ALLOWED_HREFS"
"""Setting with the places, besides that of a STAC file, to which its hrefs may lead: these are opened with the
credentials of the job."""

CATALOGUES, LINKS = ("Catalog", "Collection"), ("item", "child")


class Found(NamedTuple):
    """An item, the path or URL of its file and of the outermost one; or what is wrong with a link to it."""

    item: Any
    path: str
    root: str
    fault: str = ""
    name: str = ""


def items_of(given: Any) -> Iterator[Found]:
    """Yield the items of an item, item collection, collection or catalogue, at a path or URL or an object of pystac.

    Links of catalogues are followed, each to another file once.
    """
    if is_stac(given):
        return _of_object(given, root_of(given), set())
    path = os.fspath(given)
    return _of_file(path, path, {str(local_path(path) or path)})


def root_of(given: Any) -> str:
    """Return where an object of pystac says that it is; empty if it does not, or names a file that is not there."""
    own = str(getattr(given, "get_self_href", lambda: None)() or "")
    file = local_path(own)
    return own if file is None or file.is_file() else ""


def _of_object(given: Any, root: str, seen: set[str]) -> Iterator[Found]:
    """Yield the items of an object of pystac; files are read here, as pystac would follow links anywhere."""
    if hasattr(given, "assets"):
        yield Found(given.to_dict(include_self_link=False, transform_hrefs=False), root_of(given) or root, root)
    elif hasattr(given, "links"):
        for link in given.links:
            if link.rel in LINKS and is_stac(link.target):
                yield from _of_object(link.target, root, seen)
            elif link.rel in LINKS:
                yield from _of_link(link.target, root_of(given) or root, root, seen)
    else:
        for item in given.items:
            yield from _of_object(item, root or root_of(item), seen)


def _of_file(path: str, root: str, seen: set[str]) -> Iterator[Found]:
    try:
        content = json.loads(read_file(path))
        kind = content["type"]
        hrefs = [link["href"] for link in content["links"] if link["rel"] in LINKS] if kind in CATALOGUES else []
        items = [*content["features"]] if kind == "FeatureCollection" else [content]
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(
            f"expected a STAC item, item collection, collection or catalogue in {path}; got other JSON: {error!r:.99}"
        ) from error
    if kind not in CATALOGUES:
        yield from (Found(item, path, root) for item in items)
    for href in hrefs:
        yield from _of_link(href, path, root, seen)


def _of_link(href: Any, path: str, root: str, seen: set[str]) -> Iterator[Found]:
    """Yield the items of the file to which a link leads, or its fault; nothing if that was read before."""
    try:
        place = _place(href, path, root)
        file = str(local_path(place) or place)
        if file not in seen:
            seen.add(file)
            yield from _of_file(place, root, seen)
    except (OSError, ValueError) as error:
        name = PurePosixPath(name_of(href)).stem if isinstance(href, str) and href.isprintable() else ""
        yield Found(None, path, root, str(error), name[:99])


class SceneFile(NamedTuple):
    """The path or URL of a file, names of its bands, and the `Described` of it."""

    path: str
    bands: tuple[str, ...] = ()
    described: Described = {}  # noqa: RUF012 (nobody changes it)


def files_of(name: str, found: "Found", bands: Sequence[str] | None) -> tuple[SceneFile, ...]:
    """Return the files of an item."""
    item, path, root = found.item, found.path, found.root
    assets = {str(key): asset for key, asset in item["assets"].items()}
    if bands is None:
        keys = [key for key, asset in assets.items() if "data" in asset.get("roles", [])] or [*assets]
        if len(keys) != 1:
            raise ContentsError(f"item {name} of {path} has the assets {', '.join(keys)}: choose among them by bands")
        asset = assets[keys[0]]
        return (SceneFile(_place(asset["href"], path, root), _own_names(asset, ()), _described(asset)),)
    files: dict[str, SceneFile] = {}
    for band in bands:
        keys = [key for key, asset in assets.items() if band in (key, *_own_names(asset, bands))]
        # Pictures for the eye may name bands, too.
        key = min(keys, key=lambda key: (key != band, "data" not in assets[key].get("roles", [])), default=None)
        if key is None:
            there = ", ".join(assets)
            raise ContentsError(f"expected a band {band!r} in item {name} of {path}; got the assets {there}")
        place, own = _place(assets[key]["href"], path, root), _own_names(assets[key], bands)
        files[place] = SceneFile(place, own if band in own else (band,), _described(assets[key]))
    return tuple(files.values())


def _described(asset: Mapping[str, Any]) -> Described:
    """Return scales, offsets and values of no data of an asset's bands, by the raster extension or STAC 1.1."""
    bands, found = asset.get("raster:bands") or asset.get("bands") or [{}], {}
    for role, plain in (("scale", 1.0), ("offset", 0.0), ("nodata", None)):
        common = asset.get(role if role == "nodata" else f"raster:{role}", plain)
        values = [band.get(role, band.get(f"raster:{role}", common)) for band in bands]
        if any(value != plain for value in values):
            found[role] = [value for value in values if value is not None]
    if not all(type(value) in (int, float) for role in ("scale", "offset") for value in found.get(role, ())):
        raise TypeError(f"expected numbers as scales and offsets; got {found}")
    return found


def _own_names(asset: Mapping[str, Any], wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the names of an asset's bands: common names where these are wanted, and nothing unless all have one."""
    found = asset.get("bands") or asset.get("eo:bands") or []
    wanted, names = set(wanted), []
    for band in found:
        common = band.get("common_name") or band.get("eo:common_name")
        names.append(common if common in wanted else band.get("name") or common)
    return tuple(map(str, names)) if all(names) else ()


def _place(href: Any, path: str, root: str) -> str:
    """Return the path or URL of a link or an asset: one at the place of the outermost file, or an `ALLOWED` one."""
    if not isinstance(href, str) or not href.isprintable() or len(href) > LONGEST_HREF:
        raise ContentsError(f"expected a path or URL of at most {LONGEST_HREF:,} letters; got {href!a:.99} in {path}")
    folder, place = path.rpartition("/")[0] or ".", href
    if "://" not in href and local_path(path) is not None:
        place = str(Path(folder.removeprefix("file://"), href))
    elif "://" not in href:
        scheme, _, rest = path.partition("://")
        place = f"{scheme}://{urljoin(f'http://{rest}', href)[7:]}"  # which knows few schemes
    roots, allowed = [_place_around(root)] if root else [], dask.config.get(ALLOWED, ())
    if not any(_leads_into(place, one) for one in [*roots, *([allowed] if isinstance(allowed, str) else allowed)]):
        raise ContentsError(
            f"expected a href at the place of its collection, {roots[0] if roots else 'which is unknown'}; got {href}: "
            "if you trust the collection, allow the beginning of the href by "
            f'dask.config.set({{"{ALLOWED}": [...]}}) or {ALLOWED_VARIABLE}'
        )
    local_path(place)  # raises an error for what no machine could open
    return place


def _place_around(path: str) -> str:
    """Return the folder of a file, or the server or bucket at a URL."""
    folder = path.rpartition("/")[0] or "."
    own = urlsplit(folder)
    return f"{own.scheme}://{own.netloc}/" if own.netloc else folder


def _leads_into(place: str, root: str) -> bool:
    """Return whether a path or URL is in a folder, on a server or of a protocol; chains of protocols never are."""
    folder, found = (one.removeprefix("file://") for one in (root, place))
    if "::" in place or ("://" in folder) != ("://" in found):
        return False
    if "://" not in found:
        return Path(os.path.abspath(found)).is_relative_to(os.path.abspath(folder))
    own, other = urlsplit(folder), urlsplit(found)
    if own.scheme != other.scheme or not own.netloc:
        return own.scheme == other.scheme
    path = PurePosixPath(other.path or "/")
    return own.hostname == other.hostname and ".." not in path.parts and path.is_relative_to(own.path or "/")


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
    place = place_of(image)
    place = None if place is None or place.crs is None else place
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
    if place is None:
        return {}
    found: dict[str, Any] = {"sampling": place.tags.get("AREA_OR_POINT", "Area").lower()}
    if place.crs.is_projected:
        found["spatial_resolution"] = place.crs.linear_units_factor[1] * abs(place.transform.determinant) ** 0.5
    return found


def _projection(place: Place | None, shape: tuple[int, ...]) -> dict[str, Any]:
    if place is None:
        return {"proj:shape": [*shape]}
    code = place.crs.to_epsg()
    system = {"proj:projjson": place.crs.to_dict(projjson=True)} if code is None else {"proj:code": f"EPSG:{code}"}
    return system | {"proj:shape": [*shape], "proj:transform": [*place.transform[:6]]}


def _outline(place: Place, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the outline of an image in longitude and latitude as GeoJSON."""
    corners = np.array([[0, 0], [0, shape[0]], [shape[1], shape[0]], [shape[1], 0]], float)
    steps = np.linspace(0, 1, AROUND, endpoint=False)[:, None]
    ring = np.concatenate([a + steps * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0))])
    a, b, c, d, e, f = place.transform[:6]
    ring = np.concatenate([ring, ring[:1]]) @ np.array([[a, d], [b, e]]) + (c, f)
    warp = needed("rasterio.warp", "maps")
    outline = {"type": "Polygon", "coordinates": [ring.tolist()]}
    return warp.transform_geom(place.crs, "EPSG:4326", outline)


def _box(outline: dict[str, Any]) -> list[float]:
    """Return west, south, east and north of an outline; one across the date line begins in the east."""
    parts = outline["coordinates"] if outline["type"] == "MultiPolygon" else [outline["coordinates"]]
    boxes = np.array([[*np.min(part[0], axis=0)[:2], *np.max(part[0], axis=0)[:2]] for part in parts])
    west, east = (boxes[:, 0].min(), boxes[:, 2].max()) if len(parts) == 1 else (boxes[:, 0].max(), boxes[:, 2].min())
    return [float(value) for value in (west, boxes[:, 1].min(), east, boxes[:, 3].max())]
