"""Rows that take less memory than as dense ones: sparse rows, and rows that stand for several equal ones."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from ._errors import BugError
from ._typing import AnyArray, Integers

SLAB_VALUES = 2**21
"""Most values of rows that are dense at once (16 MiB), unless these are fewer than `SLAB_ROWS` rows."""

SLAB_ROWS = 256


class CompactRows(ABC):
    """Rows with as much of the interface of an array as passes need, which see few of them at a time as dense rows."""

    ndim = 2
    __array_priority__ = 10.0
    shape: tuple[int, int]
    dtype: np.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *args: Any, **options: Any) -> AnyArray:
        """Refuse to become dense unnoticed."""
        raise BugError("expected dense rows in this step; got compact ones: use X.toarray(), and report this as a bug")

    @abstractmethod
    def __getitem__(self, which: Any) -> Any:
        """Return some of the rows, of all columns or of a slice of them."""

    @abstractmethod
    def plain(self, sparse: bool) -> "AnyArray | SparseRows":
        """Return the rows as they are stored, each by itself; sparse ones only if wanted, else as a NumPy array."""


class SparseRows(CompactRows):
    """Rows in compressed form.

    SciPy's sparse arrays have no length, and their type depends on how they were made; the compiled loops need one
    form: in canonical format, columns ascend within each row, so that sums over them have the bits of those of dense
    rows.
    """

    def __init__(self, csr: csr_array) -> None:
        self.csr = csr
        self.shape = csr.shape
        self.dtype = csr.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.csr.data.nbytes + self.csr.indices.nbytes + self.csr.indptr.nbytes)

    def __getitem__(self, which: Any) -> "SparseRows":
        rows, *columns = which if isinstance(which, tuple) else (which,)
        some = self.csr[rows]
        return SparseRows(some if not columns or columns[0] == slice(None) else some[:, columns[0]])

    def __dask_tokenize__(self) -> Any:
        return SparseRows, self.shape, self.csr.data, self.csr.indices, self.csr.indptr

    def astype(self, dtype: npt.DTypeLike, **options: Any) -> "SparseRows":
        """Return the rows with another dtype."""
        return SparseRows(self.csr.astype(dtype))

    def plain(self, sparse: bool) -> "AnyArray | SparseRows":
        return self if sparse else self.dense()

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


class RepeatedRows(CompactRows):
    """Rows that stand for several equal ones each, one after the other; `ends` are sums of the numbers up to each."""

    def __init__(self, rows: Any, ends: Integers) -> None:
        self.rows, self.ends = rows, ends
        self.shape = (int(ends[-1]) if len(ends) else 0, rows.shape[1])
        self.dtype = rows.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.rows.nbytes + self.ends.nbytes)

    def __getitem__(self, which: Any) -> Any:
        """Return some of the rows: for a slice without gaps as `RepeatedRows`, for numbers each by itself."""
        chosen, *columns = which if isinstance(which, tuple) else (which,)
        rows = self.rows if not columns or columns[0] == slice(None) else self.rows[:, columns[0]]
        if not isinstance(chosen, slice):
            return rows[sources(self.ends, chosen)]
        start, stop, _ = chosen.indices(len(self))
        if start >= stop:
            return RepeatedRows(rows[:0], self.ends[:0])
        held = slice(int(sources(self.ends, start)), int(sources(self.ends, stop - 1)) + 1)
        return RepeatedRows(rows[held], np.minimum(self.ends[held], stop) - start)

    def __dask_tokenize__(self) -> Any:
        return RepeatedRows, self.rows, self.ends

    def astype(self, dtype: npt.DTypeLike, **options: Any) -> "RepeatedRows":
        """Return the rows with another dtype."""
        return RepeatedRows(self.rows.astype(dtype), self.ends)

    def plain(self, sparse: bool) -> AnyArray | SparseRows:
        """Return each row as often as it counts."""
        own = self.rows[np.repeat(np.arange(len(self.rows)), np.diff(self.ends, prepend=0))]
        return own.plain(sparse) if isinstance(own, SparseRows) else own


def sources(ends: Integers, numbers: Any) -> Any:
    """Return which row each of the repeated rows is, by the sums of their numbers."""
    return np.searchsorted(ends, numbers, side="right")


def is_compact(rows: object) -> bool:
    """Return whether rows are sparse ones of SciPy or of the package sparse, or compact ones."""
    return isinstance(rows, CompactRows) or hasattr(rows, "tocsr") or hasattr(rows, "to_scipy_sparse")


def sparse_rows(rows: Any) -> SparseRows:
    """Return dense or sparse rows of any format as `SparseRows`, without changing them."""
    if isinstance(rows, SparseRows):
        return rows
    rows = rows.to_scipy_sparse() if hasattr(rows, "to_scipy_sparse") else rows
    if isinstance(rows, np.ndarray) and (rows.dtype == np.float16 or not rows.dtype.isnative):
        rows = rows.astype(np.float64)  # SciPy has neither float16 nor other orders of bytes
    csr = csr_array(rows)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return SparseRows(csr)


def parts_of(blocks: Sequence[Any], sparse: bool) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield parts of row-aligned blocks, each with the index of its first row.

    Unless `sparse` rows may stay so, a few of them at a time become dense.
    """
    compact = [block for block in blocks if isinstance(block, CompactRows)]
    if not compact or (sparse and all(isinstance(block, SparseRows) for block in compact)):
        yield 0, tuple(blocks)
        return
    height = max(SLAB_ROWS, SLAB_VALUES // max(block.shape[1] for block in compact))
    for start in range(0, max(len(blocks[0]), 1), height):
        some = (block[start : start + height] for block in blocks)
        yield start, tuple(part.plain(sparse) if isinstance(part, CompactRows) else part for part in some)


def concatenated(blocks: Sequence[Any], axis: int = 0, **options: Any) -> CompactRows:
    """Return blocks of rows, or of columns, as one."""
    if len(blocks) == 1:
        return blocks[0]  # as blocks of repeated rows, which nothing merges, always are
    return sparse_rows((hstack if axis else vstack)([block.csr for block in blocks], format="csr"))
