"""Images of the same bands: many scenes, found by a pattern, a list or in STAC, and those of a saved model."""

import itertools
import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import dask.array as da

from .._errors import ContentsError, SettingError
from .._locations import hiding_credentials, is_stac, name_of, without_query
from .._storable import storable
from ..io.paths import filesystem, local_path, reaching
from ..io.repositories import pinned
from .bands import stacked, with_bands
from .features import Features
from .image import Image
from .opening import masked
from .quantisation import Dequantise
from .rows import all_rows, pixel_rows
from .stac import Found, SceneFile, files_of, items_of
from .tiles import Tiles
from .validity import Nodata

LONGEST_NAME = 150
"""Most bytes of the name of a scene, which becomes the name of files."""


@dataclass(frozen=True)
class Scene:
    """A scene that is not open."""

    name: str
    files: tuple[SceneFile, ...]
    mask: str | None = None
    fault: str = ""

    @property
    def paths(self) -> list[str]:
        """Return the paths or URLs, that of a mask the last."""
        return [file.path for file in self.files] + ([] if self.mask is None else [self.mask])


@hiding_credentials()
def find_scenes(given: Any, bands: Sequence[str] | None = None, mask: str | None = None) -> list[Scene]:
    """Return the scenes that a pattern, a list of paths or STAC items name, in the order of their names.

    An item that lacks a band, or cannot be used otherwise, is a scene with a fault, which `open_scene` raises.

    given: a path or URL with asterisks; paths or URLs; or a STAC item, item collection, collection or catalogue, as a
        JSON file or an object of pystac. Links and assets lead into the folder of the file, or its server or bucket, or
        to where the setting `ALLOWED` says.
    bands: those that are needed, for STAC items: an asset is taken if it has one of them, by the names or common names
        of its bands or by its key. By default the only asset with the role ``"data"``, or the only one.
    mask: path or URL of the mask of every scene, with ``{scene}`` for its name.
    """
    if isinstance(given, str | os.PathLike) and "*" in without_query(given):
        scenes = _of_pattern(os.fspath(given))
    elif isinstance(given, str | os.PathLike) or is_stac(given):
        scenes = [_of_item(number, found, bands) for number, found in enumerate(items_of(given))]
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
        return Scene(name, (SceneFile(pinned(path)),))
    except (OSError, ValueError) as error:
        return Scene(name, (), fault=str(error))


def _of_pattern(pattern: str) -> list[Scene]:
    fs, root = filesystem(pattern)
    fs.invalidate_cache()
    with reaching(pattern):
        found = fs.glob(root)
    hidden = (path for path in found if not name_of(path).startswith("."))
    local = local_path(pattern) is not None
    return [_of_path(path if local else fs.unstrip_protocol(path)) for path in hidden]


def _of_item(number: int, found: Found, bands: Sequence[str] | None) -> Scene:
    """Return the scene of an item; whatever is wrong with it is the fault of this scene alone."""
    item, path, name = found.item, found.path, f"item {number}"
    if found.fault:
        return Scene(f"{found.name} {name}".strip(), (), fault=found.fault)
    try:
        given = PurePosixPath(str(item["id"])).name
        if not given.strip(".") or not given.isprintable() or len(given.encode()) > LONGEST_NAME:
            raise ContentsError(
                f"expected an id that can be the name of a file, of at most {LONGEST_NAME} bytes, for item {number} of "
                f"{path}; got {given!a:.99}"
            )
        name = given
        return Scene(name, files_of(name, found, bands))
    except (KeyError, TypeError, AttributeError) as error:
        return Scene(name, (), fault=f"expected assets with a href in {name} of {path}; got {error!r:.99}")
    except (ContentsError, OSError) as error:
        return Scene(name, (), fault=str(error))


def open_scene(scene: Scene, opening: Any, bands: Sequence[str] | None) -> Image:
    """Open a scene by `opening`, a function of a path or URL, with the bands of these names, or all."""
    if scene.fault:
        raise ContentsError(scene.fault)
    images = []
    try:
        for path, names, described in scene.files:
            image = opening(path, described=described)
            if names and len(names) != image.shape[2]:
                raise ValueError(f"expected {len(names)} bands, {', '.join(names)}, in {path}; got {image.shape[2]}")
            images.append(replace(image, bands=names or image.bands))
        image = stacked(images)
        return with_bands(image if scene.mask is None else masked(image, scene.mask), bands)
    except (FileNotFoundError, TypeError) as error:
        raise ContentsError(str(error)) from error


def matched(images: Mapping[str, Image]) -> dict[str, Image]:
    """Return scenes with the same bands, those of most of them."""
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
    """Return an image with the bands of another, by their names; without names they are taken to be in its order."""
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


@storable
@dataclass(frozen=True)
class PixelColumns:
    """The columns of an image's rows.

    Examples
    --------
    >>> columns = PixelColumns(3, Features(window=5), axes="cyx")
    >>> columns.features.n_columns(columns.n_bands)
    9
    """

    n_bands: int
    features: Features
    axes: str | None = None
    nodata: Nodata = None
    """Both as given by the user; see `open_image`."""
    bands: tuple[str, ...] | None = None
    """Names of the bands, by which those of other images are found."""
    tiles: Tiles | None = None
    """Those on which the model was tested."""
    dequantise: Dequantise | None = None
    """Values that stored numbers become, as given by the user; see `open_image`."""
    snapshots: tuple[str, ...] | None = None
    """Snapshots of Icechunk repositories to which the model was fitted."""

    def of(self, image: Image, model: object) -> Image:
        """Return an image with the bands of a model, found by their names if both have some; `model` is its name.

        Another number of bands is a ValueError.
        """
        image = with_bands(image, self.bands) if self.bands and image.bands else image
        if image.shape[2] != self.n_bands:
            raise ValueError(
                f"expected an image of {self.n_bands} bands, as {model} was fitted to; got {image.shape[2]} in "
                f"{image.path}: give one with the same bands in the same order, or fit a model to this one"
            )
        return image

    def check_columns(self, n_columns: int) -> None:
        """Raise an error unless pixels have this number of columns."""
        if self.n_bands < 1 or self.bands == () or not all(map(math.isfinite, self.features.factors or ())):
            raise ValueError(f"expected bands and finite factors of pixel columns; got {self!r:.99}")
        own, factors = self.features.n_columns(self.n_bands), self.features.factors
        if own != n_columns or (factors is not None and len(factors) != own):
            raise ValueError(f"expected {n_columns} pixel columns, with as many factors or none; got {own}: {factors}")
