"""Scenes: many images of the same bands, found by a pattern, a list or a STAC item collection."""

import itertools
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

import dask
import dask.array as da
from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]

from .._errors import ContentsError, SettingError
from .._locations import hiding_credentials, name_of, without_query
from ..io.paths import local_path, read_file
from ..io.repositories import pinned
from .bands import stacked, with_bands
from .features import Features
from .image import Image
from .opening import masked
from .rows import all_rows, pixel_rows

LONGEST_NAME, LONGEST_HREF = 150, 4000
"""Most bytes of the name of a scene, which becomes the name of files, and letters of a href, which may be signed."""

ALLOWED, ALLOWED_VARIABLE = "mdh-dask.allowed-hrefs", "DASK_MDH_DASK__ALLOWED_HREFS"
"""Setting with the places, besides that of a STAC collection, to which its hrefs may lead: these are opened with the
credentials of the job."""


@dataclass(frozen=True)
class Scene:
    """A scene that is not open."""

    name: str
    files: tuple[tuple[str, tuple[str, ...]], ...]
    mask: str | None = None
    fault: str = ""

    @property
    def paths(self) -> list[str]:
        """Return the paths or URLs, that of a mask the last."""
        return [path for path, _ in self.files] + ([] if self.mask is None else [self.mask])


@hiding_credentials()
def find_scenes(
    given: str | os.PathLike[str] | Sequence[str], bands: Sequence[str] | None = None, mask: str | None = None
) -> list[Scene]:
    """Return the scenes that a pattern, a list of paths or a STAC item collection names, in the order of their names.

    Parameters
    ----------
    given : path, URL or sequence of these
        A path or URL with asterisks; paths or URLs; or a JSON file of a STAC item or item collection, with assets
        beside it or, where the setting `ALLOWED` names them, elsewhere.
    bands : sequence of str, optional
        The bands that are needed, for STAC items: an asset is taken if it has one of them, by the names or common
        names of its bands or by its key. By default the only asset with the role ``"data"``, or the only one.
    mask : str, optional
        Path or URL of the mask of every scene, with ``{scene}`` for its name.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If two have the same name, a collection cannot be read, or a mask is among the scenes.

    Notes
    -----
    An item that lacks a band, or cannot be used otherwise, is a scene with a fault, which `open_scene` raises.
    """
    if isinstance(given, str | os.PathLike):
        given = os.fspath(given)
        scenes = _of_pattern(given) if "*" in without_query(given) else _of_items(given, bands)
    else:
        scenes = [_of_path(os.fspath(path)) for path in given]
    if not scenes:
        raise FileNotFoundError(f"there is no scene at {given}: check the path")
    scenes = sorted(scenes, key=lambda scene: scene.name)
    for one, other in itertools.pairwise(scenes):
        if one.name == other.name:
            where = " and ".join((scene.paths or [f"an item of {given}"])[0] for scene in (one, other))
            raise ValueError(f"expected scenes of different names; got {where}, both named {one.name}: rename one")
    return scenes if mask is None else _masked(scenes, mask)


def _masked(scenes: Sequence[Scene], mask: str) -> list[Scene]:
    if "{scene}" not in mask:
        raise SettingError(f"expected a path with {{scene}} for the masks of several scenes; got {mask}")
    found = [replace(scene, mask=mask.replace("{scene}", scene.name)) for scene in scenes]
    files = {path for scene in scenes for path in scene.paths}
    if among := next((scene.mask for scene in found if scene.mask in files), None):
        raise SettingError(f"the mask {among} is taken for a scene, too: keep masks where the scenes are not searched")
    return found


def _of_path(path: str) -> Scene:
    name = PurePosixPath(name_of(path)).stem
    try:
        local_path(path)  # raises an error for what no machine could open, as a link to itself
    except (OSError, ValueError) as error:
        return Scene(name, (), fault=str(error))
    return Scene(name, ((pinned(path), ()),))


def _of_pattern(pattern: str) -> list[Scene]:
    fs, root = url_to_fs(pattern)
    fs.invalidate_cache()
    hidden = (path for path in fs.glob(root) if not name_of(path).startswith("."))
    local = local_path(pattern) is not None
    return [_of_path(path if local else fs.unstrip_protocol(path)) for path in hidden]


def _of_items(path: str, bands: Sequence[str] | None) -> list[Scene]:
    try:
        content = json.loads(read_file(path))
        items = content["features"] if content["type"] == "FeatureCollection" else [content]
        numbered = [*enumerate(items)]
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"expected a STAC item or item collection in {path}; got other JSON: {error!r:.99}") from error
    return [_of_item(number, item, path, bands) for number, item in numbered]


def _of_item(number: int, item: Any, path: str, bands: Sequence[str] | None) -> Scene:
    """Return the scene of an item; whatever is wrong with it is the fault of this scene alone."""
    name = f"item {number}"
    try:
        given = PurePosixPath(str(item["id"])).name
        if not given.strip(".") or not given.isprintable() or len(given.encode()) > LONGEST_NAME:
            raise ContentsError(
                f"expected an id that can be the name of a file, of at most {LONGEST_NAME} bytes, for item {number} of "
                f"{path}; got {given!a:.99}"
            )
        name = given
        return Scene(name, _files_of(name, item, path, bands))
    except (KeyError, TypeError, AttributeError) as error:
        return Scene(name, (), fault=f"expected assets with a href in {name} of {path}; got {error!r:.99}")
    except (ContentsError, OSError) as error:
        return Scene(name, (), fault=str(error))


