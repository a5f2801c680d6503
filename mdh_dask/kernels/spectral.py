"""The spectral embedding of all rows by their affinities to landmarks, and the number of clusters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._blas import POSITIVE, Normalised, normalised, one_blas_thread, signs_of
from .._jit.rows import align_columns
from .._random import any_rows
from .._state import checked_array
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .base import FromFunction
from .nystrom import HEIGHT, BasedMap, NystromMap, full_blocks

BITS = 30
"""Bits to which affinities are rounded, so that their sums do not depend on the chunks."""

_ANGLES = np.concatenate([[0.0], *(s * np.pi / 4 * 2.0 ** -np.arange(8) for s in (1, -1))])
TURNS = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])


@dataclass(frozen=True)
class SpectralMap(BasedMap):
    """Maps rows to their entries in the leading eigenvectors of normalised affinities, scaled to length one.

    base: its features are the entries of a row up to a factor of its own.
    values (n_components,) float64: eigenvalues of the normalised affinities, in descending order.
    """

    values: Floats

    @property
    def eigenvalues(self) -> Floats:
        """Return the eigenvalues of the normalised affinities."""
        return self.values

    @property
    def points(self) -> Callable[[AnyArray], Floats] | None:
        """Return the standardisation of rows if the kernel compares columns of numbers, otherwise None."""
        return self.base.points

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the embedding of raw rows, shape (n, n_components), float32; zeros for rows without any affinity."""
        entries = self.base(rows).astype(np.float64)
        lengths = np.sqrt(np.square(entries).sum(axis=1, keepdims=True))
        return np.divide(entries, lengths, out=np.zeros(entries.shape), where=lengths > 0).astype(np.float32)

    def facts(self) -> dict[str, str]:
        return {"Map": "Spectral embedding"} | self.base.facts()

    def check(self) -> None:
        checked_array("values", self.values, (self.n_components,))


@dataclass(frozen=True)
class AffinitySums(Statistic):
    """Sums of the affinities of all rows to each landmark, rounded to `BITS` bits."""

    base: NystromMap

    @property
    def journalled(self) -> bool:
        """False for a kernel that is a function, as journals cannot tell it from another."""
        return not isinstance(self.base.kernel, FromFunction)

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Return the sums of a block, shape (n_landmarks,)."""
        sums = np.zeros(len(self.base.projection), np.int64)
        for affinities in _affinities(self.base, blocks[0], self.base.standardised):
            sums += np.rint(affinities * 2.0**BITS).astype(np.int64).sum(axis=0)
        return _not_wrapped(sums)

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Return the sums of two blocks."""
        return _not_wrapped(left + right)

    def finalise(self, state: Integers) -> Floats:
        return state / 2.0**BITS


def _not_wrapped(sums: Integers) -> Integers:
    """Return sums of affinities, which are positive, or raise an error if one has left the integers of 64 bits."""
    if (sums < 0).any():
        raise ValueError(
            f"expected affinities that add up to at most {2.0 ** (63 - BITS):g} for each landmark; got more: divide "
            "all similarities by the largest"
        )
    return sums


def spectral_map(
    base: NystromMap, sample: Floats, sums: Floats | None, n_components: int | None, most: int
) -> SpectralMap:
    """Return the spectral embedding of rows by their affinities to landmarks (Fowlkes et al. 2004).

    The degree of a row is the inner product of its features with the sum of those of all rows, but at least its own
    affinity. With all rows as landmarks and in the sample, these are the eigenvectors of ``D^(-1/2) A D^(-1/2)``, with
    the directions of negative eigenvalues of A left out.

    base: not centred, so that inner products of its features approximate affinities.
    sample (n, n_features): standardised rows, for which the eigenvectors are computed.
    sums (n_landmarks,): sums of the affinities of all rows; None if the sample holds all rows.
    n_components: number of eigenvectors; None for that of `by_alignment`.
    most: most eigenvectors to choose.
    """
    with one_blas_thread():
        of, projection = _decomposed(base, sample, sums)
        positive = int(np.count_nonzero(of.values > POSITIVE))
        tried = min(most + 1, positive)
        k = min(n_components or by_alignment(of.entries(tried), most), positive)
        vectors = of.vectors[:, :k] * signs_of(of.vectors[:, :k])
        rotated = projection @ (vectors / np.sqrt(of.values[:k]))
    embedding = replace(base, projection=rotated, intercept=np.zeros(k))
    return SpectralMap(embedding, of.values[:k].copy())


