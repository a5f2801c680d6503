"""From an image to its segments: labels, model, preview and report."""

import logging
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import PurePath
from time import perf_counter
from typing import Any

import dask.array as da
from sklearn.utils import check_random_state

from .._typing import AnyArray
from ..chunks import announced, reduce_rows
from ..io.images import Features, Image, pixel_rows, write_labels
from ..io.images.labels import look
from ..io.images.overview import Seen
from ..report import write_report
from ..tree.columns import standardiser
from ..tree.statistics import FirstPass, sample_limit, smallest_hashes
from .outputs import ImageOutputs, write_file
from .pipeline import Cluster, facts_of

logger = logging.getLogger(__name__)

PIXELS_FOR_SCALES = 2000
"""Pixels that tell the resolution of columns, where nothing but the scales of the columns is asked for."""


@dataclass(frozen=True)
class PixelOptions:
    """What of an image is clustered.

    Parameters
    ----------
    window : int or None
        See `Features`.
    coordinates : float or None
        Weight of line and column, each in units of its standard deviation as the other columns are; None for none.
    sample : int or None
        Pixels that the tree is grown on; None for all.
    """

    window: int | None = None
    coordinates: float | None = None
    sample: int | None = None


def segment_image(
    image: Image, estimator: Any, options: PixelOptions, outputs: ImageOutputs, cluster: Cluster, name: str = ""
) -> str:
    """Cluster the pixels of an image and write what was asked for; return a summary.

    `name` is what a report calls the image, by default its path.
    """
    height, width, n_bands = image.shape
    logger.info("%s: %s, %s x %s pixels of %s bands of %s", image.path, image.kind, width, height, n_bands, image.dtype)
    started = perf_counter()
    with cluster as where:
        features, rows, n_passes = _prepared(image, estimator, options)
        estimator.fit(rows)
        estimator.n_passes_ = n_passes + (0 if options.sample else estimator.n_passes_)
        logger.info("%s segments in %s passes", estimator.n_clusters_, estimator.n_passes_)
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
            logger.info("model in %s", outputs.model)
        if outputs.shows_pixels:
            seen = _labelled(image, features, estimator, outputs)
    seconds = perf_counter() - started
    if outputs.shows_pixels:
        about = {"Image": f"{name or image.path}, {image.kind}, {width} x {height} pixels of {image.dtype}"}
        facts = {**about, **_facts(image, options), **facts_of(estimator, where, seconds)}
        title = f"{PurePath(image.path).name} in {estimator.n_clusters_} segments"
        _write_pictures(seen, estimator, outputs, title, facts)
    return f"{estimator.n_clusters_} segments of {width} x {height} pixels in {seconds:.1f} s"


def _prepared(image: Image, estimator: Any, options: PixelOptions) -> tuple[Features, da.Array | AnyArray, int]:
    """Return the columns of rows, the rows that the tree is grown on, and the passes that this took."""
    features = Features(options.window, options.coordinates is not None)
    rows = pixel_rows(image, features)
    if options.coordinates is None and options.sample is None:
        return features, rows, 0
    seed = int(check_random_state(estimator.random_state).randint(2**31))
    wanted = options.sample or PIXELS_FOR_SCALES
    first_pass = FirstPass(seed, sample_limit(wanted, len(rows)))
    first = reduce_rows(first_pass, rows, progress=announced("drawing pixels", estimator.progress))
    sample = smallest_hashes(first.sample, wanted)
    chosen = sample.rows
    if options.coordinates is not None:
        # Weights need columns of one scale, and the estimator's own would take the weights away.
        factors = standardiser(first.columns, sample, estimator.scale).scale
        factors[-2:] *= options.coordinates
        features = features.times(factors)
        rows, chosen = pixel_rows(image, features), chosen * factors.astype(rows.dtype)
        own = {name: False for name in ("scale", "feature_map__scale") if name in estimator.get_params()}
        estimator.set_params(**own)
    return features, rows if options.sample is None else chosen, 1


def _labelled(image: Image, features: Features, estimator: Any, outputs: ImageOutputs) -> Seen:
    """Label all pixels in one pass."""
    fitted = copy(estimator)
    vars(fitted).pop("labels_", None)  # it would take the graph of all rows to the workers
    n_labels = int(estimator.n_clusters_)
    if outputs.labels is None:
        bar = announced("looking at segments", estimator.progress)
        return look(fitted.predict, image, n_labels=n_labels, features=features, progress=bar)
    bar = announced("writing labels", estimator.progress)
    seen = write_labels(
        fitted.predict, image, outputs.labels, n_labels=n_labels, features=features, overwrite=outputs.overwrite,
        attributes={"n_clusters": n_labels}, progress=bar,
    )  # fmt: skip
    logger.info("labels in %s", outputs.labels)
    return seen


def _write_pictures(seen: Seen, estimator: Any, outputs: ImageOutputs, title: str, facts: Mapping[str, str]) -> None:
    from .pictures import WIDEST, encoded

    segmented = seen.segmented()
    if outputs.preview:
        write_file(outputs.preview, encoded(segmented), outputs.overwrite)
        logger.info("preview in %s", outputs.preview)
    if outputs.report:
        images = {
            "The image": encoded(seen.photograph, "JPEG", WIDEST),
            "Every pixel in the mean colour of its segment": encoded(segmented, "PNG", WIDEST),
        }
        write_report(
            outputs.report, estimator.tree_, title=title, facts=facts, images=images, colours=seen.colours,
            feature_map=getattr(estimator.feature_map_, "map_", None), overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report in %s", outputs.report)


def _facts(image: Image, options: PixelOptions) -> dict[str, str]:
    """Return what a report says about what was clustered."""
    columns = [f"{image.shape[2]} bands"]
    if options.window:
        columns.append(f"their mean and standard deviation in {options.window} x {options.window} pixels")
    if options.coordinates is not None:
        columns.append(f"line and column with weight {options.coordinates:g}")
    facts = {"Columns": ", ".join(columns)}
    return facts if options.sample is None else facts | {"Pixels that the tree is grown on": f"{options.sample:,}"}
