"""Mixed probabilistic principal component analysis, as a scikit-learn transformer."""

from collections.abc import Generator
from typing import Any

import numpy as np

from .._random import generator
from .._typing import AnyArray, RowArray
from ..chunks import Pass, Plan, Together
from ..growth.passes import Sample, SamplePass, sample_limit
from ..kernels.mixed_pca import MixedPCAMap, outputs_of
from ..kernels.mixed_pca_fit import MixedPCAPass, Sums, bits_for, bound_of, maximised, start_from, turned, with_levels
from ..summaries.passes import DistinctPass, DistinctValues, TypedLook, TypedPass
from .parameters import MOST_LEVELS, categorical_columns, check_levels, check_typed_look, documented
from .planned import FeatureTransformer

USUAL_COMPONENTS = 10
"""Most latent variables by default."""

FIRST_STEPS = 10
"""Iterations of every start on the sample before the best goes on."""


@documented
class MixedPCA(FeatureTransformer):
    """Latent variables of rows of mixed columns, some of whose values may be missing.

    A few normal latent variables explain all columns: continuous and ordinal ones linearly with noise of one variance,
    categorical ones by the log odds of their levels. Features are the posterior means of the latent variables.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of latent variables; None for as many as there are columns and further levels, at most 10.
    n_init : int, default=3
        Number of starts on the sample: the principal components of columns and levels, and random ones.
    max_iter : int, default=100
        Most iterations, each of which is a pass over the rows if the sample does not hold all of them.
    tol : float, default=1e-5
        Iterations end when the bound of the log likelihood rises by less than this share of it.
    sample_size : int, default=10000
        Number of rows of the sample.

    Attributes
    ----------
    bounds_ : list of float
        Lower bound of the log likelihood of all rows for the start and after every iteration, less a small penalty on
        the loadings of levels.
    n_iter_ : int
        Number of iterations, at most `max_iter`.
    noise_variance_ : float
        Variance of the scaled continuous columns about their means.

    Notes
    -----
    Passes: one for `fit` if the sample holds all rows, otherwise one more for each iteration; one to compute the result
    of `transform` or `reconstruct`. The likelihood of a level is bounded by a quadratic function (Bohning), so one pass
    adds up all that an iteration needs, for any number of rows. Missing values and unknown levels say nothing about a
    row. Continuous columns are scaled by the sample; values count as at most 8 standard deviations from the mean.

    Levels of single columns are not clusters: trees smooth out what single columns change among the features. To know
    that, each column is changed alone in some rows, so that time grows with the square of the number of columns.

    References
    ----------
    M. Khan, B. Marlin, G. Bouchard and K. Murphy, Variational bounds for mixed-data factor analysis, NIPS 2010.
    M. Tipping and C. Bishop, Probabilistic principal component analysis, Journal of the Royal Statistical Society B
    61(3), 1999. K. Yates, PhD thesis, Lancaster University, 2017, section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import MixedPCA
    >>> z = np.random.default_rng(0).normal(size=500)
    >>> X = np.column_stack([z, 2 * z, z > 0])
    >>> made = MixedPCA(n_components=1, column_types={"categorical": [2]}).fit(X)
    >>> bool(abs(np.corrcoef(made.transform(X)[:, 0], z)[0, 1]) > 0.99)
    True
    """

    map_type = MixedPCAMap
    uses_types = True

    n_components: int | None = None
    n_init: int = 3
    max_iter: int = 100
    tol: float = 1e-5
    sample_size: int = 10_000
    column_types: Any = "auto"
    random_state: Any = 0
    progress: bool = False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[MixedPCAMap]:
        """Plan the choice of a start on a sample, and the iterations from it."""
        categorical = categorical_columns(self.columns, shape[1])
        limits = np.where(categorical, MOST_LEVELS, 1)
        drawing = SamplePass(seed, sample_limit(self.sample_size, shape[0]))
        look: TypedLook
        distinct: DistinctValues
        sample: Sample
        look, distinct, sample = yield Pass("reading", Together((TypedPass(), DistinctPass(limits), drawing)))
        check_typed_look(look)
        check_levels(self.columns, categorical & (distinct.counts < 0), "", "Leave it out, or make it continuous.")
        rows = sample.first(self.sample_size).rows
        bits = bits_for(shape[0])
        model = self._start(self._blank(rows, categorical, distinct), rows, bits, seed)
        if len(rows) == shape[0]:
            found, self.bounds_ = _in_memory(rise(model, bits, self.max_iter, self.tol), rows)
        else:
            found, self.bounds_ = yield from rise(model, bits, self.max_iter, self.tol)
        self.n_iter_ = len(self.bounds_) - 1  # the first is that of the start
        self.noise_variance_ = found.noise
        return with_levels(found, rows.astype(np.float64))

    def _blank(self, rows: AnyArray, categorical: AnyArray, distinct: DistinctValues) -> MixedPCAMap:
        """Return a model without loadings for the columns of a sample."""
        counts = np.where(categorical, distinct.counts, 0)
        some = [distinct.of(int(j)) for j in np.flatnonzero(categorical)]
        rows = rows.astype(np.float64)
        seen = ~np.isnan(rows)
        n = np.maximum(seen.sum(axis=0), 1)
        centre = np.where(seen, rows, 0.0).sum(axis=0) / n
        sd = np.sqrt(np.where(seen, np.square(rows - centre), 0.0).sum(axis=0) / n)
        varies = (sd > 1e-12 * np.abs(centre)) & ~categorical
        n_outputs = int(outputs_of(counts).sum())
        q = min(USUAL_COMPONENTS, n_outputs) if self.n_components is None else self.n_components
        return MixedPCAMap(
            np.zeros((n_outputs, q)), np.zeros(n_outputs), 1.0, counts,
            np.concatenate([np.empty(0), *(own for own in some if own is not None)]),
            np.where(categorical, 0.0, centre), np.divide(1.0, sd, out=np.zeros(len(sd)), where=varies), np.zeros(q),
        )  # fmt: skip

    def _start(self, blank: MixedPCAMap, rows: AnyArray, bits: int, seed: int) -> MixedPCAMap:
        """Return the start with the largest bound on the sample after a few iterations."""
        starts = [start_from(blank, rows, generator(seed, i) if i else None) for i in range(self.n_init)]
        if len(starts) == 1:
            return starts[0]
        risen = [_in_memory(rise(start, bits, FIRST_STEPS, self.tol), rows) for start in starts]
        return max(risen, key=lambda one: one[1][-1])[0]

    def reconstruct(self, X: Any) -> RowArray:
        """Return the rows with their missing values filled in, float64; lazy rows take one pass to compute.

        Missing continuous and ordinal values are replaced by their means given the row, categorical ones by the code of
        the likeliest level.
        """
        return self._of_rows(X, "reconstruct", "float64", "n_features_in_")


def rise(
    model: MixedPCAMap, bits: int, max_iter: int, tol: float
) -> Generator[Pass, Sums, tuple[MixedPCAMap, list[float]]]:
    """Plan iterations until the bound hardly rises; return the last model whose bound is known, and all bounds."""
    bounds: list[float] = []
    while True:
        sums = yield Pass("fitting", MixedPCAPass(model, bits))
        bounds.append(bound_of(model, sums))
        if len(bounds) > max_iter or (len(bounds) > 1 and bounds[-1] - bounds[-2] <= tol * abs(bounds[-2])):
            return turned(model, sums), bounds
        model = maximised(model, sums)


def _in_memory(plan: Generator[Pass, Sums, tuple[MixedPCAMap, list[float]]], rows: AnyArray) -> Any:
    """Make the passes of a plan over rows in memory, and return its result."""
    wanted = next(plan)
    while True:
        try:
            wanted = plan.send(wanted.statistic.chunk(0, rows))
        except StopIteration as end:
            return end.value
