"""One model of many scenes or DataArrays, and its labels of each."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from .._errors import SettingError
from .._typing import Integers
from .._words import full_count
from ..chunks import announced
from ..clusters.current import cluster_for, current_cluster
from ..images import Image
from ..images.bands import image_of, labels_like, with_bands
from ..images.rows import counted
from ..images.scenes import find_scenes, matched, open_scene, rows_of
from ..images.validity import NoDataError
from ..io.commits import together
from ._fit import FitLine, FitResult
from .facts import Cluster, telling_of_memory
from .output_kinds import OUTPUTS, names_each
from .outputs import Outputs, Taken
from .pixels import describe, fit_images, labelled, segment_image
from .reading import PixelOptions

logger = logging.getLogger(__name__)


def counted_scene(image: Image, progress: bool = False) -> Image | None:
    """Return a scene that knows how many of its pixels hold data, or None if none does; at most one pass."""
    try:
        return counted(image, announced("counting pixels with data", progress))
    except NoDataError:
        return None


def fit_scenes(images: Mapping[str, Image], estimator: Any, options: PixelOptions) -> None:
    """Fit an estimator to the pixels of all `counted` scenes, see `fit_images`; the model keeps the names of bands."""
    first, rows = next(iter(images.values())), rows_of(images.values(), options.columns)
    logger.info("%s scenes, %s pixels of %s columns", len(images), *rows.shape)
    with telling_of_memory(rows, estimator):
        fit_images([*images.values()], estimator, replace(options, bands=first.bands or None))


def segment_scenes(
    given: Any, estimator: Any, options: PixelOptions, outputs: Outputs, cluster: Cluster | None
) -> FitLine:
    """Fit one model to several scenes and write its labels of each; return a summary. See `segment`."""
    check_options(options, outputs)
    started = perf_counter()
    found = find_scenes(given, options.bands, options.reading.mask)
    opens = replace(options.reading, mask=None).image  # every scene has a mask of its own
    taken = Taken(path for scene in found for path in scene.paths)
    own = own_outputs([scene.name for scene in found], outputs, taken)
    images = matched({scene.name: open_scene(scene, opens, options.bands) for scene in found})
    n_without, counts = segment_images(images, own, estimator, options, outputs, cluster)
    without = f", {n_without} without data," if n_without else ""
    seconds = perf_counter() - started
    found_in = f"{full_count(estimator.n_clusters_, 'segment')} of {full_count(len(images), 'scene')}"
    return FitResult(f"{found_in}{without} in {seconds:.1f} s", counts).line(outputs)


def check_options(options: PixelOptions, outputs: Outputs) -> None:
    """Raise an error for options without a meaning for several scenes."""
    if options.coordinates is not None:
        raise SettingError("expected no coordinates with several scenes, whose lines have nothing in common; got some")
    if outputs.report is not None:
        raise SettingError("expected no report with several scenes; got one: a job with kind = 'scenes' writes one")


def own_outputs(names: Iterable[str], outputs: Outputs, taken: Taken) -> dict[str, Outputs]:
    """Return the checked outputs of every scene, each with the model, none of which is `taken`."""
    for key, place in outputs.places().items():
        if OUTPUTS[key].per == "scene" and not names_each(place, "scene"):
            raise SettingError(
                f"expected a path with {{scene}} in its last part for the {key} of all scenes; got {place}"
            )
    taken.check(outputs.model)
    own = {}
    for scene in names:
        places: dict[str, Any] = outputs.places_of("scene", scene)
        own[scene] = replace(outputs, **places)
        own[scene].check()
        taken.check(*places.values())
        taken.add(*places.values())
    return own


def segment_images(
    images: Mapping[str, Image], own: Mapping[str, Outputs], estimator: Any, options: PixelOptions,
    outputs: Outputs, cluster: Cluster | None,
) -> tuple[int, Integers | None]:  # fmt: skip
    """Fit one model to open scenes and write its labels of each.

    Return the number of scenes without data, and the pixels of each label in the others, None if none was labelled.
    """
    every, sizes = rows_of(images.values(), options.columns, counted=False), []
    with cluster_for(cluster or current_cluster(), every.nbytes), together({"scenes": [*images]}):
        known = {name: counted_scene(image, estimator.progress) for name, image in images.items()}
        held = {name: image for name, image in known.items() if image is not None}
        if not held:
            raise NoDataError(f"expected pixels with data in {len(images)} scenes; got none: leave them out")
        fit_scenes(held, estimator, options)
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
        for name, place in own.items():
            if name in held and place.shows_pixels:
                image, about = held[name], {"scene": name}
                seen = labelled(image, estimator, place, estimator.progress, sieve=options.sieve, about=about)
                describe(seen, image, estimator, place, name)
                sizes.append(seen.sizes)
    return len(images) - len(held), np.sum(sizes, axis=0) if sizes else None


def segment_data_array(
    array: Any, estimator: Any, options: PixelOptions, outputs: Outputs, cluster: Cluster | None
) -> Any:
    """Cluster the pixels of a DataArray, write any outputs, and return its labels; see `segment`."""
    reading = options.reading
    image = with_bands(image_of(array, reading.index, reading.nodata), options.bands)
    if outputs.kept():
        outputs.check()
    segment_image(image, estimator, options, outputs, cluster)
    return _labels(array, image, estimator)


def segment_data_arrays(
    arrays: Mapping[str, Any], estimator: Any, options: PixelOptions, outputs: Outputs, cluster: Cluster | None
) -> dict[str, Any]:
    """Fit one model to the pixels of several DataArrays, write any outputs, and return the labels of each."""
    check_options(options, outputs)
    if not arrays:
        raise ValueError("expected DataArrays by name; got none")
    if len({*map(str, arrays)}) < len(arrays):
        raise ValueError(f"expected names that differ as texts; got {', '.join(map(repr, arrays))}")
    reading = options.reading
    found = {str(name): image_of(array, reading.index, reading.nodata) for name, array in arrays.items()}
    first = options.bands if all(image.bands for image in found.values()) else None  # some take those of others
    images = matched({name: with_bands(image, first) for name, image in found.items()})
    images = {name: with_bands(image, options.bands) for name, image in images.items()}
    own = own_outputs(images, outputs, Taken()) if outputs.kept() else {}
    segment_images(images, own, estimator, options, outputs, cluster)
    return {name: _labels(array, images[str(name)], estimator) for name, array in arrays.items()}


def _labels(array: Any, image: Image, estimator: Any) -> Any:
    features = estimator.pixel_columns_.features
    noise = int(estimator.noise)
    return labels_like(array, image, features, estimator._block_labels(), int(estimator.n_clusters_) + noise, -noise)
