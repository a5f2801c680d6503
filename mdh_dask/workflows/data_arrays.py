"""Segmentation of an xarray DataArray into a DataArray of labels."""

from collections.abc import Mapping
from typing import Any

from ..images import Image, PixelColumns
from ..images.axes import with_bands
from ..images.data_arrays import image_of, labels_like
from ..images.scenes import matched
from ._fit import Cluster
from .outputs import ImageOutputs
from .pixels import PixelOptions, segment_image
from .scenes import check_options, own_outputs, segment_images


def segment_data_array(
    array: Any,
    estimator: Any,
    options: PixelOptions,
    outputs: ImageOutputs,
    cluster: Cluster,
    index: Mapping[str, int],
) -> Any:
    """Cluster the pixels of a DataArray, write any outputs, and return its labels; see `segment`."""
    image = image_of(array, index, options.nodata)
    image = image if options.bands is None else with_bands(image, options.bands)
    if outputs.kept():
        outputs.check()
    segment_image(image, estimator, options, outputs, cluster)
    return _labels(array, image, estimator)


def segment_data_arrays(
    arrays: Mapping[str, Any],
    estimator: Any,
    options: PixelOptions,
    outputs: ImageOutputs,
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
    if options.bands is not None:
        images = {name: with_bands(image, options.bands) for name, image in images.items()}
    own = own_outputs(images, outputs) if outputs.kept() else {}
    segment_images(images, own, estimator, options, outputs, cluster)
    return {name: _labels(array, images[str(name)], estimator) for name, array in arrays.items()}


def _labels(array: Any, image: Image, estimator: Any) -> Any:
    features = PixelColumns.from_dict(estimator.pixel_columns_).features
    noise = int(estimator.noise)
    return labels_like(array, image, features, estimator._block_labels(), int(estimator.n_clusters_) + noise, -noise)
