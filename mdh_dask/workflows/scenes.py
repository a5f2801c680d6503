"""One model of many scenes, and its labels of each."""

import logging
from collections.abc import Mapping
from typing import Any

import dask.array as da

from .._errors import SettingError
from ..chunks import announced
from ..images import Image, PixelColumns
from ..images.rows import counted
from ..images.scenes import rows_of
from ..images.validity import NoDataError
from .estimates import telling_of_memory
from .pixels import PixelOptions, columns_of, drawn

logger = logging.getLogger(__name__)


def check_options(options: PixelOptions) -> None:
    """Raise an error for an option that has no meaning for several scenes."""
    if options.coordinates is not None:
        raise SettingError(
            "expected no coordinates with several scenes: their lines and columns have nothing in common"
        )


def counted_scene(image: Image, progress: bool = False) -> Image | None:
    """Return a scene that knows how many of its pixels hold data, or None if none does; at most one pass."""
    try:
        return counted(image, announced("counting pixels with data", progress))
    except NoDataError:
        return None


def fit_scenes(images: Mapping[str, Image], estimator: Any, options: PixelOptions) -> None:
    """Fit an estimator to the pixels of all scenes, one scene after another, as if they were one table.

    The passes are those of the estimator, or one with a sample.

    Parameters
    ----------
    images : mapping of str to Image
        Scenes of the same bands, `counted`.
    estimator : estimator
    options : PixelOptions
    """
    features = columns_of(options)
    rows: da.Array = rows_of(images.values(), features)
    first = next(iter(images.values()))
    logger.info("%s scenes, %s pixels of %s columns", len(images), *rows.shape)
    with telling_of_memory(rows, estimator):
        chosen = rows if options.sample is None else drawn(rows, estimator, options.sample)
        estimator.fit(chosen)
    if options.sample is not None:
        estimator.n_passes_ = 1
    columns = PixelColumns(first.shape[2], features, first.axes, options.nodata, first.bands or None)
    estimator.pixel_columns_ = columns.to_dict()
    logger.info("%s segments in %s passes", estimator.n_clusters_, estimator.n_passes_)
