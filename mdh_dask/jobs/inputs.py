"""The inputs of jobs: rows, or the pixels of an image or of scenes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, TypeVar

import dask.array as da

from .._errors import ContentsError
from .._locations import redacted
from .._typing import cached_property
from .._words import full_count
from ..chunks import holds_compact
from ..columns.drafts import draft_of
from ..estimators.tables import draft_for
from ..images import Image
from ..images.rows import all_rows
from ..images.scenes import Scene, find_scenes, matched, open_scene, rows_of
from ..images.stac import SceneFile
from ..images.validity import nodata_of
from ..io import codec
from ..io.inputs import Table, TypedTable
from ..io.repositories import fingerprint
from ..io.sparse import held_bytes
from ..workflows._fit import FitResult, fit_rows
from ..workflows.facts import Cluster, Estimate, estimate
from ..workflows.pixels import segment_image
from ..workflows.reading import PixelOptions, Reading
from ..workflows.row_files import StoredBeside
from .outputs import JobOutputs

T = TypeVar("T")

MANY = 10**12
"""More rows than any sample has."""


class Input(ABC):
    """An input that is open but not read, at its `path` or URL; those but scenes have `cluster`, and one run."""

    path: str

    @property
    @abstractmethod
    def rows(self) -> da.Array:
        """Return the rows, of an image one for each pixel, with data or not, before columns are weighted."""

    @property
    def array(self) -> Any:
        """Return the stored array, or a stand-in with its shape and dtype."""
        return self.rows

    @abstractmethod
    def describe(self) -> str:
        """Return a short description."""

    @abstractmethod
    def n_passes_after(self, outputs: Any) -> int:
        """Return the number of passes that the outputs need once the tree has grown."""

    @abstractmethod
    def estimate(self, estimator: Any, outputs: Any) -> Estimate:
        """Return the estimate for clustering the input."""


@dataclass(frozen=True)
class RowsInput(Input):
    """Rows as an input."""

    path: str
    table: Table | TypedTable
    beside: StoredBeside = field(default_factory=StoredBeside)
    previous: str | None = None
    """A model whose ids clusters keep."""

    @property
    def rows(self) -> da.Array:
        return self.table.rows

    def describe(self) -> str:
        n, columns = self.rows.shape
        return f"{n:,} {'sparse ' * holds_compact(self.rows)}rows of {columns} {self.rows.dtype} columns"

    def n_passes_after(self, outputs: JobOutputs) -> int:
        """Return the number of passes after the tree has grown: for labels or profiles, for ids, and for names."""
        written = outputs.labels is not None or outputs.report is not None
        return int(written) + (self.previous is not None) + (self.beside.text_column is not None)

    def estimate(self, estimator: Any, outputs: JobOutputs) -> Estimate:
        if holds_compact(self.rows):
            estimator._read(self.rows, fits=True)  # raises the errors of a fit, and reads nothing yet
        need = estimate(self.rows, estimator)
        if self.beside.weight_column is not None:  # what rows count is not known yet
            need = replace(need, most=estimator._passes(MANY, self.rows.shape[1])[1])
        need = need.more(self.n_passes_after(outputs) + self._finds_levels(estimator))
        return replace(need, held_bytes=held_bytes(self.path))

    def _finds_levels(self, estimator: Any) -> bool:
        """Return whether a pass before the others finds the levels of columns."""
        kinds = estimator.column_types != "auto"
        return (kinds or isinstance(self.table, TypedTable)) and bool(draft_for(self.table.source, estimator).found)

    def cluster(self, estimator: Any, outputs: JobOutputs, cluster: Cluster, resume: str) -> FitResult:
        """Fit the estimator and write the outputs."""
        return fit_rows(self.path, self.table, estimator, outputs, cluster, self.beside, self.previous, resume)


class PixelsInput(Input):
    """The pixels of one image or of several as an input."""

    options: PixelOptions

    @property
    @abstractmethod
    def all_images(self) -> Mapping[str, Image]:
        """Return the open images by their names."""

    def n_passes_after(self, outputs: JobOutputs) -> int:
        return outputs.n_passes_after(self.options.sieve)

    def estimate(self, estimator: Any, outputs: JobOutputs) -> Estimate:
        """Return the estimate for fitting a model to all images and labelling them."""
        need, options = estimate(self.rows, estimator), self.options
        if options.sample is not None:  # one pass draws the pixels, and no more are drawn
            need = replace(need, fewest=1, most=1, crowd_bytes=0)
        measured = options.sample is None and options.coordinates is not None
        holes = any(image.validity is not None for image in self.all_images.values())
        return need.more(measured + holes + (options.dependence is not None) + self.n_passes_after(outputs))


@dataclass(frozen=True)
class ImageInput(PixelsInput):
    """The pixels of an image as an input."""

    path: str
    image: Image
    options: PixelOptions

    @property
    def all_images(self) -> dict[str, Image]:
        return {self.path: self.image}

    @cached_property
    def rows(self) -> da.Array:
        return all_rows(self.image, self.options.columns)

    @property
    def array(self) -> Any:
        return self.image

    def describe(self) -> str:
        height, width, bands = self.image.shape
        pixels = f"{width:,} x {height:,} pixels of {bands} {self.image.dtype} bands"
        return f"{self.image.kind}, {pixels}, rows of {self.rows.shape[1]} {self.rows.dtype} columns"

    def cluster(self, estimator: Any, outputs: JobOutputs, cluster: Cluster, resume: str) -> FitResult:
        """Segment the image and write the outputs."""
        return segment_image(self.image, estimator, self.options, outputs, cluster, resume=resume)


def columns_and_kinds(given: Any) -> tuple[list[str | int] | None, dict[str, Any]]:
    """Return the columns to use and the kinds of columns from the value of ``input.columns``."""
    if isinstance(given, dict):
        return given.get("use"), {kind: columns for kind, columns in given.items() if kind != "use"}
    return given, {}


def options_from(given: Mapping[str, Any], kind: Callable[..., T], **others: Any) -> T:
    """Return options of a kind from the keys of ``[input]`` with the names of its fields, and from others."""
    names = signature(kind).parameters.keys() & given.keys() - others.keys()
    return kind(**{name: given[name] for name in names}, **others)


def open_rows_input(given: Mapping[str, Any]) -> RowsInput:
    """Open rows from the values of ``[input]``, and whether their columns are typed."""
    use, kinds = columns_and_kinds(given["columns"])
    path, missing = given["path"], given["missing_chunks"]
    beside = options_from(given, StoredBeside)
    table = Reading(missing, beside.clustered(path, use)).table(path, given.get("typed", False))
    if kinds and not holds_compact(table.rows):
        draft_of(table.source, kinds)  # raises the errors for columns that are not there, or of other kinds
    return RowsInput(path, table, beside, given.get("previous"))


def options_of(given: Mapping[str, Any], mask: str | None = None) -> PixelOptions:
    """Return how images are opened, and which of their columns and pixels are clustered, from ``[input]``."""
    nodata = None if given["nodata"] is None else nodata_of(str(given["nodata"]))
    reading = options_from(given, Reading, index=given["index"] or {}, nodata=nodata, mask=mask)
    bands = None if given["bands"] is None else tuple(given["bands"])
    return options_from(given, PixelOptions, features=tuple(given["features"]), bands=bands, reading=reading)


def open_image_input(given: Mapping[str, Any]) -> ImageInput:
    """Open an image from the values of ``[input]``."""
    options = options_of(given, given["mask"])
    opened = ImageInput(given["path"], options.open(given["path"]), options)
    _ = opened.rows  # raises the error for a window that does not fit
    return opened


@dataclass(frozen=True)
class ScenesInput(PixelsInput):
    """Scenes as an input."""

    path: str
    """How the scenes were given, for messages."""
    scenes: Mapping[str, Scene]
    options: PixelOptions
    digests: dict[str, str] = field(default_factory=dict, repr=False)

    def digest(self, name: str) -> str:
        """Return a digest of a scene that changes with its files."""
        if name not in self.digests:
            self.digests[name] = _digest(self.scenes[name])
        return self.digests[name]

    def check_unchanged(self, name: str) -> None:
        """Raise an error if a scene has been written again since it was opened."""
        if _digest(self.scenes[name]) != self.digest(name):
            raise ContentsError("it was written again while it was read, so that outputs of both would be mixed")

    def image(self, name: str) -> Image:
        """Open a scene; see `open_scene` for the errors, and `Features.check` for those of its columns."""
        image = open_scene(self.scenes[name], self.options.reading.image, self.options.bands)
        self.options.columns.check_image(image)
        return image

    @cached_property
    def all_images(self) -> dict[str, Image]:
        return matched({name: self.image(name) for name in self.scenes})

    @property
    def rows(self) -> da.Array:
        return rows_of(self.all_images.values(), self.options.columns, counted=False)

    def describe(self) -> str:
        image, rows = next(iter(self.all_images.values())), self.rows
        bands = f"{image.shape[2]} {image.dtype} bands" + (f" ({', '.join(image.bands)})" if image.bands else "")
        scenes = full_count(len(self.scenes), "scene")
        return f"{scenes}, {len(rows):,} pixels of {bands}, rows of {rows.shape[1]} columns"


def open_scenes_input(given: Mapping[str, Any]) -> ScenesInput:
    """Find the scenes that the values of ``[input]`` name; they are opened later."""
    options = options_of(given)
    found = find_scenes(given["path"], options.bands, given["mask"])
    shown = given["path"] if isinstance(given["path"], str) else f"{len(found)} scenes"
    return ScenesInput(shown, {scene.name: scene for scene in found}, options)


def _digest(scene: Scene) -> str:
    # No token of a URL: it may be another one every night, and nobody shall guess it from the digest.
    files = [*scene.files, *([] if scene.mask is None else [SceneFile(scene.mask)])]
    about = [(redacted(one.path), one.bands, dict(one.described), _fingerprint(one.path)) for one in files]
    return codec.digest(*about, *filter(None, [redacted(scene.fault)]))[:32]


def _fingerprint(path: str) -> dict[str, Any] | None:
    """Return the fingerprint of a file, None for one that is missing on a server that cannot list its files."""
    try:
        return fingerprint(path)
    except FileNotFoundError:
        return None