def _files_of(
    name: str, item: Mapping[str, Any], path: str, bands: Sequence[str] | None
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the files of an item, and the names of the bands of each."""
    assets = {str(key): asset for key, asset in item["assets"].items()}
    if bands is None:
        keys = [key for key, asset in assets.items() if "data" in asset.get("roles", [])] or [*assets]
        if len(keys) != 1:
            raise ContentsError(f"item {name} of {path} has the assets {', '.join(keys)}: choose among them by bands")
        return ((_place(assets[keys[0]]["href"], path), _own_names(assets[keys[0]], ())),)
    files: dict[str, tuple[str, ...]] = {}
    for band in bands:
        keys = [key for key, asset in assets.items() if band in (key, *_own_names(asset, bands))]
        # Pictures for the eye may name bands, too.
        key = min(keys, key=lambda key: (key != band, "data" not in assets[key].get("roles", [])), default=None)
        if key is None:
            there = ", ".join(assets)
            raise ContentsError(f"expected a band {band!r} in item {name} of {path}; got the assets {there}")
        own = _own_names(assets[key], bands)
        files[_place(assets[key]["href"], path)] = own if band in own else (band,)
    return tuple(files.items())


def _own_names(asset: Mapping[str, Any], wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the names of an asset's bands: common names where these are wanted, and nothing unless all have one."""
    found = asset.get("bands") or asset.get("eo:bands") or []
    wanted, names = set(wanted), []
    for band in found:
        common = band.get("common_name") or band.get("eo:common_name")
        names.append(common if common in wanted else band.get("name") or common)
    return tuple(map(str, names)) if all(names) else ()


def _place(href: Any, path: str) -> str:
    """Return the path or URL of an asset, which may be relative to its collection, but leads nowhere else.

    Raises a ContentsError if it leads to another place than that of the collection, and `ALLOWED` does not name it.
    """
    if not isinstance(href, str) or not href.isprintable() or len(href) > LONGEST_HREF:
        raise ContentsError(f"expected a path or URL of at most {LONGEST_HREF:,} letters; got {href!a:.99} in {path}")
    folder, place = path.rpartition("/")[0] or ".", href
    if "://" not in href and local_path(path) is not None:
        place = str(Path(folder, href))
    elif "://" not in href:
        scheme, _, rest = path.partition("://")
        place = f"{scheme}://{urljoin(f'http://{rest}', href)[7:]}"  # which knows few schemes
    own, allowed = urlsplit(folder), dask.config.get(ALLOWED, ())
    roots = [f"{own.scheme}://{own.netloc}/" if own.netloc else folder]
    roots += [allowed] if isinstance(allowed, str) else allowed
    if not any(_leads_into(place, root) for root in roots):
        raise ContentsError(
            f"expected a href at the place of its collection, {roots[0]}; got {href}: if you trust the collection, "
            f'allow the beginning of the href by dask.config.set({{"{ALLOWED}": [...]}}) or {ALLOWED_VARIABLE}'
        )
    local_path(place)  # raises an error for what no machine could open
    return place


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


def open_scene(scene: Scene, opening: Any, bands: Sequence[str] | None) -> Image:
    """Open a scene by `opening`, a function of a path or URL, with the bands of these names, or all.

    Raises a ValueError if it cannot be read, a file of it is missing, or it has other bands or no real numbers.
    """
    if scene.fault:
        raise ContentsError(scene.fault)
    try:
        return _opened(scene, opening, bands)
    except (FileNotFoundError, TypeError) as error:
        raise ContentsError(str(error)) from error


def _opened(scene: Scene, opening: Any, bands: Sequence[str] | None) -> Image:
    images = []
    for path, names in scene.files:
        image = opening(path)
        if names and len(names) != image.shape[2]:
            raise ValueError(f"expected {len(names)} bands, {', '.join(names)}, in {path}; got {image.shape[2]}")
        images.append(replace(image, bands=names or image.bands))
    image = stacked(images)
    image = image if scene.mask is None else masked(image, scene.mask)
    return with_bands(image, bands)


def matched(images: Mapping[str, Image]) -> dict[str, Image]:
    """Return scenes with the same bands, those of most of them.

    Raises a ValueError if scenes differ in their bands or in their dtype.
    """
    usual = usual_of(images.values())
    return {name: alike(image, usual) for name, image in images.items()}


def usual_of(images: Collection[Image]) -> Image:
    """Return the first of the images whose bands and dtype most have, with names of its bands if another has some."""
    layouts = [(sorted(image.bands), image.shape[2], image.dtype.str) for image in images]
    commonest = Counter(map(repr, layouts)).most_common(1)[0][0]  # of equals the first
    usual = next(image for image, layout in zip(images, layouts) if repr(layout) == commonest)
    same = (image.bands for image in images if (image.shape[2], image.dtype) == (usual.shape[2], usual.dtype))
    return replace(usual, bands=usual.bands or next(filter(None, same), ()))


def alike(image: Image, usual: Image) -> Image:
    """Return an image with the bands of another, by their names; without names they are taken to be in its order.

    Raises a ValueError if it has other bands, or another dtype.
    """
    found = with_bands(image, usual.bands) if image.bands and usual.bands else image
    if (found.shape[2], found.dtype) != (usual.shape[2], usual.dtype):
        raise ValueError(
            f"expected scenes of {usual.shape[2]} bands of {usual.dtype}, as {usual.path}; got {found.shape[2]} of "
            f"{found.dtype} in {found.path}: leave it out, choose bands by name, or convert it"
        )
    return replace(found, bands=usual.bands)


def rows_of(images: Iterable[Image], features: Features, *, counted: bool = True) -> da.Array:
    """Return the rows of all scenes, one scene after another; of pixels with data only if these are `counted`.

    Windows do not cross from one scene to another.
    """
    rows = pixel_rows if counted else all_rows
    return da.concatenate([rows(image, features) for image in images])
