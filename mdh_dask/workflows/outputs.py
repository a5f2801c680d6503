"""The outputs of a workflow, checked before any work is done."""

import os
import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryFile
from urllib.parse import quote

from fsspec.utils import glob_translate  # type: ignore[import-untyped, unused-ignore]

from .._errors import CannotCreateError, SettingError
from .._locations import without_query
from .._process import require
from ..io.models import MODEL
from ..io.openmetrics import is_gateway
from ..io.parquet import is_label_table
from ..io.paths import local_path
from ..io.repositories import Revision, check_branch, revision_of
from ..io.staging import ARRAY, FILES, Kind, check_ending, check_file, will_replace
from .output_kinds import OUTPUTS, wanted


@dataclass(frozen=True)
class Outputs:
    """The outputs of a workflow: paths or URLs, None for those that are not wanted; see `OUTPUTS`."""

    labels: str | None = None
    model: str | None = None
    report: str | None = None
    """Labels of rows or pixels, a model, and an HTML report."""
    overwrite: bool = False
    """Whether to replace existing outputs."""
    _: KW_ONLY
    confidence: str | None = None
    """An array with the confidence in each label."""
    ids: bool = False
    """Whether the labels are written as the ids of their clusters."""
    preview: str | None = None
    connected: str | None = None
    regions: str | None = None
    """Of an image: a picture of the segments, the numbers of connected regions, and a table of these."""
    item: str | None = None
    """A STAC item of the labels of an image."""
    metrics: str | None = None
    manifest: str | None = None
    """Files of a job."""
    of_image: bool = False
    """Whether they are those of an image."""
    final: tuple[tuple[str, str], ...] = ()
    """Names and places at which outputs that are staged will be."""

    def __post_init__(self) -> None:
        for name, path in self.places().items():
            object.__setattr__(self, name, os.fspath(path))

    def check(self, *inputs: str | None) -> None:
        """Raise an error if an output cannot be written, before any work is done."""
        places = self.places()
        if all(OUTPUTS[name].describes for name in places) and self.confidence is None:
            needed = wanted("image" if self.of_image else "rows")
            raise SettingError(f"expected {needed}; got none of them: nothing would be kept")
        given = self.given()
        for i, path in enumerate(given):
            check_writable(path)
            Taken([*given[:i], *inputs]).check(path)
        if self.confidence is not None and self.labels is None:
            raise SettingError("expected labels beside the confidence, as both are written in one pass; got none")
        if self.item is not None and self.labels is None:
            raise SettingError("expected labels beside the item, which describes them; got none")
        for name, path in places.items():
            self._check_place(name, path)

    def _check_place(self, name: str, path: str) -> None:
        """Raise an error if an output cannot be written to its path or URL."""
        kind, replace = OUTPUTS[name], self.may_replace(path)
        if (node := revision_of(path)) is not None:
            check_node(node, name, kind.form != "file")
        if kind.package is not None:
            require(*kind.package)
        if self.of_image and name == "report":
            require("PIL", "images")
        if name == "regions":
            _check_regions(path)
        if kind.form == "file":
            check_file(path, replace, kind.example)
        elif kind.form == "labels" and self.of_image:
            _check_label_image(path, replace)
        elif kind.form == "labels" and is_label_table(path):
            require("pyarrow", "parquet")
            check_file(path, replace, "labels.parquet")
        else:
            if kind.form == "labels":
                check_ending(path, "a Zarr array or a Parquet file", ".zarr", ".parquet")
            _check_zarr(path, replace, MODEL if kind.form == "model" else ARRAY)
        if (place := local_path(path)) is not None:
            check_folder(place.parent)

    @property
    def shows_pixels(self) -> bool:
        """Return whether any output but the model is written."""
        return any((self.labels, self.preview, self.report, self.connected, self.regions))

    def n_passes_after(self, sieve: int | None) -> int:
        """Return the number of passes over pixels after the tree has grown: one if more than the model is written.

        With regions another one for the final labels, and one for the table. Passes over labels do not count.
        """
        if sieve is None and not self.connected and not self.regions:
            return int(self.shows_pixels)
        return 2 + (self.regions is not None)

    def may_replace(self, path: str) -> bool:
        """Return whether an output may replace what exists at its path or URL."""
        return self.overwrite

    def kept(self) -> str:
        """Return a phrase that names the paths of the outputs."""
        return ", ".join(self.given())

    def given(self) -> list[str]:
        """Return the paths or URLs of all outputs."""
        return list(self.places().values())

    def places(self) -> dict[str, str]:
        """Return the path or URL of every output by its name, in the order of publication."""
        return {name: path for name in OUTPUTS if (path := getattr(self, name)) is not None}

    def places_of(self, what: str, name: str) -> dict[str, str]:
        """Return the paths or URLs of what a scene, or a version of the model, of this name has for itself."""
        own = {key: place for key, place in self.places().items() if OUTPUTS[key].per == what}
        return {key: place.replace(f"{{{what}}}", name) for key, place in own.items()}


def _check_label_image(path: str, overwrite: bool) -> None:
    """Raise an error if labels of an image cannot be written to a path or URL."""
    from ..images.label_arrays import LABEL_IMAGE
    from ..images.maps import is_map

    if is_map(path):
        require("rasterio", "maps")
        check_file(path, overwrite, "labels.tif")
    else:
        _check_zarr(path, overwrite, LABEL_IMAGE)


