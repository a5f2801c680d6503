"""Probabilistic principal components of mixed columns: the model, and the posterior of a row's latent variables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .._blas import one_blas_thread
from .._levels import LevelFeatures
from .._state import FeatureMap, checked_array
from .._typing import AnyArray, Booleans, Floats, Integers, cached_property
from .levels import check_levels
from .nystrom import HEIGHT, full_blocks

SWEEPS, CLOSE = 60, 1e-6
"""Most sweeps over the bounds of a row, and the change of its posterior mean at which they end."""


class Posterior(NamedTuple):
    """The latent variables of a block of rows, given what is observed."""

    means: Floats
    """Shape (n, n_components)."""
    covariances: Floats
    """Shape (n, n_components, n_components)."""
    fitted: Floats
    """Means of the outputs, shape (n, n_outputs)."""
    pseudo: Floats
    """What the outputs would be regressed on, shape (n, n_outputs): values, and the centres of the bounds."""
    bounds: Floats
    """Lower bound of the log likelihood of every row."""


@dataclass(frozen=True)
class MixedPCAMap(FeatureMap):
    """Maps rows to the posterior means of the latent variables."""

    loadings: Floats
    """Shape (n_outputs, n_components): A continuous column has one output; a categorical one the log odds of every
    level but its last."""
    intercepts: Floats
    """Shape (n_outputs,)."""
    noise: float
    """Variance of the continuous columns about their outputs, after scaling."""
    counts: Integers
    """Shape (n_features,), int64: number of levels of each column; 0 for continuous columns."""
    codes: Floats
    """Codes of the levels, one column after the other."""
    centre: Floats
    scale: Floats
    """Both of shape (n_features,): continuous columns become ``(x - centre) * scale``. A scale of zero drops a column.
    """
    spectrum: Floats
    """Shape (n_components,): variances of the features, in descending order."""
    positions: Floats = field(default_factory=lambda: np.empty((0, 0)))
    starts: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    shares: Floats = field(default_factory=lambda: np.empty(0))
    """All of shape (n_positions, n_components): what single columns change; see `LevelFeatures`. Without groups before
    it is known."""

    missing = True

    @property
    def levels(self) -> LevelFeatures | None:
        """Return the mean features of the levels of single columns, or None for columns of numbers."""
        if not len(self.starts):
            return None
        return LevelFeatures(self.positions, self.starts, self.shares)

    @property
    def n_features(self) -> int:
        return len(self.counts)

    @property
    def n_components(self) -> int:
        return self.loadings.shape[1]

    @cached_property
    def column_of(self) -> Integers:
        """Return the column of every output, shape (n_outputs,)."""
        return np.repeat(np.arange(len(self.counts)), outputs_of(self.counts))

    @cached_property
    def _level_of(self) -> tuple[Floats, Floats]:
        """Return the codes of the levels of all outputs, and of the last levels of all columns; NaN without levels."""
        of_outputs, last = np.full(len(self.intercepts), np.nan), np.full(len(self.counts), np.nan)
        has_levels = self.counts > 0
        ends = np.cumsum(self.counts)[has_levels] - 1
        last[has_levels], of_outputs[self.is_logit] = self.codes[ends], np.delete(self.codes, ends)
        return of_outputs, last

    @cached_property
    def is_logit(self) -> Booleans:
        """Return which outputs are log odds, shape (n_outputs,)."""
        return np.asarray(self.counts[self.column_of] > 0)

    def observed(self, rows: AnyArray) -> tuple[Floats, Booleans]:
        """Return what the outputs of a block are compared with, and which columns are observed.

        Values are standardised, and levels are ones and zeros, all zero for the last level.
        """
        rows = np.asarray(rows, dtype=np.float64)
        of_outputs, last = self._level_of
        chosen = rows[:, self.column_of] == of_outputs
        known = np.where(self.counts > 0, (rows == last) | (self._sums(chosen) > 0), self.scale > 0)
        seen = ~np.isnan(rows) & known
        with np.errstate(invalid="ignore"):  # of infinite values of columns that are dropped
            standard = np.clip((rows - self.centre) * self.scale, -8.0, 8.0)
        return np.where(self.is_logit, chosen, np.where(seen, standard, 0.0)[:, self.column_of]), seen

    def posterior(self, values: Floats, seen: Booleans) -> Posterior:
        """Return the posterior of a block of `HEIGHT` rows; that of a row depends on no other.

        Bohning's bound of the log of a sum of exponentials is quadratic with the same matrix ``A = (I - 11'/M) / 2``
        everywhere, so the covariance is known at once, and the means rise to the only maximum of the bounds.
        """
        q, logit = self.n_components, self.is_logit
        present = seen[:, self.column_of]
        own = self.curvatures
        precision = np.eye(q) + (seen.astype(np.float64) @ own.reshape(len(own), q * q)).reshape(-1, q, q)
        covariances = np.linalg.inv(precision)
        means, moving = np.zeros((len(values), q)), np.ones(len(values), dtype=bool)
        for _ in range(SWEEPS):
            fitted = means @ self.loadings.T + self.intercepts
            # The gradient at the fitted outputs; that of the bound with its centre there is the same.
            gradient = np.where(logit, values - self._softmax(fitted)[0], (values - fitted) / self.noise)
            rising = np.where(present, gradient, 0.0) @ self.loadings - means
            step = np.matmul(covariances, rising[:, :, None])[:, :, 0]
            # Each row stops by itself, whatever other rows there are.
            means = means + np.where(moving[:, None], step, 0.0)
            moving &= np.abs(step).max(axis=1) >= CLOSE
            if not moving.any():
                break
        fitted = means @ self.loadings.T + self.intercepts
        shares, log_sums = self._softmax(fitted)
        pseudo = np.where(logit, fitted + self._inverse_curvature(values - shares), values)
        squares = np.where(logit, values * fitted, self._log_density(values - fitted))
        explained = np.where(present, squares, 0.0).sum(axis=1) - np.where(seen, log_sums, 0.0).sum(axis=1)
        # The traces of the curvatures and of the prior add up to the number of components.
        bounds = explained - 0.5 * (np.square(means).sum(axis=1) + np.linalg.slogdet(precision)[1])
        return Posterior(means, covariances, fitted, pseudo, bounds)

    @cached_property
    def curvatures(self) -> Floats:
        """Return the precision that each column adds, shape (n_features, n_components, n_components)."""
        q = self.n_components
        own = np.zeros((len(self.counts), q, q))
        column_of = self.column_of
        for j in range(len(self.counts)):
            loadings = self.loadings[column_of == j]
            if self.counts[j]:
                total = loadings.sum(axis=0)
                own[j] = (loadings.T @ loadings - np.outer(total, total) / self.counts[j]) / 2
            elif self.scale[j] > 0:
                own[j] = loadings.T @ loadings / self.noise
        return own

    @cached_property
    def _in_column(self) -> Any:
        """Which log odds belong to which column, a sparse array of shape (n_features, n_outputs)."""
        own = np.flatnonzero(self.is_logit)
        return csr_array((np.ones(len(own)), (self.column_of[own], own)), (len(self.counts), len(self.is_logit)))

    def _sums(self, outputs: Floats) -> Floats:
        """Return the sums of the log odds of every column, shape (n, n_features)."""
        return (self._in_column @ outputs.T).T

    def _softmax(self, fitted: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of all levels but the last, and the logs of the sums of each column."""
        powers = np.exp(np.clip(np.where(self.is_logit, fitted, 0.0), -500.0, 500.0))  # so that no sum overflows
        totals = 1 + self._sums(powers)
        return np.where(self.is_logit, powers / totals[:, self.column_of], 0.0), np.log(totals)

    def _inverse_curvature(self, outputs: Floats) -> Floats:
        """Return ``A^(-1) x = 2 (x + 11'x)`` of the log odds of every column."""
        return 2 * (outputs + self._sums(outputs)[:, self.column_of])

    def _log_density(self, errors: Floats) -> Floats:
        return -0.5 * (np.log(2 * np.pi * self.noise) + np.square(errors) / self.noise)

    def blocks(self, rows: AnyArray, height: int = HEIGHT) -> Iterator[tuple[slice, Floats, Booleans]]:
        """Yield the rows that blocks of one height hold, and their observed values."""
        for which, block in full_blocks(rows, height):
            yield (which, *self.observed(block))

    def __call__(self, rows: AnyArray, height: int = HEIGHT) -> Floats:
        """Return the posterior means of a block of rows, shape (n, n_components), float32.

        They have the same bits for any block, and a given height.
        """
        out = np.empty((len(rows), self.n_components), dtype=np.float32)
        with one_blas_thread():
            for which, values, seen in self.blocks(rows, height):
                out[which] = self.posterior(values, seen).means[: which.stop - which.start]
        return out

    def reconstruct(self, rows: AnyArray) -> Floats:
        """Return rows whose missing values are replaced by their means, or by the codes of their likeliest levels."""
        out = np.array(rows, dtype=np.float64)
        ends = np.cumsum(self.counts)
        with one_blas_thread():
            for which, values, seen in self.blocks(rows):
                fitted = self.posterior(values, seen).fitted[: which.stop - which.start]
                stop = 0
                for j, n in enumerate(outputs_of(self.counts)):
                    start, stop = stop, stop + int(n)
                    if self.counts[j]:
                        odds = np.concatenate([fitted[:, start:stop], np.zeros((len(fitted), 1))], axis=1)
                        filled = self.codes[ends[j] - self.counts[j] + odds.argmax(axis=1)]
                    else:
                        spread = 1 / self.scale[j] if self.scale[j] > 0 else 0.0
                        filled = fitted[:, start] * spread + self.centre[j]
                    out[which, j] = np.where(np.isnan(out[which, j]), filled, out[which, j])
        return out

    def facts(self) -> dict[str, str]:
        return {"Map": "Mixed probabilistic principal components", "Components": f"{self.n_components:,}"}

    def check(self) -> None:
        d = np.size(self.counts)
        checked_array("counts", self.counts, (d,), 0)
        if self.counts.dtype.kind != "i":
            raise ValueError("expected integers in the array counts")
        n, p = int(outputs_of(self.counts).sum()), np.shape(self.loadings)[-1]
        checked_array("codes", self.codes, (int(self.counts.sum()),))
        checked_array("loadings", self.loadings, (n, p))
        checked_array("intercepts", self.intercepts, (n,))
        checked_array("centre", self.centre, (d,))
        checked_array("scale", self.scale, (d,), 0.0)
        checked_array("spectrum", self.spectrum, (p,), 0.0)
        check_levels(self.positions, self.starts, p)
        checked_array("shares", self.shares, self.starts.shape, 0.0)
        if not isinstance(self.noise, float) or not 0 < self.noise < np.inf:
            raise ValueError(f"expected a positive number for noise, got {self.noise!r}")


def outputs_of(counts: Integers) -> Integers:
    """Return the number of outputs of every column from its number of levels."""
    return np.where(counts > 0, counts - 1, 1)
