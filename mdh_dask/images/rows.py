"""The pixels of an image as rows, block by block."""

from dataclasses import dataclass, replace
from typing import Any

import dask
import dask.array as da
import numpy as np

from .._typing import AnyArray, Booleans, Integers
from ..chunks import Progress, Statistic, reduce_rows
from .features import Features
from .image import Image, PixelOrder, opened
from .validity import MarkedRows, NoDataError, OpenPixels


def pixel_rows(image: Image, features: Features | None = None, lines: int | None = None) -> da.Array:
    """Return a row for every pixel that holds data, lazily, in blocks of whole chunks of the image.

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
    at most `PANEL` columns. If pixels may hold no data and have not been `counted`, one pass counts them now; blocks
    without data are not read afterwards.

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
    return _lazy(counted(image), features, lines, held=True)


def all_rows(image: Image, features: Features | None = None, lines: int | None = None) -> da.Array:
    """Return a row for every pixel in blocks of `MarkedRows`, which say which pixels hold data."""
    return _lazy(image, features, lines, held=False)


def _lazy(image: Image, features: Features | None, lines: int | None, held: bool) -> da.Array:
    """Return the rows of an image; blocks that are known to be without data are not read, or left out if `held`."""
    features = features or Features()
    features.check_image(image)
    dtype, n_columns = features.dtype(image.dtype), features.n_columns(image.shape[2])
    order, lines = image.order, lines or image.block_lines(dtype.itemsize * n_columns)
    sizes, known = order.sizes(lines), None
    if image.n_valid is not None:
        of_lines, firsts = image.n_valid.reshape(-1, order.height), np.arange(0, order.height, lines)
        n_valid = np.add.reduceat(of_lines, firsts, axis=1, dtype=np.int64).ravel()
        numbers = np.flatnonzero(n_valid) if held else np.arange(len(n_valid))
        full = full_blocks(image.n_valid, order, lines, features.margin)
        known = dask.delayed((numbers, n_valid == 0, full), traverse=False)
        sizes = tuple(n_valid[numbers].tolist()) if held else sizes
    return da.map_blocks(
        _read_rows, opened(image), features, order, lines, held, known, chunks=(sizes, (n_columns,)), dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip


def _read_rows(
    source: OpenPixels, features: Features, order: PixelOrder, lines: int, held: bool,
    known: tuple[Integers, Booleans, Booleans] | None, block_id: tuple[int, int],
) -> Any:  # fmt: skip
    number, empty, full = block_id[0], False, False
    if known is not None:
        numbers, no_data, no_holes = known
        number = int(numbers[number])
        empty, full = no_data[number], no_holes[number]
    y, x = block = order.block(number, lines)
    if empty:
        n_rows, n_columns = (y.stop - y.start) * (x.stop - x.start), features.n_columns(source.source.shape[2])
        rows = MarkedRows(np.zeros((n_rows, n_columns), features.dtype(source.dtype)), np.zeros(n_rows, bool))
    else:
        source = source._replace(validity=None) if full else source  # no holes are searched for where there are none
        rows = MarkedRows(*features.rows(source, order.height, order.width, block))
    return rows.held if held else rows


def counted(image: Image, progress: Progress | None = None) -> Image:
    """Return an image that knows how many of its pixels hold data, after one pass if some may hold none.

    Raises a ValueError if none does.
    """
    if image.validity is None or image.n_valid is not None:
        return image
    stored = replace(image, quantisation=None)  # which the rule is for
    order, lines = image.order, stored.block_lines(stored.dtype.itemsize * image.shape[2])
    flags = da.map_blocks(
        _read_flags, opened(stored), order, lines, chunks=(order.sizes(lines),), dtype=bool, meta=np.empty(0, bool)
    )  # fmt: skip
    n_valid = reduce_rows(ValidOnLines(order), flags, progress=progress)
    if not n_valid.any():
        raise no_data(image)
    return replace(image, n_valid=n_valid)


def no_data(image: Image) -> NoDataError:
    """Return the error for an image without a pixel that holds data."""
    return NoDataError(
        f"expected pixels with data in {image.path}; got none among {image.order.n_rows}: leave the image out, or say "
        "which pixels hold none with nodata=... and mask=..."
    )


def full_blocks(n_valid: Integers, order: PixelOrder, lines: int, margin: int) -> Booleans:
    """Return for each block of at most `lines` lines whether all of its pixels, and of a margin around it, hold data.

    Nothing is searched for pixels without data where there are none.
    """
    n_panels = len(n_valid) // order.height
    widths = np.minimum(order.panel, order.width - order.panel * np.arange(n_panels))
    full = n_valid.reshape(n_panels, order.height) == widths[:, None]
    reach = -(-margin // order.panel)  # panels beside this one
    beside = np.pad(full, [(reach, reach), (0, 0)], constant_values=True)
    full = np.asarray(np.lib.stride_tricks.sliding_window_view(beside, 2 * reach + 1, axis=0).all(axis=2))
    starts = range(0, order.height, lines)
    return np.array([bool(own[max(y - margin, 0) : y + lines + margin].all()) for own in full for y in starts])


@dataclass(frozen=True)
class ValidOnLines(Statistic):
    """Numbers of true values on the lines of every panel, in the order of rows."""

    order: PixelOrder

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        y, _ = self.order.block_of(start, len(blocks[0]))
        return blocks[0].reshape(y.stop - y.start, -1).sum(axis=1, dtype=np.int32)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return np.concatenate([left, right])


def _read_flags(source: OpenPixels, order: PixelOrder, lines: int, block_id: tuple[int]) -> Booleans:
    return source.valid(order.block(block_id[0], lines)).ravel()
