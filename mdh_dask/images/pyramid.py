"""Smaller copies of an image of labels for OME-Zarr viewers, each with every second pixel of the previous one."""

from collections.abc import Iterator
from pathlib import Path

import dask.array as da
import numpy as np
import zarr

from .._typing import AnyArray
from ..io.blocks import store
from ..io.nodes import count_missing

SMALLEST = 512
"""Most lines and columns of the smallest copy."""

BLOCK = 2048
"""Approximate lines and columns of a block of whole chunks."""


def n_copies(shape: tuple[int, ...]) -> int:
    """Return the number of copies of an image.

    Examples
    --------
    >>> n_copies((512, 300)), n_copies((513, 300)), n_copies((40_000, 40_000))
    (0, 1, 7)
    """
    return max(0, (-(-max(shape) // SMALLEST) - 1).bit_length())


def write_copies(group: zarr.Group, labels: zarr.Array, folder: Path | None) -> None:
    """Write the copies beside the array ``"0"`` of a group, as ``"1"`` and so on, while `folder` exists.

    One pass over every array but the last, on the current scheduler. Copies take nearest neighbours, as the mean
    of labels is not a label.

    Raises
    ------
    RuntimeError
        If chunks written by workers are not visible here.
    """
    larger = labels
    for number in range(1, n_copies(labels.shape) + 1):
        smaller = group.create_array(
            str(number),
            shape=tuple(-(-n // 2) for n in larger.shape),
            dtype=labels.dtype,
            chunks=labels.chunks,
            dimension_names=["y", "x"],
            config={"write_empty_chunks": True},
            overwrite=True,
        )
        _copy(larger, smaller, folder)
        larger = smaller


def _copy(larger: zarr.Array, smaller: zarr.Array, folder: Path | None) -> None:
    sides = tuple(max(BLOCK // chunk, 1) * chunk for chunk in smaller.chunks)
    blocks = da.core.normalize_chunks(sides, smaller.shape)
    ones = tuple((1,) * len(sizes) for sizes in blocks)
    da.map_blocks(
        _copy_block, larger, smaller, folder, sides, chunks=ones, dtype=bool, meta=np.empty((0, 0), bool)
    ).all().compute()  # fmt: skip
    missing, expected = count_missing(smaller)
    if missing:
        raise RuntimeError(
            f"{missing} of {expected} chunks of a smaller copy of the labels are not visible here; write to a "
            "folder that this process and all workers share, or to a URL"
        )


def _copy_block(
    larger: zarr.Array, smaller: zarr.Array, folder: Path | None, sides: tuple[int, int], block_id: tuple[int, int]
) -> AnyArray:
    lines, columns = _places(sides, block_id, smaller.shape)
    every_second = tuple(slice(2 * s.start, 2 * s.stop) for s in (lines, columns))
    store(smaller, folder, (lines, columns), np.asarray(larger[every_second])[::2, ::2])
    return np.ones((1, 1), bool)


def _places(sides: tuple[int, int], block_id: tuple[int, int], shape: tuple[int, ...]) -> Iterator[slice]:
    return (slice(side * i, min(side * (i + 1), n)) for side, i, n in zip(sides, block_id, shape))
