"""What a job clusters: rows, or the pixels of an image."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import dask.array as da

from ..images import Image, pixel_rows
from ..io.inputs import Table
from ..workflows._fit import Cluster, fit_rows
from ..workflows.estimates import Estimate, estimate
from ..workflows.pixels import PixelOptions, columns_of, segment_image
from ..workflows.reading import Reading
from .outputs import ImageJobOutputs, JobOutputs


class Made(NamedTuple):
    """What was made of an input."""

    summary: str
    sizes: list[int] | None
    """Rows of every cluster, if all were labelled; else the tree tells how many it was grown on."""


class Input(Protocol):
    """What a job clusters, opened but not read."""

    @property
    def path(self) -> str:
        """Return its path or URL."""

    @property
    def rows(self) -> da.Array:
        """Return the rows."""

    @property
    def array(self) -> Any:
        """Return what has the shape and the dtype of what is stored."""

    def describe(self) -> str:
        """Return what it is in a few words."""

    def n_passes_after(self, outputs: Any) -> int:
        """Return the passes that outputs need once the tree has grown."""

    def estimate(self, estimator: Any, outputs: Any) -> Estimate:
        """Return what clustering it will need."""

    def cluster(self, estimator: Any, outputs: Any, cluster: Cluster, resume: str) -> Made:
        """Cluster it and write what was asked for, going on where a call with the same text was interrupted."""


@dataclass(frozen=True)
class RowsInput:
    """Rows."""

    path: str
    table: Table

    @property
    def rows(self) -> da.Array:
        """Return the rows."""
        return self.table.rows

    @property
    def array(self) -> Any:
        """Return the rows."""
        return self.table.rows

    def describe(self) -> str:
        """Return their number and what they hold."""
        n, columns = self.rows.shape
        return f"{n:,} rows of {columns} {self.rows.dtype} columns"

    def n_passes_after(self, outputs: JobOutputs) -> int:
        """Return the passes after the tree has grown: the one that writes labels and looks at clusters."""
        return int(outputs.labels is not None or outputs.report is not None)

    def estimate(self, estimator: Any, outputs: JobOutputs) -> Estimate:
        """Return what a fit will need."""
        return estimate(self.rows, estimator, labels=bool(self.n_passes_after(outputs)))

    def cluster(self, estimator: Any, outputs: JobOutputs, cluster: Cluster, resume: str) -> Made:
        """Fit, and write what was asked for."""
        return Made(fit_rows(self.path, self.table, estimator, outputs, cluster, resume), None)


@dataclass(frozen=True)
class ImageInput:
    """The pixels of an image."""

    path: str
    image: Image
    options: PixelOptions

    @cached_property
    def rows(self) -> da.Array:
        """Return a row for each pixel; its columns are not weighted yet."""
        return pixel_rows(self.image, columns_of(self.options))

    @property
    def array(self) -> Any:
        """Return the image."""
        return self.image

    def describe(self) -> str:
        """Return its size and what the rows are that its pixels become."""
        height, width, bands = self.image.shape
        pixels = f"{width:,} x {height:,} pixels of {bands} {self.image.dtype} bands"
        return f"{self.image.kind}, {pixels}, rows of {self.rows.shape[1]} {self.rows.dtype} columns"

    def n_passes_after(self, outputs: ImageJobOutputs) -> int:
        """Return the passes after the tree has grown: the one that looks at segments."""
        return int(outputs.shows_pixels)

    def estimate(self, estimator: Any, outputs: ImageJobOutputs) -> Estimate:
        """Return what a segmentation will need."""
        need = estimate(self.rows, estimator, labels=outputs.shows_pixels)
        by_sample, weighted = self.options.sample is not None, self.options.coordinates is not None
        return need.on_pixels(by_sample, weighted, self.n_passes_after(outputs))

    def cluster(self, estimator: Any, outputs: ImageJobOutputs, cluster: Cluster, resume: str) -> Made:
        """Segment, and write what was asked for."""
        made = segment_image(self.image, estimator, self.options, outputs, cluster, resume=resume)
        return Made(made.summary, None if made.sizes is None else made.sizes.tolist())


def open_rows_input(given: Mapping[str, Any]) -> RowsInput:
    """Open rows as the values of ``[input]`` say."""
    return RowsInput(given["path"], Reading(given["missing_chunks"], given["columns"]).table(given["path"]))


def open_image_input(given: Mapping[str, Any]) -> ImageInput:
    """Open an image as the values of ``[input]`` say."""
    reading = Reading(given["missing_chunks"], axes=given["axes"], index=given["index"] or {})
    options = PixelOptions(given["window"], given["coordinates"], given["sample"])
    opened = ImageInput(given["path"], reading.image(given["path"]), options)
    _ = opened.rows  # a window that does not fit is an error now
    return opened
