"""Opening of an input as rows, or as an image whose pixels are rows."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import dask.array as da

from .._errors import SettingError
from .._locations import names_scenes
from .._words import full_count
from ..images import Features, Image, open_image, pixel_rows
from ..images.bands import with_bands
from ..images.features import WINDOW, needs_window
from ..images.opening import kind_of
from ..images.quantisation import Dequantise, Described
from ..images.rows import all_rows
from ..images.validity import Nodata
from ..io import inputs
from ..io.inputs import Table, TypedTable
from ..io.nodes import Location, is_node

MissingChunks = Literal["error", "fill"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """Options for opening an input."""

    missing_chunks: MissingChunks = "error"
    """Whether missing chunks of a Zarr array are an error or hold the fill value."""
    columns: Sequence[str | int] | None = None
    """Columns of rows."""
    axes: str | None = None
    """Axes of an image; see `open_image`."""
    index: Mapping[str, int] = field(default_factory=dict)
    """Index on the other axes of an image."""
    nodata: Nodata = None
    """Value of pixels of an image without data; see `open_image`."""
    mask: str | None = None
    """Path or URL of a mask of an image."""
    dequantise: Dequantise | None = None
    """Values that stored numbers of an image become; see `open_image`."""
    reproject: str | None = None
    """A coordinate system in which an image is seen; see `open_image`."""

    def table(self, path: str, typed: bool = False) -> Table | TypedTable:
        """Open rows, with typed columns if asked for or some are dates, and log their shape and dtype."""
        typed = typed or inputs.has_dates(path, self.columns)
        opening = inputs.open_typed if typed else inputs.open_features
        table = opening(path, self.columns, missing_chunks=self.missing_chunks)
        rows = table.rows
        n_rows, blocks = full_count(rows.shape[0], "row"), full_count(rows.numblocks[0], "block")
        logger.info("%s: %s of %s %s features in %s", path, n_rows, rows.shape[1], rows.dtype, blocks)
        return table

    def image(
        self, path: Location, axes: str | None = None, nodata: Nodata = None, dequantise: Dequantise | None = None,
        described: Described | None = None,
    ) -> Image:  # fmt: skip
        """Open an image; `axes` applies if the image does not name its axes, the others if none is chosen."""
        silent = self.axes is None and (is_node(path) or kind_of(path) != "picture")
        return open_image(
            path, axes=axes if silent else self.axes, index=self.index, missing_chunks=self.missing_chunks,
            nodata=nodata if self.nodata is None else self.nodata, mask=self.mask,
            dequantise=self.dequantise or dequantise, described=described, reproject=self.reproject,
        )  # fmt: skip


@dataclass(frozen=True)
class PixelOptions:
    """Options for the columns and pixels of an image to cluster."""

    window: int | None = None
    """See `Features`."""
    coordinates: float | None = None
    """Weight of line and column, in units of their standard deviations as for the other columns; None to omit them."""
    sample: int | None = None
    """Number of pixels to grow the tree on; None for all."""
    features: tuple[str, ...] = ()
    """Kinds of columns, see `Features`; the window of smooth and texture columns is 5 unless another is given."""
    sieve: int | None = None
    """Merge connected regions of fewer pixels into their neighbours."""
    bands: tuple[str, ...] | None = None
    """Names of the bands as chosen by the user, for the model."""
    dependence: int | Literal["auto"] | None = None
    """Side of tiles within which pixels depend on each other, so that splits are tested on tiles; None to test them on
    pixels."""
    reading: Reading = field(default_factory=Reading)
    """How images are opened; the model keeps its `nodata` and `dequantise`."""

    def open(self, path: Location) -> Image:
        """Open an image with the bands that are chosen."""
        return with_bands(self.reading.image(path), self.bands)

    @property
    def columns(self) -> Features:
        """Return the columns of a pixel's row, before weighting."""
        window = self.window or (WINDOW if needs_window(self.features) else None)
        return Features(window, self.coordinates is not None, kinds=self.features)

    def __post_init__(self) -> None:
        for name, least in (("window", 3), ("sample", 2), ("sieve", 2)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, Integral) or value < least):
                raise SettingError(f"expected a whole number of {least} or more for {name}; got {value!r}")
        weight = self.coordinates
        if weight is not None and not (isinstance(weight, Real) and 0 < weight < math.inf):
            raise SettingError(f"expected a number above 0 for coordinates; got {weight!r}: leave them out for none")
        if self.bands == ():
            raise SettingError("expected names of bands; got none: leave bands out to use all")
        side = self.dependence
        if side not in (None, "auto") and (not isinstance(side, Integral) or side < 1):
            raise SettingError(f"expected a number of pixels, 'auto' or 'none' for dependence; got {side!r}")
        if side is not None and self.coordinates is not None:
            raise SettingError(
                "expected no coordinates with dependence, as they are the same in all tiles of a line; got some"
            )


