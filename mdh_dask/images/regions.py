"""Segments as regions: small ones merged, an image of their numbers, and a table of them."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

from .._jit.rows import loop_ready
from .._jit.sums import largest_deviations
from .._packages import needed
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.paths import local_path, url_options
from ..io.rows import open_array
from ..io.staging import check_file, staged, will_replace, write_file
from ..summaries.moments import MomentPass, SlicedSums, means_of, tops_of
from .components import SIDE, Regions, find_regions, sieved, write_regions
from .features import Features
from .image import Image
from .label_arrays import LABEL_IMAGE, Label, StoredLabels, WriteLabels, create, finish
from .labels import summarise, write_labels
from .maps import hidden_array, is_map, place_of, removed_at_the_end, write_map
from .overview import SegmentSummary
from .rows import all_rows, marked_rows
from .validity import MarkedRows

GROUP = 2**20
"""Regions of a row group of the file."""

Sums = tuple[Integers, SlicedSums] | None
"""Numbers of regions and sums of their pixels; None without regions."""


@dataclass(frozen=True)
class LargestValues(Statistic):
    """The largest absolute value of every band, from which all sums of regions have the same slices."""

    n_bands: int

    def chunk(self, start: int, *blocks: AnyArray) -> Floats:
        """Return those of a block of labels and pixels."""
        largest = np.zeros(self.n_bands)
        largest_deviations(loop_ready(blocks[1][:, : self.n_bands]), np.zeros(self.n_bands), largest)
        return largest

    def combine(self, left: Floats, right: Floats) -> Floats:
        """Return the larger of both."""
        return np.maximum(left, right)


@dataclass(frozen=True)
class RegionSums(Statistic):
    """Sums of the bands of every region; the rows are pixels of some blocks of an image."""

    known: StoredLabels
    starts: Mapping[int, int]
    """First row in the image of each block, by its first row among those of this pass."""
    top: Integers

    # The regions are not in the journal.
    journalled = False

    # The places of blocks are known by their first rows.
    keeps_blocks = True

    def chunk(self, start: int, *blocks: Any) -> Sums:
        """Sum the pixels of the regions in a block."""
        pixels = blocks[0].rows if isinstance(blocks[0], MarkedRows) else blocks[0]
        numbers = self.known(self.starts[start], len(pixels))
        inside = numbers >= 0
        if not inside.any():
            return None
        ids, labels = np.unique(numbers[inside], return_inverse=True)
        n_bands = self.top.shape[1]
        return ids, MomentPass(len(ids), np.zeros(n_bands), top=self.top).chunk(start, labels, pixels[inside])

    def combine(self, left: Sums, right: Sums) -> Sums:
        """Add the sums of the same regions."""
        if left is None or right is None:
            return right if left is None else left
        ids = np.union1d(left[0], right[0])
        return ids, MomentPass(len(ids), np.zeros(0)).combine(_spread(left, ids), _spread(right, ids))


class _Band(NamedTuple):
    """Blocks of rows of all columns of an image, between two lines."""

    end: int
    rows: da.Array
    starts: dict[int, int]


def means_of_regions(
    numbers: StoredLabels, image: Image, regions: Regions, largest: Floats, bar: Callable[[str], Progress | None]
) -> Floats:
    """Return the means of the bands of every region, shape (n_regions, n_bands), in one pass over the image.

    Sums are kept only for regions that go on below the lines that were read. `largest` is the value of `LargestValues`;
    `bar` returns the progress bar for a text.
    """
    means, top = np.zeros((regions.n, image.shape[2])), tops_of(largest)
    going_on: Sums = None
    for band in _bands(image):
        sums = RegionSums(numbers, band.starts, top)
        going_on = sums.combine(going_on, reduce_rows(sums, band.rows, progress=bar(f"measuring to line {band.end}")))
        if going_on is not None:
            ids, state = going_on
            done = regions.boxes[ids, 1] < band.end
            means[ids[done]] = means_of(_picked(state, done))
            going_on = ids[~done], _picked(state, ~done)
    return means


def table_of(regions: Regions, means: Floats, image: Image) -> bytes:
    """Return the table of regions as a Parquet file.

    Columns are ``region``, ``segment``, ``area`` in pixels, ``first_line``, ``last_line``, ``first_column``,
    ``last_column``; ``x`` and ``y`` of the middle of this box, if the image has coordinates; and ``mean_`` with the
    name or number of each band.
    """
    parquet, file = needed("pyarrow.parquet", "parquet"), io.BytesIO()
    first = _rows_of_table(regions, means, image, slice(0, GROUP))
    with parquet.ParquetWriter(file, first.schema) as writer:
        for start in range(0, max(regions.n, 1), GROUP):
            writer.write_table(_rows_of_table(regions, means, image, slice(start, start + GROUP)))
    return file.getvalue()


def _rows_of_table(regions: Regions, means: Floats, image: Image, part: slice) -> Any:
    columns: dict[str, AnyArray] = {
        "region": np.arange(regions.n)[part],
        "segment": regions.classes[part],
        "area": regions.areas[part],
    }
    columns |= dict(zip(("first_line", "last_line", "first_column", "last_column"), regions.boxes[part].T))
    columns |= dict(zip("xy", _middles(regions.boxes[part], image)))
    columns |= {f"mean_{name}": mean for name, mean in zip(image.bands or count(), means[part].T)}
    return needed("pyarrow", "parquet").table({name: np.ascontiguousarray(column) for name, column in columns.items()})


def _middles(boxes: Integers, image: Image) -> tuple[Floats, ...]:
    """Return the coordinates of the middles of boxes, or nothing without any."""
    if "spatial:transform" not in image.georeference:
        return ()
    a, b, c, d, e, f = image.georeference["spatial:transform"]
    half = 0.0 if image.georeference.get("spatial:registration") == "node" else 0.5
    line, column = boxes[:, :2].mean(axis=1) + half, boxes[:, 2:].mean(axis=1) + half
    return a * column + b * line + c, d * column + e * line + f


def _bands(image: Image) -> Iterator[_Band]:
    """Yield the rows of an image in bands of about `SIDE` lines."""
    rows = all_rows(image) if image.validity is None else marked_rows(image)  # known blocks without data are not read
    ends = np.concatenate([[0], np.cumsum(rows.chunks[0])])
    first_lines = np.array([image.order.block_of(int(a), int(b - a))[0].start for a, b in pairwise(ends)])
    lines = np.unique(first_lines)
    step = max(1, SIDE // (lines[1] - lines[0])) if len(lines) > 1 else 1
    for i in range(0, len(lines), step):
        own = np.flatnonzero(np.isin(first_lines, lines[i : i + step]))
        part = rows.blocks[own.tolist()]
        local = np.concatenate([[0], np.cumsum(part.chunks[0])])
        end = int(lines[i + step]) if i + step < len(lines) else image.shape[0]
        yield _Band(end, part, dict(zip(local.tolist(), ends[own].tolist())))


def _picked(sums: SlicedSums, which: Booleans) -> SlicedSums:
    return SlicedSums(sums.n_rows[which], sums.top, sums.sums[which], sums.n_missing[which])


def _spread(state: tuple[Integers, SlicedSums], ids: Integers) -> SlicedSums:
    """Return sums of some regions as sums of more."""
    own, sums = state
    at, out = np.searchsorted(ids, own), []
    for part in (sums.n_rows, sums.sums, sums.n_missing):
        whole = np.zeros((len(ids), *part.shape[1:]), part.dtype)
        whole[at] = part
        out.append(whole)
    return SlicedSums(out[0], sums.top, out[1], out[2])


class RegionPaths(NamedTuple):
    """Paths or URLs of what is written; None for what is not wanted."""

    labels: str | None = None
    connected: str | None = None
    regions: str | None = None

    @property
    def first(self) -> str:
        """Return one that is given."""
        return next(path for path in self if path is not None)


def write_segments(
    label: Label,
    image: Image,
    paths: RegionPaths,
    *,
    sieve: int | None,
    n_labels: int,
    lowest: int = 0,
    features: Features | None = None,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    also: Statistic | None = None,
    bar: Callable[[str], Progress | None] = lambda text: None,
    resume: str | None = None,
) -> SegmentSummary:
    """Label the rows of an image, find the regions of connected pixels, and write labels, regions and their table.

    Parameters that `write_labels` has, and the result, are as there, for the final labels: with `sieve`, regions of
    fewer pixels are merged first, see `sieved`. `bar` returns the progress bar for a text.

    One pass over the image to label it, two over the labels, and one over the image for each of labels or overview, and
    table. Pixels with a negative label are in no region.
    """
    _check(paths, overwrite)
    hidden = [hidden_array(f"{paths.first}-{name}") for name in ("classes", "numbers")]
    with ExitStack() as kept:
        for place in hidden if resume is None else hidden[1:]:
            kept.enter_context(removed_at_the_end(place))
        largest = write_labels(
            label, replace(image, multiscale=None), hidden[0], n_labels=n_labels, lowest=lowest, features=features,
            overwrite=True, progress=bar("labelling"), resume=resume,
            also=None if paths.regions is None else LargestValues(image.shape[2]),
        )  # fmt: skip
        classes = open_array(hidden[0])
        regions = find_regions(classes, bar("finding regions"), borders=sieve is not None)
        options = url_options(None) if local_path(hidden[1]) is None else None
        final = regions if sieve is None else sieved(regions, sieve)
        write_regions(classes, final, str(local_path(hidden[1]) or hidden[1]), options, bar("writing regions"))
        numbers = StoredLabels(open_array(hidden[1]), image.order)
        # Pixels in no segment are in no region, and keep their labels.
        known = StoredLabels(numbers.array, image.order, final.classes) if sieve else StoredLabels(classes, image.order)
        about: dict[str, Any] = {"n_labels": n_labels, "lowest": lowest, "also": also, "known": known}
        if paths.labels is None:
            seen = summarise(label, image, **about, progress=bar("looking at segments"))
        else:
            seen = write_labels(
                label, image, paths.labels, **about, overwrite=overwrite, attributes=attributes,
                progress=bar("writing labels"),
            )  # fmt: skip
        if paths.connected is not None:
            _write_numbers(numbers, image, final, seen.colours[-lowest:], paths.connected, overwrite, bar)
        if paths.regions is not None:
            means = means_of_regions(numbers, image, final, largest.more, bar)
            write_file(paths.regions, table_of(final, means, image), overwrite)
    return seen


def _check(paths: RegionPaths, overwrite: bool) -> None:
    for path in (paths.labels, paths.connected):
        if path is not None:
            if is_map(path):
                check_file(path, overwrite, "regions.tif")
            else:
                will_replace(path, overwrite, LABEL_IMAGE)
    if paths.regions is not None:
        needed("pyarrow", "parquet")
        check_file(paths.regions, overwrite, "regions.parquet")


def _write_numbers(
    numbers: StoredLabels, image: Image, regions: Regions, colours: Integers, path: str, overwrite: bool,
    bar: Callable[[str], Progress | None],
) -> None:  # fmt: skip
    """Write the image of the numbers of regions to its path."""
    if is_map(path):
        write_map(numbers.array, path, place_of(image), colours[regions.classes], (), overwrite=overwrite)
        return
    plain, array = replace(image, multiscale=None), numbers.array
    layout = {"shape": array.shape, "dtype": array.dtype, "chunks": array.chunks}
    lines = image.block_lines(array.dtype.itemsize)
    sizes = image.order.sizes(lines)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    rows = da.map_blocks(
        _stored_block, numbers, ends.tolist(), chunks=(sizes,), dtype=array.dtype, meta=np.empty(0, array.dtype)
    )

    with staged(path, will_replace(path, overwrite, LABEL_IMAGE)) as stage:
        target = create(plain, layout, stage, {"n_regions": regions.n}, None)
        blocks = reduce_rows(
            WriteLabels(target, stage.folder, order=image.order), rows, progress=bar("writing regions")
        )
        finish(target, blocks, plain, lambda: colours, stage, 0, None)


def _stored_block(numbers: StoredLabels, ends: Sequence[int], block_id: tuple[int]) -> Integers:
    start, end = ends[block_id[0] : block_id[0] + 2]
    return numbers(start, end - start)