def _check_zarr(path: str, overwrite: bool, kind: Kind) -> None:
    """Raise an error if a path or URL has another ending, or holds something that must not be replaced."""
    check_ending(path, kind.what, ".zarr")
    will_replace(path, overwrite, kind)


def _check_regions(path: str) -> None:
    """Raise an error if the name is that of another format, or a package for the polygons of regions is missing."""
    from ..images.region_tables import holds_polygons

    if not is_label_table(path):
        check_ending(path, "a Parquet table", ".parquet")
    for package in ("rasterio", "shapely") if holds_polygons(path) else ():
        require(package, "maps")


def check_node(node: Revision, name: str, is_array: bool) -> None:
    """Raise an error if an output cannot be committed to a repository as a node."""
    require("icechunk", "icechunk")
    repository = node.repository
    if not is_array or PurePosixPath(node.path).suffix.lower() in FILES:
        raise SettingError(
            f"expected a path outside of {repository}, which holds no files, for the {name}; got one in it: name one"
        )
    check_branch(node)
    if not node.path:
        raise SettingError(f"expected a node for the {name}, as icechunk::{repository}@main/{name}; got none: name one")
    if (folder := local_path(repository)) is not None:
        check_folder(folder.parent)


def check_writable(path: str) -> None:
    """Raise an error if a path or URL cannot be that of an output."""
    if not path:
        raise SettingError("expected the path or URL of an output; got an empty one: name a place, or leave it out")
    chained = "::" in path and "://" in path and revision_of(path) is None
    if path.startswith(("http://", "https://")) or chained:
        raise SettingError(
            f"expected a path or the URL of a store that can be written to, as s3://; got {path}: name another output"
        )
    try:
        local_path(path)
    except OSError as error:  # circular links, or a name that is too long
        raise CannotCreateError(f"{path} cannot be made: {error.strerror}; name another place") from error


class Taken:
    """Many paths or URLs that are in use, but for None; one with ``*`` stands for all that match it."""

    def __init__(self, paths: Iterable[str | None] = ()):
        self._known: dict[PurePath, str] = {}
        self._around: dict[PurePath, str] = {}
        self._patterns: dict[re.Pattern[str], str] = {}
        self.add(*paths)

    def add(self, *paths: str | None) -> None:
        """Take further paths or URLs."""
        for path in (one for one in paths if one is not None):
            pure = pure_path(path)
            if "*" in without_query(path):
                self._patterns.setdefault(re.compile(glob_translate(str(pure))), path)
                continue
            self._known.setdefault(pure, path)
            for folder in pure.parents:
                self._around.setdefault(folder, path)

    def overlap(self, path: str) -> str | None:
        """Return the first that is a path or URL, inside it or around it, or stands for it; None if there is none."""
        pure = pure_path(path)
        above = (pure, *pure.parents)
        known = (self._known[one] for one in above if one in self._known)
        matched = (own for wanted, own in self._patterns.items() if any(wanted.match(str(one)) for one in above))
        return self._around.get(pure) or next(known, None) or next(matched, None)

    def check(self, *paths: str | None) -> None:
        """Raise an error if one of some paths or URLs is that of another, inside it or around it."""
        for path in (one for one in paths if one is not None):
            if (other := self.overlap(path)) is not None:
                raise SettingError(f"expected separate paths; got {path} and {other}, which overlap: name another")


def link_between(page: str, other: str) -> str:
    """Return the address of another page relative to a page.

    Examples
    --------
    >>> link_between("out/r.html", "p.html"), link_between("s3://b/out/r.html", "s3://b/out/p.html")
    ('../p.html', 'p.html')
    >>> link_between("r.html", "s3://b/p.html")
    's3://b/p.html'
    """
    here, there = pure_path(page), pure_path(other)
    if (isinstance(here, Path) and isinstance(there, Path)) or here.parts[:2] == there.parts[:2]:
        return quote(PurePath(os.path.relpath(there, here.parent)).as_posix())
    return there.as_uri() if isinstance(there, Path) else other


def check_metrics(place: str, *others: str | None) -> None:
    """Raise an error if metrics, which replace a file, cannot be written or would replace one of the others."""
    if is_gateway(place):
        return
    check_writable(place)
    Taken(others).check(place)
    check_file(place, True, "metrics.prom")
    if (file := local_path(place)) is not None:
        check_folder(file.parent)


def check_folder(folder: Path) -> None:
    """Raise an error if a folder cannot be written to."""
    if not folder.is_dir():
        raise CannotCreateError(f"the folder {folder} of an output does not exist: make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {folder} of an output is not writable: name another output")
    try:  # what the file system says may differ from the permissions: of read-only ones, and for root
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise CannotCreateError(
            f"the folder {folder} of an output takes no files ({error.strerror}): name another output"
        ) from error


def pure_path(path: str) -> PurePath:
    """Return a path with links resolved, or a URL as a path, to compare it with others."""
    if (node := revision_of(path)) is not None:
        return (local_path(node.repository) or PurePosixPath(node.repository)) / node.path
    return local_path(path) or PurePosixPath(path)
