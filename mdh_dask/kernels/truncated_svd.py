"""Truncated singular value decomposition of sparse rows, for features of texts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.extmath import randomized_svd

from .._blas import one_blas_thread
from .._jit.hashing import hash_rows
from .._jit.rows import project_sparse
from .._sparse import SparseRows, sparse_rows
from .._state import FeatureMap, checked_array
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .distances import unit_rows


@dataclass(frozen=True)
class TruncatedSVDMap(FeatureMap):
    """Maps rows to their products with singular vectors, scaled to length one if wanted."""

    components: Floats
    """Shape (n_features, n_components), float64."""
    variances: Floats
    """Shape (n_components,), float64: mean squares of the products over the sample, in descending order."""
    unit_length: bool

    # Only the values other than zero are multiplied.
    takes_sparse = True

    @property
    def n_features(self) -> int:
        return len(self.components)

    @property
    def n_components(self) -> int:
        return len(self.variances)

    @property
    def spectrum(self) -> Floats:
        """Return the mean squares of the products."""
        return self.variances

    def __call__(self, rows: AnyArray | SparseRows) -> Floats:
        """Return the features of rows, dense or sparse, shape (n, n_components), float32; zeros for rows of zeros."""
        out = np.zeros((len(rows), self.n_components))
        project_sparse(*sparse_rows(rows).loop_ready(), self.components, out)
        return of_unit_length(out) if self.unit_length else out.astype(np.float32)

    @property
    def points(self) -> Callable[[AnyArray], Floats]:
        return self

    def facts(self) -> dict[str, str]:
        return {"Map": "Truncated singular value decomposition", "Features": f"{self.n_components:,}"}

    def check(self) -> None:
        k = np.size(self.variances)
        checked_array("components", self.components, (len(self.components), k))
        checked_array("variances", self.variances, (k,), least=0.0)
        if not k or not len(self.components) or self.components.dtype != np.float64:
            raise ValueError("expected float64 components of at least one column in the array components")
        if not isinstance(self.unit_length, bool):
            raise ValueError(f"expected True or False for unit_length, got {self.unit_length!r}")


@storable
class SparseSample(NamedTuple):
    """Sparse sample rows in the order of the rows, and what the values of all rows are like."""

    data: AnyArray
    columns: Integers
    lengths: Integers
    """Stored values of each row."""
    hashes: Integers
    last: int
    """Rows with larger hashes are left out."""
    n_nan: int
    n_infinite: int
    first_bad_row: int
    """Global number of the first row with NaN or infinity, or -1."""
    largest: float
    """Largest absolute value."""

    def rows(self, n_columns: int) -> csr_array:
        """Return the rows."""
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        return csr_array((self.data, self.columns, starts), shape=(len(self.lengths), n_columns))


@dataclass(frozen=True)
class SparseSamplePass(Statistic):
    """A sample of sparse rows, or of dense ones in sparse form: the rows with the smallest hashes."""

    seed: int
    """Seed of the rows' hashes."""
    limit: int
    """Rows with a hash of at most this are sampled."""
    most_values: int = 2**25  # 400 MiB
    """Rows are left out from the first one, by hashes, with which they hold more values. One row is always sampled."""

    # The sample is sparse.
    takes_sparse = True

    def chunk(self, start: int, *blocks: AnyArray) -> SparseSample:
        hashes = hash_rows(self.seed, start, len(blocks[0]))
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        rows = sparse_rows(blocks[0])
        values = rows.data
        bad = ~np.isfinite(values)
        n_nan, first = int(np.isnan(values).sum()), start + rows.row_of(int(bad.argmax())) if bad.any() else -1
        largest = float(np.abs(values.astype(np.float64)).max(initial=0.0))
        some = rows[chosen].csr
        lengths = np.diff(some.indptr).astype(np.int64)
        sample = some.data.astype(np.float64), some.indices.astype(np.int64), lengths, hashes[chosen], self.limit
        return self._bounded(SparseSample(*sample, n_nan, int(bad.sum()) - n_nan, first, largest))

    def combine(self, left: SparseSample, right: SparseSample) -> SparseSample:
        """Join the samples, and the facts about all values."""
        data, columns, lengths, hashes = (np.concatenate(pair) for pair in zip(left[:4], right[:4]))
        first = left.first_bad_row if left.first_bad_row >= 0 else right.first_bad_row
        n_nan, n_infinite = left.n_nan + right.n_nan, left.n_infinite + right.n_infinite
        last, largest = min(left.last, right.last), max(left.largest, right.largest)
        return self._bounded(SparseSample(data, columns, lengths, hashes, last, n_nan, n_infinite, first, largest))

    def _bounded(self, sample: SparseSample) -> SparseSample:
        """Leave out rows from the first one, by hashes, with which there are too many values.

        Whatever is left out of some rows is also left out of more. So are the rows behind it in other chunks, although
        there may be room for them: so the chunks do not matter.
        """
        order = np.argsort(sample.hashes, kind="stable")
        n_kept = max(int(np.searchsorted(np.cumsum(sample.lengths[order]), self.most_values, side="right")), 1)
        last = min(sample.last, int(sample.hashes[order[n_kept]]) - 1) if n_kept < len(order) else sample.last
        keep = sample.hashes <= np.uint64(last)
        of_kept = np.repeat(keep, sample.lengths)
        data, columns = sample.data[of_kept], sample.columns[of_kept]
        return SparseSample(data, columns, sample.lengths[keep], sample.hashes[keep], last, *sample[5:])


def truncated_svd_map(rows: csr_array, n_components: int, unit_length: bool, seed: int) -> TruncatedSVDMap:
    """Return the map to the leading singular vectors of sparse rows, which are not centred.

    The decomposition is randomised (Halko, Martinsson and Tropp 2011) and needs a few columns as long as a row, but no
    covariance. On one thread, so that the map does not depend on the number of threads.
    """
    with one_blas_thread():
        _, singular, vectors = randomized_svd(rows, min(n_components, *rows.shape), random_state=seed)
    k = max(int(np.count_nonzero(singular > 1e-9 * singular[0])), 1)  # less is rounding
    components = np.ascontiguousarray(vectors[:k].T, dtype=np.float64)
    return TruncatedSVDMap(components, singular[:k] ** 2 / rows.shape[0], unit_length)


def of_unit_length(rows: AnyArray) -> Floats:
    """Return rows scaled to length one, shape (n, n_features), float32; rows of zeros as they are."""
    # Sums of another order would have other last bits.
    return unit_rows(np.ascontiguousarray(rows, dtype=np.float64)).astype(np.float32)


@dataclass(frozen=True)
class UnitLengthMap(FeatureMap):
    """Scales rows to length one."""

    n_columns: int

    @property
    def n_features(self) -> int:
        return self.n_columns

    @property
    def n_components(self) -> int:
        return self.n_columns

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the rows scaled to length one; see `of_unit_length`."""
        return of_unit_length(rows)

    @property
    def points(self) -> Callable[[AnyArray], Floats]:
        return self

    def check(self) -> None:
        if type(self.n_columns) is not int or self.n_columns < 1:
            raise ValueError(f"expected a number of columns of at least 1 as n_columns; got {self.n_columns!r:.99}")
