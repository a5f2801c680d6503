"""Sparse rows: blocks of which only the values other than zero are in memory."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from ._typing import AnyArray, Integers

SLAB_VALUES = 2**21
"""Most values of rows that are dense at once (16 MiB), unless these are fewer than `SLAB_ROWS` rows."""

SLAB_ROWS = 256


class SparseRows:
    """Rows in compressed form, with as much of the interface of an array as passes over rows need.

    SciPy's sparse arrays have no length, and their type depends on how they were made; the compiled loops need one
    form. Columns ascend within each row, so that sums over them have the bits of those of dense rows: adding zeros
    changes nothing.

    Parameters
    ----------
    csr : csr_array of shape (n_rows, n_columns)
        In canonical format.

    Examples
    --------
    >>> rows = sparse_rows(csr_array([[0, 3, 0], [1, 0, 0]]))
    >>> len(rows), rows.shape, rows[1:].dense().tolist()
    (2, (2, 3), [[1, 0, 0]])
    """

    ndim = 2
    __array_priority__ = 10.0

    def __init__(self, csr: csr_array) -> None:
        self.csr = csr
        self.shape: tuple[int, int] = csr.shape
        self.dtype: np.dtype = csr.dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.csr.data.nbytes + self.csr.indices.nbytes + self.csr.indptr.nbytes)

    def __getitem__(self, which: Any) -> "SparseRows":
        """Return some of the rows, of all columns or of a slice of them."""
        rows, *columns = which if isinstance(which, tuple) else (which,)
        some = self.csr[rows]
        return SparseRows(some if not columns or columns[0] == slice(None) else some[:, columns[0]])

    def __array__(self, *args: Any, **options: Any) -> AnyArray:
        """Refuse to become dense unnoticed."""
        raise TypeError("expected dense rows in this step; got sparse ones: use X.toarray(), and report this as a bug")

    def __dask_tokenize__(self) -> Any:
        return SparseRows, self.shape, self.csr.data, self.csr.indices, self.csr.indptr

    def astype(self, dtype: npt.DTypeLike, **options: Any) -> "SparseRows":
        """Return the rows with another dtype."""
        return SparseRows(self.csr.astype(dtype))

    def dense(self) -> AnyArray:
        """Return the rows as a NumPy array."""
        return self.csr.toarray()

    @property
    def data(self) -> AnyArray:
        """The stored values."""
        return self.csr.data

    def row_of(self, place: int) -> int:
        """Return the row of a stored value."""
        return int(np.searchsorted(self.csr.indptr, place, side="right")) - 1

    def loop_ready(self) -> tuple[AnyArray, Integers, Integers]:
        """Return values, their columns and the first value of each row, in the dtypes of the compiled loops."""
        csr = self.csr
        return csr.data.astype(np.float64), csr.indices.astype(np.int64), csr.indptr.astype(np.int64)


def is_sparse(rows: object) -> bool:
    """Return whether rows are sparse ones of SciPy, of the package sparse, or of this one."""
    return isinstance(rows, SparseRows) or hasattr(rows, "tocsr") or hasattr(rows, "to_scipy_sparse")


def sparse_rows(rows: Any) -> SparseRows:
    """Return dense or sparse rows of any format as `SparseRows`, without changing them."""
    if isinstance(rows, SparseRows):
        return rows
    csr = csr_array(rows.to_scipy_sparse() if hasattr(rows, "to_scipy_sparse") else rows)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return SparseRows(csr)


def parts_of(blocks: Sequence[Any], sparse: bool) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield parts of row-aligned blocks, each with the index of its first row.

    Parameters
    ----------
    blocks : sequence of arrays or SparseRows
    sparse : bool
        Whether sparse rows may stay so. Otherwise a few of them at a time become dense.
    """
    compressed = [block for block in blocks if isinstance(block, SparseRows)]
    if sparse or not compressed:
        yield 0, tuple(blocks)
        return
    height = max(SLAB_ROWS, SLAB_VALUES // max(block.shape[1] for block in compressed))
    for start in range(0, max(len(blocks[0]), 1), height):
        some = (block[start : start + height] for block in blocks)
        yield start, tuple(part.dense() if isinstance(part, SparseRows) else part for part in some)


def concatenated(blocks: Sequence[SparseRows], axis: int = 0, **options: Any) -> SparseRows:
    """Return blocks of rows, or of columns, as one."""
    if len(blocks) == 1:
        return blocks[0]
    return sparse_rows((hstack if axis else vstack)([block.csr for block in blocks], format="csr"))
