"""Labels of rows as a Parquet file, beside a column that names the rows."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from uuid import uuid4

import dask.array as da
import numpy as np

from .._locations import name_of
from .._packages import needed
from .._typing import RowArray
from .parquet_files import SUFFIXES
from .rows import open_rows
from .staging import remove_array, staged_file

ROWS_AT_ONCE = 2**20

ROW, LABEL = "row", "label"
"""Names of the columns of numbers of rows, from 0, and of labels."""


def is_label_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a path or URL is that of a Parquet file, by its ending."""
    return PurePosixPath(name_of(path)).suffix.lower() in SUFFIXES


@contextmanager
def label_table(path: str, overwrite: bool, ids: RowArray | None = None, id_name: str = ROW) -> Iterator[str]:
    """Provide the path of a Zarr array of labels, beside a Parquet file that is written from it in the end.

    Parameters
    ----------
    path : path or URL
        The Parquet file.
    overwrite : bool
        Whether to replace it.
    ids : array of shape (n_rows,), optional
        What names the rows; by default their numbers, from 0.
    id_name : str
        Name of the column of these.

    Notes
    -----
    One process copies the labels in the order of the rows, a million at a time, and reads `ids` once. The array is
    removed.
    """
    parent, slash, name = path.rpartition("/")
    array = f"{parent}{slash}.{name}.labels-{uuid4().hex}.zarr"
    try:
        yield array
        _copied(array, path, overwrite, ids, id_name)
    finally:
        remove_array(array)


def _copied(array: str, path: str, overwrite: bool, ids: RowArray | None, id_name: str) -> None:
    """Write labels and what names their rows to a Parquet file."""
    import pyarrow as pa

    parquet = needed("pyarrow.parquet", "parquet")
    labels, schema = open_rows(array, ndim=1), None
    ids = da.arange(len(labels), chunks=ROWS_AT_ONCE) if ids is None else da.asarray(ids)
    ends = np.cumsum([0, *ids.chunks[0]])
    with staged_file(path, overwrite) as file:
        writer = None
        for i, block in enumerate(ids.blocks):
            own = pa.array(np.asarray(block).tolist() if block.dtype == object else np.asarray(block))
            schema = schema or pa.schema([(id_name, own.type), (LABEL, pa.int32())])
            writer = writer or parquet.ParquetWriter(file, schema)
            found = pa.array(np.asarray(labels[ends[i] : ends[i + 1]]).astype(np.int32))
            writer.write_table(pa.table([own.cast(schema[0].type), found], schema=schema))
        assert writer is not None  # there are rows
        writer.close()
