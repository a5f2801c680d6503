"""Segmentation of an open image into labels, model, preview and report."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from time import perf_counter
from typing import Any, Literal

import dask.array as da
import numpy as np

from .._errors import SettingError
from .._locations import name_of, redacted
from .._typing import AnyArray, Integers
from .._words import full_count
from ..chunks import Statistic, Together, announced, reduce_rows
from ..estimators.groups import GroupSizes, on_pixels, parts_of
from ..estimators.profiles import moments_of
from ..growth.passes import FirstPass, SamplePass, sample_limit
from ..growth.scaling import standardiser
from ..images import Features, Image, PixelColumns, pixel_rows, write_labels
from ..images.label_arrays import Label
from ..images.labels import write_segments
from ..images.overview import SegmentSummary
from ..images.rows import all_rows, counted
from ..images.scenes import rows_of
from ..images.stac import item_of
from ..images.tiles import Tiles, tiled_rows
from ..io.repositories import revision_of
from ..io.staging import write_file
from ..report import Segments, write_report
from ..report.page import MAX_LIT
from ..summaries.profiles import Profiles
from ._fit import FitResult
from .facts import WIDEST, Cluster, Facts, computing, encoded, facts_of, mask_of
from .outputs import Outputs, link_between
from .reading import PixelOptions
from .row_files import check_groups

logger = logging.getLogger(__name__)

PIXELS_FOR_SCALES = 2000
"""Pixels from which the resolution of columns is estimated if only their scales are needed."""

SCALES = ("scale", "feature_map__scale")
"""Parameters that scale columns."""

COLOURS = ("red", "green", "blue")

AROUND = {"mean": "mean", "deviation": "standard deviation"}
"""Columns of windows in words."""


def segment_image(
    image: Image,
    estimator: Any,
    options: PixelOptions,
    outputs: Outputs,
    cluster: Cluster | None,
    *,
    name: str = "",
    resume: str | None = None,
) -> FitResult:
    """Cluster the pixels of an image and write the outputs.

    `name` is the name of the image in the report, by default its path. With `resume`, writing the labels continues
    where an interrupted call with the same text stopped.
    """
    height, width, n_bands = image.shape
    logger.info("%s: %s, %s x %s pixels of %s bands of %s", image.path, image.kind, width, height, n_bands, image.dtype)
    if image.snapshot:
        logger.info("snapshot %s", image.snapshot)
    started = perf_counter()
    every = all_rows(image, options.columns)
    computes = computing(cluster, every, estimator, image.path, image.snapshot)
    with computes as where, keeping_parameters(estimator):
        image = counted(image, estimator._bar("counting pixels with data"))
        fit_images([image], estimator, options, n_before=int(image.validity is not None))
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
            logger.info("model written")
        if outputs.shows_pixels:
            also = moments_of(estimator, pixel_rows(image)) if outputs.report else None
            seen = labelled(image, estimator, outputs, estimator.progress, resume, also, options.sieve)
    seconds = perf_counter() - started
    if outputs.shows_pixels:
        describe(seen, image, estimator, outputs)
    if outputs.report:
        about = {"Image": f"{name or image.path}, {image.kind}, {width} x {height} pixels of {image.dtype}"}
        n_after = outputs.n_passes_after(options.sieve)
        of_fit = facts_of(estimator, where, seconds, pass_bytes=image.nbytes, n_after=n_after)
        _write_report(seen, image, estimator, outputs, {**about, **_facts(image, options), **of_fit})
    without = f", {image.n_without} without data," if image.n_without else ""
    summary = f"{full_count(estimator.n_clusters_, 'segment')} of {width} x {height} pixels{without} in {seconds:.1f} s"
    return FitResult(summary, seen.sizes if outputs.shows_pixels else None, image.n_without)


def fit_images(images: Sequence[Image], estimator: Any, options: PixelOptions, n_before: int = 0) -> None:
    """Fit an estimator to the pixels of images, one after another, as if they were one table.

    The images are `counted`, and have the same bands; coordinates are those of a single one. The passes are those of
    the estimator, or one with a sample, and `n_before`. Raises a ValueError if a single pixel holds data.
    """
    if sum(image.order.n_rows - image.n_without for image in images) < 2:
        raise ValueError(f"expected at least 2 pixels with data; got 1 in {images[0].path}: give a larger image")
    first, tiles, reading = images[0], None, options.reading
    if options.dependence is None:
        features, rows, n_passes = _prepared(images, estimator, options)
        estimator.fit(rows)
    else:
        features = options.columns
        tiles, n_passes = _fit_tiles(images, estimator, options)
    snapshots = tuple(dict.fromkeys(image.snapshot for image in images if image.snapshot)) or None
    estimator.pixel_columns_ = PixelColumns(
        first.shape[2], features, first.axes, reading.nodata, options.bands, tiles, reading.dequantise, snapshots
    )
    if len(first.bands) == first.shape[2]:
        estimator._name_columns(features.names(first.bands))
    estimator.n_passes_ = n_before + n_passes + (0 if options.sample else estimator.n_passes_)
    logger.info("%s in %s", full_count(estimator.n_clusters_, "segment"), full_count(estimator.n_passes_, "pass"))
    for said in on_pixels(estimator):
        logger.info("%s", said)


def side_of_tiles(
    asked: int | Literal["auto", "none"] | None, estimator: Any, coordinates: float | None, by_default: bool
) -> int | Literal["auto"] | None:
    """Return the side of the tiles that tests shall compare: as asked, else ``"auto"`` if they do so by default.

    By default methods that take no groups, and columns that are the same in all tiles of a line, compare pixels.
    """
    if asked == "none" or (asked is None and not (by_default and coordinates is None)):
        return None
    try:
        check_groups(estimator)
    except SettingError:
        if asked is None:
            return None
        raise
    return "auto" if asked is None else asked


def _fit_tiles(images: Sequence[Image], estimator: Any, options: PixelOptions) -> tuple[Tiles, int]:
    """Fit an estimator to the pixels of images, tested on tiles; return these and the number of passes before."""
    side = None if options.dependence == "auto" else options.dependence
    tiled = tiled_rows(images, options.columns, side, estimator._bar("measuring tiles"))
    logger.info("%s", tiled.summary)
    seed = estimator._seed()
    sizes = GroupSizes(tiled.names, tiled.n)
    if options.sample is None:
        estimator.fit(tiled.rows, groups=parts_of(tiled.tiles, sizes, seed))
        return tiled.summary, 1
    limit = sample_limit(options.sample, len(tiled.rows))
    both = Together((SamplePass(seed, limit), SamplePass(seed, limit, array=1)))
    bar = estimator._bar("drawing pixels")
    rows, tiles = (one.first(options.sample).rows for one in reduce_rows(both, tiled.rows, tiled.tiles, progress=bar))
    estimator.fit(rows, groups=parts_of(tiles, sizes, seed))
    return tiled.summary, 2


@contextmanager
def keeping_parameters(estimator: Any) -> Iterator[None]:
    """Give an estimator its own parameters back in the end: weighted columns are not scaled again."""
    before = {name: value for name, value in estimator.get_params().items() if name in SCALES}
    try:
        yield
    finally:
        estimator.set_params(**before)


def _prepared(
    images: Sequence[Image], estimator: Any, options: PixelOptions
) -> tuple[Features, da.Array | AnyArray, int]:
    """Return the columns of rows, the rows to grow the tree on, and the number of passes made."""
    features, rows = options.columns, rows_of(images, options.columns)
    if options.coordinates is None and options.sample is None:
        return features, rows, 0
    wanted, seed = options.sample or PIXELS_FOR_SCALES, estimator._seed()
    limit, bar = sample_limit(wanted, len(rows)), estimator._bar("drawing pixels")
    if options.coordinates is None:
        return features, reduce_rows(SamplePass(seed, limit), rows, progress=bar).first(wanted).rows, 1
    first = reduce_rows(FirstPass(seed, limit), rows, progress=bar)
    sample = first.sample.first(wanted)
    # Weights need columns of one scale, and scaling by the estimator would undo the weights.
    factors = standardiser(first.columns, sample, getattr(estimator, "scale", True)).scale
    factors[-2:] *= options.coordinates
    features = features.times(factors)
    estimator.set_params(**{name: False for name in SCALES if name in estimator.get_params()})
    return (
        features,
        rows_of(images, features) if options.sample is None else sample.rows * factors.astype(rows.dtype),
        1,
    )


def labelled(
    image: Image,
    estimator: Any,
    outputs: Outputs,
    progress: bool,
    resume: str | None = None,
    also: Statistic | None = None,
    sieve: int | None = None,
    about: Mapping[str, Any] | None = None,
) -> SegmentSummary:
    """Label all pixels, write the labels and regions that have a path, and compute another statistic.

    The labels have the number of clusters as an attribute, and those in `about`; they are ids if the outputs say so.
    """
    label, n_clusters, noise = estimator._block_labels(), int(estimator.n_clusters_), int(estimator.noise)
    attributes = {"n_clusters": n_clusters, **({"snapshot": image.snapshot} if image.snapshot else {}), **(about or {})}
    if outputs.ids:
        label, n_clusters = partial(_ids_of, label, np.append(estimator.ids_, -1)), estimator.history_.n_ids
    known: dict[str, Any] = {
        "n_labels": n_clusters + noise, "lowest": -noise, "features": estimator.pixel_columns_.features,
        "also": also, "resume": resume, "overwrite": outputs.overwrite, "attributes": attributes,
    }  # fmt: skip
    if sieve is not None or outputs.connected or outputs.regions:
        return write_segments(
            label, image, labels=outputs.labels, connected=outputs.connected, regions=outputs.regions, sieve=sieve,
            bar=lambda text: announced(text, progress), **known,
        )  # fmt: skip
    bar = announced("looking at segments" if outputs.labels is None else "writing labels", progress)
    seen = write_labels(label, image, outputs.labels, **known, progress=bar)
    if outputs.labels is not None:
        logger.info("labels written")
    return seen


def _ids_of(label: Label, ids: Integers, rows: AnyArray) -> Integers:
    """Return the ids of the clusters of a block of rows."""
    return np.take(ids.astype(np.int32), label(rows))


def describe(seen: SegmentSummary, image: Image, estimator: Any, outputs: Outputs, name: str = "") -> None:
    """Write the segments in their mean colours and the STAC item of the labels, if these are requested.

    The item has the name of the image, or another `name`.
    """
    if outputs.preview:
        write_file(outputs.preview, encoded(seen.segmented()), outputs.overwrite)
        logger.info("preview written")
    if outputs.item:
        final = dict(outputs.final) or outputs.places()
        place, labels = final["item"], redacted(link_between(final["item"], final["labels"]))
        in_memory = image.kind == "DataArray" or (image.snapshot and revision_of(image.path) is None)  # or a session
        source = None if in_memory else redacted(link_between(place, image.path))
        name = name or PurePosixPath(name_of(image.path)).stem
        item = item_of(image, seen, name, labels, source, -int(estimator.noise))
        write_file(outputs.item, json.dumps(item, indent=1), outputs.overwrite)
        logger.info("item written")


def _write_report(seen: SegmentSummary, image: Image, estimator: Any, outputs: Outputs, facts: Facts) -> None:
    assert outputs.report is not None
    noise, n_bands = int(estimator.noise), seen.more.mean.shape[1]
    bands = image.bands
    if len(bands) != n_bands:
        of_colours = seen.is_photograph and n_bands == len(COLOURS)
        bands = COLOURS if of_colours else tuple(f"band {i}" for i in range(n_bands))
    tree, feature_map = estimator.state_.tree, estimator.state_.feature_map
    if tree is not None and feature_map is None:
        tree = replace(tree, feature_names=estimator.pixel_columns_.features.names(bands))
    title = f"{name_of(image.path)} in {full_count(estimator.n_clusters_, 'segment')}"
    write_report(
        outputs.report, tree, title=title, facts=facts, images=estimator.report_pictures(),
        segments=_segments(seen, noise), colours=seen.colours[noise:],
        profiles=Profiles(bands, seen.more, lowest=-noise),
        feature_map=feature_map, unit="pixel", merges=estimator.merges_, overwrite=outputs.overwrite,
    )  # fmt: skip
    logger.info("report written")


def _segments(seen: SegmentSummary, noise: int) -> Segments:
    images = {
        "The image": encoded(seen.photograph, "JPEG", WIDEST),
        "Every pixel in the mean colour of its segment": encoded(seen.segmented(), "PNG", WIDEST),
    }
    n_clusters = len(seen.sizes) - noise
    shown = n_clusters if n_clusters <= MAX_LIT else 0
    masks = [mask_of(seen.labels, label + noise) for label in range(shown)]
    return Segments(images, masks)


def _facts(image: Image, options: PixelOptions) -> dict[str, str]:
    """Return the facts of a report on the image and its columns."""
    chosen = options.columns
    columns = ["lightness, redness and yellowness" if "lab" in chosen.kinds else f"{image.shape[2]} bands"]
    if around := [AROUND[part] for part in chosen.parts if part in AROUND]:
        columns.append(f"their {' and '.join(around)} in {chosen.window} x {chosen.window} pixels")
    if "smooth" in chosen.kinds:
        columns = [f"{columns[0]}: {columns[1]}"]
    if "gradient" in chosen.kinds:
        columns.append("their gradients")
    if options.coordinates is not None:
        columns.append(f"line and column with weight {options.coordinates:g}")
    facts = {"Columns": ", ".join(columns)}
    if image.validity is not None:
        share = image.n_without / image.order.n_rows
        facts["Pixels without data"] = f"{image.n_without:,} of {image.order.n_rows:,}, {share:.1%}, with the label -1"
    return facts if options.sample is None else facts | {"Pixels that the tree is grown on": f"{options.sample:,}"}
