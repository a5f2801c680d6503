"""Segments as regions: small ones merged, an image of their numbers, and a table of them."""

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import zarr

from .._packages import needed
from .._typing import AnyArray, Floats, Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.files import write_file
from ..io.nodes import Options, local_path, url_options
from ..io.rows import open_array
from ..io.targets import check_file, will_replace, write_at
from ..summaries.moments import MomentPass, SlicedSums
from .components import Regions, find_regions, write_regions
from .features import Features
from .image import Image
from .label_array import LABEL_IMAGE, create, finish
from .label_blocks import NO_DATA, Label, WriteLabels
from .labels import look, write_labels
from .maps import beside, is_map, place_of, removed_at_the_end, write_map
from .order import PixelOrder
from .overview import Seen
from .rows import all_rows
from .sieve import sieved


class RegionPaths(NamedTuple):
    """Paths or URLs of what is written; None for what is not wanted."""

    labels: str | None = None
    connected: str | None = None
    regions: str | None = None

    @property
    def first(self) -> str:
        """Return one that is given."""
        return next(path for path in self if path is not None)


@dataclass(frozen=True)
class StoredLabels:
    """Labels of rows of an image from a stored image of labels or regions, and from the value of each, if given."""

    array: zarr.Array
    order: PixelOrder
    values: Integers | None = None

    def __call__(self, start: int, n_rows: int) -> Integers:
        """Return the labels of a block of rows, -1 where the array has -1."""
        found = np.asarray(self.array[self.order.block_of(start, n_rows)]).ravel()
        return found if self.values is None else np.append(self.values, NO_DATA)[found]


@dataclass(frozen=True)
class RegionMoments(Statistic):
    """Means of the bands of every region; the rows are pixels."""

    known: StoredLabels
    n_bands: int

    @property
    def journalled(self) -> bool:
        """False: the regions are not in the journal."""
        return False

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Integers, SlicedSums] | None:
        """Sum the pixels of the regions in a block; None if it is in none."""
        numbers = self.known(start, len(blocks[0]))
        inside = numbers >= 0
        if not inside.any():
            return None
        ids, labels = np.unique(numbers[inside], return_inverse=True)
        return ids, self._of(len(ids)).chunk(start, labels, blocks[0][inside])

    def combine(self, left: Any, right: Any) -> Any:
        """Add the sums of the same regions."""
        if left is None or right is None:
            return right if left is None else left
        ids = np.union1d(left[0], right[0])
        return ids, self._of(len(ids)).combine(_spread(left, ids), _spread(right, ids))

    def finalise(self, state: tuple[Integers, SlicedSums] | None) -> Floats:
        """Return the means, shape (n_regions, n_bands)."""
        if state is None:  # all pixels are in no segment
            return np.zeros((0, self.n_bands))
        return self._of(len(state[0])).finalise(state[1]).mean

    def _of(self, n: int) -> MomentPass:
        return MomentPass(n, np.zeros(self.n_bands))