def takes_types(estimator: Any) -> bool:
    """Return whether an estimator needs the types of columns: it distinguishes them, or they are given."""
    return estimator.uses_types or estimator.column_types != "auto" or estimator.columns is not None


def opened_for_model(estimator: Any, model: str, path: str, reading: Reading) -> tuple[Callable[[], da.Array], float]:
    """Open the rows for a fitted model, or the pixels of an image; return a function that returns them, and their size.

    The function makes a pass if some pixels may hold no data. Errors are those of `rows_for_model` and
    `image_for_model`.
    """
    if estimator.pixel_columns_ is None:
        rows = rows_for_model(estimator, model, path, reading)
        return lambda: rows, rows.nbytes
    image, features = image_for_model(estimator, model, path, reading), estimator.pixel_columns_.features
    features.check_image(image)
    return lambda: pixel_rows(image, features), all_rows(image, features).nbytes


def rows_for_model(estimator: Any, model: str, path: str, reading: Reading) -> da.Array:
    """Open the rows for a fitted model: the columns of a table that it was fitted to.

    Typed columns are coded by the levels of the model, and missing values replaced as it says.
    """
    if any((reading.axes, reading.index, reading.nodata is not None, reading.mask)):
        raise SettingError(
            f"{model} was fitted to rows, and not to an image: leave out axes=... and index=..., "
            "nodata=... and mask=..."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    table = source_for_model(estimator, path, reading)
    rows, names = table.rows, table.names
    if rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"expected {estimator.n_features_in_} columns, as {model} was fitted to; got {rows.shape[1]} in "
            f"{path}: give the same features, or fit a model to these"
        )
    if fitted is not None and names is not None and names != tuple(fitted):
        raise ValueError(
            f"expected the columns {','.join(fitted)}, as {model} was fitted to; got {','.join(names)}: leave out "
            "columns=..., or fit a model to these"
        )
    return estimator._read(table.source).array


def source_for_model(estimator: Any, path: str, reading: Reading) -> Any:
    """Open the columns of a table that a model was fitted to, or rows of numbers, before they are coded."""
    if reading.columns is None and knows_names(estimator, path):
        reading = Reading(reading.missing_chunks, list(estimator.feature_names_in_))
    return reading.table(path, takes_types(estimator))


def knows_names(estimator: Any, path: str) -> bool:
    """Return whether a model takes the columns of its names from a table."""
    named = hasattr(estimator, "feature_names_in_") and estimator.pixel_columns_ is None  # bands are no columns
    return named and inputs.kind_of(path) in inputs.TABLES


def image_for_model(estimator: Any, model: str, path: str, reading: Reading) -> Image:
    """Open an image for a model of an image."""
    if reading.columns is not None:
        raise SettingError(f"{model} was fitted to an image, whose columns it knows: leave out columns=...")
    if names_scenes(path):
        raise SettingError(
            f"expected one image; got {path}, which names several: give them one by one, or run a job with kind = "
            "'scenes' in [input]"
        )
    columns = estimator.pixel_columns_
    image: Image = columns.of(reading.image(path, columns.axes, columns.nodata, columns.dequantise), model)
    return image
