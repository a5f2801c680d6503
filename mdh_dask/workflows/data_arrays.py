"""Segmentation of an xarray DataArray into a DataArray of labels."""

from collections.abc import Mapping
from typing import Any

from ..images import PixelColumns
from ..images.data_arrays import image_of, labels_like
from ._fit import Cluster
from .outputs import ImageOutputs
from .pixels import PixelOptions, segment_image


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
    if outputs.kept():
        outputs.check()
    segment_image(image, estimator, options, outputs, cluster)
    features = PixelColumns.from_dict(estimator.pixel_columns_).features
    noise = int(estimator.noise)
    return labels_like(array, image, features, estimator.block_labels(), int(estimator.n_clusters_) + noise, -noise)
