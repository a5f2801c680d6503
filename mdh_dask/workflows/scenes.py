"""One model of many scenes or DataArrays, and its labels of each."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import dask.array as da

from .._errors import SettingError
from .._words import full_count
from ..chunks import announced
from ..clusters.current import cluster_for
from ..images import Image, PixelColumns
from ..images.bands import image_of, labels_like, with_bands
from ..images.rows import counted
from ..images.scenes import find_scenes, matched, open_scene, rows_of
from ..images.validity import NoDataError
from ..io.commits import together
from ._fit import Cluster
from .facts import telling_of_memory
from .output_kinds import OF_A_SCENE
from .outputs import Outputs, Taken
from .pixels import (
    PixelOptions,
    columns_of,
    describe,
    drawn,
    fit_tiles,
    labelled,
    log_segments,
    name_columns,
    segment_image,
    snapshots_of,
)
from .reading import Reading

logger = logging.getLogger(__name__)


def counted_scene(image: Image, progress: bool = False) -> Image | None:
    """Return a scene that knows how many of its pixels hold data, or None if none does; at most one pass."""
    try:
        return counted(image, announced("counting pixels with data", progress))
    except NoDataError:
        return None


def fit_scenes(images: Mapping[str, Image], estimator: Any, options: PixelOptions) -> None:
    """Fit an estimator to the pixels of all `counted` scenes, one after another, as if they were one table.

    The passes are those of the estimator, or one with a sample.
    """
    features = columns_of(options)
    rows: da.Array = rows_of(images.values(), features)
    first = next(iter(images.values()))
    logger.info("%s scenes, %s pixels of %s columns", len(images), *rows.shape)
    tiles = None
    with telling_of_memory(rows, estimator):
        if options.dependence is not None:
            tiles, n_passes = fit_tiles([*images.values()], estimator, options)
        else:
            n_passes = int(options.sample is not None)
            estimator.fit(rows if options.sample is None else drawn(rows, estimator, options.sample))
    estimator.n_passes_ = n_passes + (estimator.n_passes_ if options.sample is None else 0)
    estimator.pixel_columns_ = PixelColumns(
        first.shape[2],
        features,
        first.axes,
        options.nodata,
        first.bands or None,
        tiles,
        options.dequantise,
        snapshots_of(images.values()),
    )
    name_columns(estimator, first)
    log_segments(estimator)


def segment_scenes(
    given: Any, bands: Sequence[str] | None, mask: str | None, reading: Reading, estimator: Any, options: PixelOptions,
    outputs: Outputs, cluster: Cluster,
) -> str:  # fmt: skip
    """Fit one model to several scenes and write its labels of each; return a summary. See `segment`."""
    check_options(options, outputs)
    started = perf_counter()
    found = find_scenes(given, bands, mask)
    own = own_outputs((scene.name for scene in found), outputs)
    taken = Taken(path for scene in found for path in scene.paths)
    taken.check(*filter(None, [outputs.model]))
    for one in own.values():
        places = [place for key in OF_A_SCENE if (place := getattr(one, key)) is not None]
        taken.check(*places)
        taken.add(*places)
    images = matched({scene.name: open_scene(scene, reading.image, bands) for scene in found})
    n_without = segment_images(images, own, estimator, options, outputs, cluster)
    without = f", {n_without} without data," if n_without else ""
    seconds = perf_counter() - started
    counts = f"{full_count(estimator.n_clusters_, 'segment')} of {full_count(len(images), 'scene')}"
    return f"{counts}{without} in {seconds:.1f} s: {outputs.kept()}"


def check_options(options: PixelOptions, outputs: Outputs) -> None:
    """Raise an error for options without a meaning for several scenes."""
    if options.coordinates is not None:
        raise SettingError("expected no coordinates with several scenes, whose lines have nothing in common; got some")
    if outputs.report is not None:
        raise SettingError("expected no report with several scenes; got one: a job with kind = 'scenes' writes one")


def own_outputs(names: Iterable[str], outputs: Outputs) -> dict[str, Outputs]:
    """Return the checked outputs of every scene, each with the model."""
    own = {name: _outputs_of(name, outputs) for name in names}
    for one in own.values():
        one.check()
    return own


def segment_images(
    images: Mapping[str, Image], own: Mapping[str, Outputs], estimator: Any, options: PixelOptions,
    outputs: Outputs, cluster: Cluster,
) -> int:  # fmt: skip
    """Fit one model to open scenes and write its labels of each; return the number of scenes without data."""
    every = rows_of(images.values(), columns_of(options), counted=False)
    with cluster_for(cluster, every.nbytes), together({"scenes": [*images]}):
        known = {name: counted_scene(image, estimator.progress) for name, image in images.items()}
        held = {name: image for name, image in known.items() if image is not None}
        if not held:
            raise NoDataError(f"expected pixels with data in {len(images)} scenes; got none: leave them out")
        fit_scenes(held, estimator, options)
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
        features = columns_of(options)
        for name, image in held.items():
            if name in own and own[name].shows_pixels:
                about = {"scene": name}
                seen = labelled(
                    image, features, estimator, own[name], estimator.progress, sieve=options.sieve, about=about
                )
                describe(seen, image, estimator, own[name], name)
    return len(images) - len(held)


def _outputs_of(scene: str, outputs: Outputs) -> Outputs:
    """Return the outputs of a scene and the model."""
    given = {key: place for key in OF_A_SCENE if (place := getattr(outputs, key)) is not None}
    for key, place in given.items():
        folder, _, name = place.rpartition("/")
        if "{scene}" not in name or "{scene}" in folder:
            raise SettingError(
                f"expected a path with {{scene}} in its last part for the {key} of all scenes; got {place}"
            )
    return replace(outputs, **{key: place.replace("{scene}", scene) for key, place in given.items()})


def segment_data_array(
    array: Any, estimator: Any, options: PixelOptions, outputs: Outputs, cluster: Cluster, index: Mapping[str, int]
) -> Any:
    """Cluster the pixels of a DataArray, write any outputs, and return its labels; see `segment`."""
    image = with_bands(image_of(array, index, options.nodata), options.bands)
    if outputs.kept():
        outputs.check()
    segment_image(image, estimator, options, outputs, cluster)
    return _labels(array, image, estimator)


def segment_data_arrays(
    arrays: Mapping[str, Any],
    estimator: Any,
    options: PixelOptions,
    outputs: Outputs,
    cluster: Cluster,
    index: Mapping[str, int],
) -> dict[str, Any]:
    """Fit one model to the pixels of several DataArrays, write any outputs, and return the labels of each."""
    check_options(options, outputs)
    if not arrays:
        raise ValueError("expected DataArrays by name; got none")
    if len({*map(str, arrays)}) < len(arrays):
        raise ValueError(f"expected names that differ as texts; got {', '.join(map(repr, arrays))}")
    images = matched({str(name): image_of(array, index, options.nodata) for name, array in arrays.items()})
    images = {name: with_bands(image, options.bands) for name, image in images.items()}
    own = own_outputs(images, outputs) if outputs.kept() else {}
    segment_images(images, own, estimator, options, outputs, cluster)
    return {name: _labels(array, images[str(name)], estimator) for name, array in arrays.items()}


def _labels(array: Any, image: Image, estimator: Any) -> Any:
    features = estimator.pixel_columns_.features
    noise = int(estimator.noise)
    return labels_like(array, image, features, estimator._block_labels(), int(estimator.n_clusters_) + noise, -noise)
