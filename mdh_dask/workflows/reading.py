"""How an input is read: as rows, or as an image of which the pixels are rows."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import dask.array as da

from .._errors import SettingError
from ..images import Features, Image, PixelColumns, open_image, pixel_rows
from ..images.opening import kind_of
from ..io import inputs
from ..io.inputs import Table

MissingChunks = Literal["error", "fill"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """What is said about an input besides its path.

    Parameters
    ----------
    missing_chunks : {"error", "fill"}
        What to do about chunks of Zarr that are not stored.
    columns : sequence of str or int, optional
        Of rows.
    axes : str, optional
        Of an image; see `open_image`.
    index : mapping of str to int
        The place on other axes of an image.
    """

    missing_chunks: MissingChunks = "error"
    columns: Sequence[str | int] | None = None
    axes: str | None = None
    index: Mapping[str, int] = field(default_factory=dict)

    def table(self, path: str) -> Table:
        """Open rows and tell what they are."""
        table = inputs.open_features(path, self.columns, missing_chunks=self.missing_chunks)
        rows = table.rows
        logger.info("%s: %s rows of %s %s features in %s blocks", path, *rows.shape, rows.dtype, rows.numblocks[0])
        return table

    def image(self, path: str, axes: str | None = None) -> Image:
        """Open an image; `axes` are those of one that does not say otherwise."""
        silent = self.axes is None and kind_of(path) != "picture"
        return open_image(
            path, axes=axes if silent else self.axes, index=self.index, missing_chunks=self.missing_chunks
        )


def rows_for_model(estimator: Any, model: str, path: str, reading: Reading) -> da.Array:
    """Open the rows that a fitted model is for: of a table the columns that it was fitted to, or an image's pixels.

    Raises
    ------
    ValueError
        If they are not the columns that the model was fitted to, by number or by name.
    SettingError
        If something is said about rows of an image, or the other way round.
    """
    if estimator.pixel_columns_ is not None:
        return pixel_rows(*image_for_model(estimator, model, path, reading))
    if reading.axes is not None or reading.index:
        raise SettingError(f"{model} was fitted to rows, and not to an image: leave out axes=... and index=...")
    fitted = getattr(estimator, "feature_names_in_", None)
    if reading.columns is None and fitted is not None and inputs.kind_of(path) == "Parquet":
        reading = Reading(reading.missing_chunks, list(fitted))
    rows, names = reading.table(path)
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
    return rows


def image_for_model(estimator: Any, model: str, path: str, reading: Reading) -> tuple[Image, Features]:
    """Open an image for a model of one, and return it with what the columns of its rows are.

    Raises
    ------
    ValueError
        If it has other bands, or the model's windows do not fit into it.
    SettingError
        If columns are asked for.
    """
    if reading.columns is not None:
        raise SettingError(f"{model} was fitted to an image, whose columns it knows: leave out columns=...")
    columns = PixelColumns.from_dict(estimator.pixel_columns_)
    image = reading.image(path, columns.axes)
    columns.check(image, model)
    return image, columns.features
