"""Variational EM of the probabilistic principal components of mixed columns, one pass an iteration."""

from dataclasses import dataclass, replace

import numpy as np

from .._blas import one_blas_thread, signs_of
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from ..chunks import Statistic
from .levels import levels_by_change
from .mixed_pca import MixedPCAMap
from .nystrom import HEIGHT

RIDGE = 1e-3
"""Weight of a penalty on loadings of log odds, which would grow for ever where a latent variable separates levels."""

storable(MixedPCAMap)  # as statistics hold it

LARGEST = 2.0**12
"""Values in the sums count as at most this, so that the sums of whole numbers never overflow."""


@storable
@dataclass(frozen=True)
class Sums:
    """The value of `MixedPCAPass`: whole numbers in units of ``2^-bits``, which no order of rows changes."""

    bits: int
    second: Integers
    """Second moments of the latent variables and 1 over the rows in which a column is observed."""
    products: Integers
    """Products of the outputs to regress with the latent variables and 1, shape (n_outputs, n_components + 1)."""
    squares: Integers
    """Sums of squares of these outputs, shape (n_outputs,)."""
    means: Integers
    """Second moments of the posterior means, shape (n_components, n_components)."""
    bound: int
    n_rows: int


@dataclass(frozen=True)
class MixedPCAPass(Statistic):
    """What an iteration needs of all rows."""

    model: MixedPCAMap
    """The current one."""
    bits: int
    """Bits after the point that sums keep; see `bits_for`."""

    def chunk(self, start: int, *blocks: AnyArray) -> Sums:
        model, rows = self.model, blocks[0]
        q, d, r = model.n_components, model.n_features, len(model.intercepts)
        second, products = np.zeros((d, (q + 1) ** 2), dtype=np.int64), np.zeros((r, q + 1), dtype=np.int64)
        squares, means, bound = np.zeros(r, dtype=np.int64), np.zeros((q, q), dtype=np.int64), 0
        with one_blas_thread():
            for which, values, seen in model.blocks(rows):
                n = which.stop - which.start
                found = model.posterior(values, seen)
                latent = np.concatenate([found.means, np.ones((HEIGHT, 1))], axis=1)[:n]
                outer = latent[:, :, None] * latent[:, None, :]
                means += self._whole(outer[:, :q, :q]).sum(axis=0).astype(np.int64)
                outer[:, :q, :q] += found.covariances[:n]
                # Sums of whole numbers of up to 2^45 over 192 rows are exact in float64.
                second += (seen[:n].T.astype(float) @ self._whole(outer).reshape(n, -1)).astype(np.int64)
                pseudo = np.where(seen[:n][:, model.column_of], found.pseudo[:n], 0.0)
                products += self._whole(pseudo[:, :, None] * latent[:, None, :]).sum(axis=0).astype(np.int64)
                squares += self._whole(np.square(pseudo)).sum(axis=0).astype(np.int64)
                bound += int(
                    self._whole(found.bounds[:n] / r).sum()
                )  # of each output, as sums of many exceed the limit
        return Sums(self.bits, second.reshape(d, q + 1, q + 1), products, squares, means, bound, len(rows))

    def combine(self, left: Sums, right: Sums) -> Sums:
        return Sums(
            self.bits, left.second + right.second, left.products + right.products, left.squares + right.squares,
            left.means + right.means, left.bound + right.bound, left.n_rows + right.n_rows,
        )  # fmt: skip

    def _whole(self, values: Floats) -> Floats:
        return np.rint(np.ldexp(np.clip(values, -LARGEST, LARGEST), self.bits))


def bits_for(n_rows: int) -> int:
    """Return how many bits after the point sums of values up to `LARGEST` keep for a number of rows.

    >>> bits_for(1000), bits_for(10**9)
    (33, 18)
    """
    return min(33, 48 - int(np.ceil(np.log2(max(n_rows, 2)))))


def bound_of(model: MixedPCAMap, sums: Sums) -> float:
    """Return the lower bound of the log likelihood of all rows, less the penalty on loadings of log odds."""
    own = model.curvatures[model.counts > 0]
    return float(
        np.ldexp(float(sums.bound), -sums.bits) * len(model.intercepts)
        - RIDGE / 2 * np.trace(own, axis1=1, axis2=2).sum()
    )


def maximised(model: MixedPCAMap, sums: Sums) -> MixedPCAMap:
    """Return the model that maximises the bound for the posteriors that the sums describe."""
    q = model.n_components
    second, products, squares = (
        np.ldexp(x.astype(np.float64), -sums.bits) for x in (sums.second, sums.products, sums.squares)
    )
    loadings, intercepts = model.loadings.copy(), model.intercepts.copy()
    errors = weight = 0.0
    for r, j in enumerate(model.column_of):
        if second[j, q, q] == 0:
            continue
        ridge = RIDGE * np.eye(q + 1) * model.is_logit[r]
        ridge[q, q] = 0.0
        both = np.linalg.solve(second[j] + ridge, products[r])
        loadings[r], intercepts[r] = both[:q], both[q]
        if not model.is_logit[r]:
            errors += squares[r] - 2 * both @ products[r] + both @ second[j] @ both
            weight += second[j, q, q]
    noise = max(errors / weight, 1e-4) if weight else model.noise
    return replace(model, loadings=loadings, intercepts=intercepts, noise=float(noise))


def turned(model: MixedPCAMap, sums: Sums) -> MixedPCAMap:
    """Return the same model with latent variables whose posterior means are uncorrelated, the most variable first."""
    moments = np.ldexp(sums.means.astype(np.float64), -sums.bits) / sums.n_rows
    values, vectors = np.linalg.eigh(moments)
    loadings = model.loadings @ vectors[:, ::-1]
    return replace(model, loadings=loadings * signs_of(loadings), spectrum=np.maximum(values[::-1], 0.0))


def with_levels(model: MixedPCAMap, rows: Floats) -> MixedPCAMap:
    """Return the model with what single columns change in some of its rows, as it is where no column varies."""
    used = (model.counts > 0) | (model.scale > 0)

    def features(changed: AnyArray) -> Floats:
        return model(changed, min(HEIGHT, len(changed)))  # a column of few levels fills no block of the usual height

    levels = levels_by_change(features, rows, model.counts > 0, used, model.n_components)
    return replace(model, **levels._asdict()) if len(levels.starts) else model


def start_from(model: MixedPCAMap, rows: Floats, rng: np.random.Generator | None) -> MixedPCAMap:
    """Return a model with loadings to start from: of principal components of some rows, or random without it."""
    values, seen = model.observed(rows)
    present = seen[:, model.column_of]
    mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    intercepts = np.where(model.is_logit, np.log(np.clip(mean, 1e-3, 1)), mean)
    shape = (len(mean), model.n_components)
    if rng is not None:
        return replace(model, loadings=rng.normal(0, 0.3, shape), intercepts=intercepts)
    with one_blas_thread():
        _, lengths, vectors = np.linalg.svd(np.where(present, values - mean, 0.0), full_matrices=False)
    k = min(model.n_components, len(lengths))
    loadings = np.zeros(shape)
    loadings[:, :k] = vectors[:k].T * lengths[:k] / np.sqrt(len(rows))
    return replace(model, loadings=loadings, intercepts=intercepts)