def affinity_map(base: NystromMap, sample: Floats, sums: Floats | None, n_components: int) -> NystromMap:
    """Return the map to features whose inner products approximate affinities, with the degrees of all rows.

    Of the normalised affinities, the leading eigenvectors are kept. The first is that of the degrees, so these do not
    change with the number of components. See `spectral_map` for the other parameters.
    """
    with one_blas_thread():
        of, projection = _decomposed(base, sample, sums)
        k = min(n_components, max(int(np.count_nonzero(of.values > POSITIVE)), 1))
        vectors = of.vectors[:, :k] * signs_of(of.vectors[:, :k])
        return replace(base, projection=projection @ vectors, intercept=np.zeros(k), spectrum=of.values[:k].copy())


def _decomposed(base: NystromMap, sample: Floats, sums: Floats | None) -> tuple[Normalised, Floats]:
    """Return the eigenvectors of the normalised affinities of a sample, and the projection of the map."""
    affinities = np.concatenate(list(_affinities(base, sample, np.asarray)))
    if affinities.min() < 0:
        raise ValueError(
            f"expected a kernel without negative values for a spectral embedding; got {affinities.min():g} of "
            f"{base.kernel!r}: choose 'rbf' or 'local_scaling'"
        )
    projection = base.projection.astype(np.float64)
    total = (affinities.sum(axis=0) if sums is None else sums) @ projection
    return normalised(affinities @ projection, total), projection


def _affinities(base: NystromMap, rows: AnyArray, standardise: Callable[[AnyArray], Floats]) -> Iterator[Floats]:
    """Yield the affinities of rows to the landmarks in blocks, those of a row whatever its block."""
    landmarks = base.landmarks.astype(np.float64)
    with one_blas_thread():
        fill = base.kernel.bind(landmarks)
        values = np.empty((HEIGHT, len(landmarks)))
        for at, block in full_blocks(rows):
            fill(standardise(block).astype(np.float64), values)
            yield values[: at.stop - at.start].copy()


def by_alignment(entries: Floats, most: int) -> int:
    """Return the largest number of eigenvectors that rotate to one large entry for every row, at least two.

    L. Zelnik-Manor and P. Perona, Self-tuning spectral clustering, 2004, section 3. The rotation of one more
    eigenvector begins at that of the ones before.

    entries (n, k): eigenvectors as columns; only some are used.
    """
    some = any_rows(entries, 1000)  # all pairs of eigenvectors are turned for every number
    qualities = alignments(np.ascontiguousarray(some[:, :most]))
    # Zelnik-Manor and Perona.
    return int(np.flatnonzero(qualities >= qualities.max() - 0.001)[-1]) + 2 if len(qualities) else 1


def alignments(entries: Floats) -> Floats:
    """Return the quality of the best rotation of the first 2, 3, ... columns: one for a single entry in each row."""
    turned, qualities = entries[:, :1].copy(), []
    for k in range(2, entries.shape[1] + 1):
        turned = np.column_stack([turned, entries[:, k - 1]])
        squares = np.square(turned).sum(axis=1) + 1e-300  # the cost of a row of zeros is one, too
        last = np.inf
        for _ in range(30):
            cost = align_columns(turned, squares, TURNS)
            if cost > last - 1e-4:
                break
            last = cost
        qualities.append(1 - (cost - 1) / k)
    return np.array(qualities)
