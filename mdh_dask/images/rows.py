"""The pixels of an image as rows, block by block."""

import dask.array as da
import numpy as np

from .._typing import AnyArray
from .features import Features
from .image import Image, Source, opened
from .order import PixelOrder


def pixel_rows(image: Image, features: Features | None = None, lines: int | None = None) -> da.Array:
    """Return a row for every pixel, lazily, in blocks of whole chunks of the image.

    Parameters
    ----------
    image : Image
    features : Features, optional
        Columns besides the bands.
    lines : int, optional
        Lines per block; by default whole chunks of about ``mdh-dask.block-size`` bytes.

    Returns
    -------
    dask Array of shape (n_pixels, n_columns)
        Rows in an order that depends only on the image's shape, see `PixelOrder`, so that samples by row number are the
        same for all chunks. The dtype is that of the pixels if there are only bands, otherwise float32 or float64.

    Notes
    -----
    Each block is one task, which reads its own pixels and the margin for windows: pixels near the edge of a block
    are read again with the next, and no block waits for another. A block has at least one row of the image's chunks and
    at most `PANEL` columns.

    Examples
    --------
    >>> import tempfile
    >>> import zarr
    >>> from mdh_dask.images import open_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = zarr.create_array(f"{folder}/a.zarr", data=np.arange(12).reshape(3, 4), chunks=(1, 4))
    ...     pixel_rows(open_image(f"{folder}/a.zarr"), Features(coordinates=True))[-1].compute()
    array([11.,  2.,  3.])
    """
    features = features or Features()
    check_window(image, features)
    dtype, n_columns = features.dtype(image.dtype), features.n_columns(image.shape[2])
    order = image.order
    lines = lines or image.block_lines(dtype.itemsize * n_columns)
    return da.map_blocks(
        _read_rows, opened(image.source), features, order, lines,
        chunks=(order.sizes(lines), (n_columns,)), dtype=dtype, meta=np.empty((0, 0), dtype),
    )  # fmt: skip


def check_window(image: Image, features: Features) -> None:
    """Raise an error if a window does not fit into the image."""
    if features.window is not None and features.window > min(image.shape[:2]):
        raise ValueError(
            f"expected a window within the image's {image.shape[0]} x {image.shape[1]} pixels; got {features.window}"
        )


def _read_rows(
    source: Source, features: Features, order: PixelOrder, lines: int, block_id: tuple[int, int]
) -> AnyArray:
    return features.rows(source, order.height, order.width, order.block(block_id[0], lines))
