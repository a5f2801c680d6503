"""A second array of rows, written in the pass that writes a first one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zarr

from .._locations import hiding_credentials
from .._typing import RowArray
from ..chunks import Statistic, Together
from .blocks import CONFIG, WriteBlocks, complete, incomplete
from .layout import check_array, choose_layout
from .nodes import Options
from .targets import ARRAY, will_replace, write_at
from .writing import check_blocks, shape_of


@hiding_credentials()
def write_companion(
    array: RowArray,
    path: str | os.PathLike[str],
    first: RowArray,
    write: Callable[[Statistic], tuple[Any, Any]],
    also: Statistic,
    *,
    index: int,
    chunk_rows: int | None = None,
    overwrite: bool = False,
    storage_options: Options = None,
) -> Any:
    """Write rows to a Zarr array like `write_rows`, in the pass of another call of `write_rows`.

    Parameters
    ----------
    array : ndarray or dask Array of shape (n_rows,)
        As for `write_rows`; its blocks are those of `first`.
    path : path or URL
    first : ndarray or dask Array of shape (n_rows,)
        The array that the other call writes, with values of as many bytes.
    write : callable
        Makes the other call with a statistic as `also`, and `array` among `beside`; returns the value of `also`.
    also : Statistic
        A statistic of the same pass.
    index : int
        Index of `array` among the blocks of the pass.
    chunk_rows : int, optional
        Rows per Zarr chunk of both arrays.
    overwrite, storage_options
        As for `write_rows`.

    Returns
    -------
    object
        The value of the statistic.
    """
    array = check_array(array)
    if array.dtype.itemsize != first.dtype.itemsize:
        raise ValueError(f"expected values of as many bytes as {first.dtype}, for the same chunks; got {array.dtype}")
    layout = choose_layout(first, chunk_rows, None, compressed=True)
    replace = will_replace(path, overwrite, ARRAY, storage_options)

    def fill(place: Path | str, replace: bool, options: Options) -> Any:
        target = zarr.create_array(
            place, **shape_of(array, layout), compressors="auto", config=CONFIG, attributes=incomplete(None),
            overwrite=replace, storage_options=options,
        )  # fmt: skip
        folder = place if isinstance(place, Path) else None
        value, blocks = write(Together((also, WriteBlocks(target, folder, array=index))))
        check_blocks(blocks, target, layout.unit)
        target.update_attributes(complete(target, blocks, None))
        return value

    return write_at(path, fill, replace, storage_options)
