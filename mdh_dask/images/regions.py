"""Segments as regions: small ones merged, an image of their numbers, and a table of them."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np

from .._typing import Integers
from ..chunks import Progress, Statistic, reduce_rows
from ..io.paths import local_path
from ..io.rows import open_array
from ..io.staging import remove_array, staged, will_replace
from .components import Regions, find_regions, sieved, write_regions
from .features import Features
from .image import Image
from .label_arrays import LABEL_IMAGE, Label, StoredLabels, WriteLabels, create, finish
from .labels import write_labels
from .maps import hidden_array, is_map, place_of, write_map
from .overview import SegmentSummary
from .region_tables import LargestValues, write_table


def write_segments(
    label: Label,
    image: Image,
    *,
    labels: str | None = None,
    connected: str | None = None,
    regions: str | None = None,
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

    `labels`, `connected` and `regions` are paths or URLs of these, None for what is not wanted; one is given.
    Parameters that `write_labels` has, and the result, are as there, for the final labels: with `sieve`, regions of
    fewer pixels are merged first, see `sieved`. `bar` returns the progress bar for a text. Callers have
    checked the paths.

    One pass over the image to label it, two over the labels, and one over the image for each of labels or overview, and
    table. Pixels with a negative label are in no region.
    """
    first = next(path for path in (labels, connected, regions) if path is not None)
    hidden = [hidden_array(f"{first}-{name}") for name in ("classes", "numbers")]
    with ExitStack() as kept:
        for place in hidden if resume is None else hidden[1:]:
            kept.callback(remove_array, place)
        largest = write_labels(
            label, replace(image, multiscale=None), hidden[0], n_labels=n_labels, lowest=lowest, features=features,
            overwrite=True, progress=bar("labelling"), resume=resume,
            also=None if regions is None else LargestValues(image.shape[2]),
        )  # fmt: skip
        classes = open_array(hidden[0])
        final = find_regions(classes, bar("finding regions"), borders=sieve is not None)
        final = final if sieve is None else sieved(final, sieve)
        write_regions(classes, final, str(local_path(hidden[1]) or hidden[1]), bar("writing regions"))
        numbers = StoredLabels(open_array(hidden[1]), image.order)
        # Pixels in no segment are in no region, and keep their labels.
        known = StoredLabels(numbers.array, image.order, final.classes) if sieve else StoredLabels(classes, image.order)
        seen = write_labels(
            label, image, labels, n_labels=n_labels, lowest=lowest, also=also, known=known, overwrite=overwrite,
            attributes=attributes, progress=bar("looking at segments" if labels is None else "writing labels"),
        )  # fmt: skip
        if connected is not None:
            _write_numbers(numbers, image, final, seen.colours[-lowest:], connected, overwrite, bar)
        if regions is not None:
            write_table(regions, numbers, image, final, largest.more, bar, overwrite)
    return seen


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
    rows = da.map_blocks(
        _stored_block, numbers, lines, chunks=(image.order.sizes(lines),), dtype=array.dtype,
        meta=np.empty(0, array.dtype),
    )  # fmt: skip

    with staged(path, will_replace(path, overwrite, LABEL_IMAGE)) as stage:
        target = create(plain, layout, stage, {"n_regions": regions.n}, None)
        blocks = reduce_rows(
            WriteLabels(target, stage.folder, order=image.order), rows, progress=bar("writing regions")
        )
        finish(target, blocks, plain, lambda: colours, stage, 0, None)


def _stored_block(numbers: StoredLabels, lines: int, block_id: tuple[int]) -> Integers:
    return np.asarray(numbers.array[numbers.order.block(block_id[0], lines)]).ravel()