def _spread(state: tuple[Integers, SlicedSums], ids: Integers) -> SlicedSums:
    """Return sums of some regions as sums of more."""
    own, sums = state
    at, out = np.searchsorted(ids, own), []
    for part in (sums.n_rows, sums.sums, sums.n_missing):
        whole = np.zeros((len(ids), *part.shape[1:]), part.dtype)
        whole[at] = part
        out.append(whole)
    return SlicedSums(out[0], sums.top, out[1], out[2])


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
) -> Seen:
    """Label the rows of an image, find the regions of connected pixels, and write labels, regions and their table.

    Parameters
    ----------
    label, image, n_labels, lowest, features, attributes, also, resume
        As for `write_labels`.
    paths : RegionPaths
        An image of labels, an image of the numbers of regions, and a Parquet table of these.
    sieve : int or None
        Merge regions of fewer pixels first, see `sieved`; labels are then those of the merged regions.
    overwrite : bool
        Whether to replace existing outputs.
    bar : callable
        Returns the progress bar for a text.

    Returns
    -------
    Seen
        As of `write_labels`, for the final labels.

    Notes
    -----
    One pass over the image to label it, two over the labels, and one over the image for each of labels or overview,
    and table. Pixels with a negative label are in no region.
    """
    _check(paths, overwrite)
    hidden = [beside(f"{paths.first}-{name}") for name in ("classes", "numbers")]
    with ExitStack() as kept:
        for place in hidden if resume is None else hidden[1:]:
            kept.enter_context(removed_at_the_end(place))
        write_labels(
            label, replace(image, multiscale=None), hidden[0], n_labels=n_labels, lowest=lowest, features=features,
            overwrite=True, progress=bar("labelling"), resume=resume,
        )  # fmt: skip
        classes = open_array(hidden[0])
        regions = find_regions(classes, bar("finding regions"))
        options = url_options(None) if local_path(hidden[1]) is None else None
        final = regions if sieve is None else sieved(regions, sieve)
        write_regions(classes, final, str(local_path(hidden[1]) or hidden[1]), options, bar("writing regions"))
        numbers = StoredLabels(open_array(hidden[1]), image.order)
        # Pixels in no segment are in no region, and keep their labels.
        known = StoredLabels(numbers.array, image.order, final.classes) if sieve else StoredLabels(classes, image.order)
        about: dict[str, Any] = {"n_labels": n_labels, "lowest": lowest, "also": also, "known": known}
        if paths.labels is None:
            seen = look(label, image, **about, progress=bar("looking at segments"))
        else:
            seen = write_labels(
                label, image, paths.labels, **about, overwrite=overwrite, attributes=attributes,
                progress=bar("writing labels"),
            )  # fmt: skip
        if paths.connected is not None:
            _write_numbers(numbers, image, final, seen.colours[-lowest:], paths.connected, overwrite, bar)
        if paths.regions is not None:
            means = reduce_rows(RegionMoments(numbers, image.shape[2]), all_rows(image), progress=bar("measuring"))
            write_file(paths.regions, table_of(final, means), overwrite)
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

    def fill(place: Path | str, replace_it: bool, options: Options) -> None:
        about = {"n_regions": regions.n}
        target = create(plain, layout, place, about, replace=replace_it, name=None, options=options)
        write = WriteLabels(target, place if isinstance(place, Path) else None, order=image.order)
        blocks = reduce_rows(write, rows, progress=bar("writing regions"))
        finish(target, blocks, plain, lambda: colours, place, lowest=0, name=None, options=options)

    write_at(path, fill, will_replace(path, overwrite, LABEL_IMAGE), None)


def _stored_block(numbers: StoredLabels, ends: Sequence[int], block_id: tuple[int]) -> Integers:
    start, end = ends[block_id[0] : block_id[0] + 2]
    return numbers(start, end - start)


def table_of(regions: Regions, means: Floats) -> bytes:
    """Return the table of regions as a Parquet file.

    Parameters
    ----------
    regions : Regions
    means : array of shape (n_regions, n_bands)

    Returns
    -------
    bytes
        Columns ``region``, ``segment``, ``area`` in pixels, ``first_line``, ``last_line``, ``first_column``,
        ``last_column``, and ``mean_0``, ``mean_1`` and so on of the bands.
    """
    arrow, parquet = needed("pyarrow", "parquet"), needed("pyarrow.parquet", "parquet")
    columns = {"region": np.arange(regions.n), "segment": regions.classes, "area": regions.areas}
    columns |= dict(zip(("first_line", "last_line", "first_column", "last_column"), regions.boxes.T))
    columns |= {f"mean_{j}": mean for j, mean in enumerate(means.T)}
    file = io.BytesIO()
    parquet.write_table(arrow.table({name: np.ascontiguousarray(column) for name, column in columns.items()}), file)
    return file.getvalue()
