"""Rules for the bandwidth of a univariate kernel density estimate.

A rule is a factor and a measure of spread; the bandwidth is ``factor * spread * n ** (-1/5)``. To add one, add it to
`BANDWIDTHS`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._typing import AnyArray, Floats

NORMAL_QUARTILES = 1.349
"""Interquartile range of the standard Gaussian distribution."""


@dataclass(frozen=True)
class Bandwidth:
    """The rule ``h = factor * spread * n ** (-1/5)``."""

    factor: float
    """Larger is smoother."""
    robust: bool = False
    """Whether the spread is the smaller of standard deviation and interquartile range / 1.349."""
    principal: bool = False
    """Whether all directions use the standard deviation along the first principal component."""
    spread: float | None = None
    """The shared standard deviation; by default each direction uses its own."""

    def fixed(self, spread: float) -> Self:
        """Return the rule for directions that share a spread."""
        return replace(self, spread=spread)

    @property
    def free(self) -> Self:
        """The same rule with each direction's own spread, as for a single column."""
        return replace(self, principal=False, spread=None)

    def of(self, n: AnyArray | float, sd: AnyArray | float, quartiles: AnyArray | float) -> Floats:
        """Return bandwidths from numbers of rows, standard deviations and interquartile ranges."""
        spread = np.asarray(sd, dtype=np.float64)
        if self.spread is not None:
            spread = np.full_like(spread, self.spread)
        if self.robust:
            quartiles = np.asarray(quartiles, dtype=np.float64)
            spread = np.where(quartiles > 0, np.minimum(spread, quartiles / NORMAL_QUARTILES), spread)
        return self.factor * spread * np.maximum(n, 1) ** -0.2


BANDWIDTHS = {
    "normal": Bandwidth((4 / 3) ** 0.2),
    "multimodal": Bandwidth(0.9),
    "silverman": Bandwidth(0.9, robust=True),
    "principal": Bandwidth(0.9, principal=True),
}
"""``normal``: the normal reference rule of thesis section 6.3.1. ``multimodal``: Silverman's 0.9 for multimodal
densities with the standard deviation of each direction. ``silverman``: the same with the smaller of standard deviation
and interquartile range, which outliers cannot inflate. ``principal``: the same with the standard deviation along the
first principal component, one bandwidth for all directions of a branch (JMLR 17(156) section 5.1.1)."""


def resolve_bandwidth(rule: "str | float | Bandwidth") -> Bandwidth:
    """Return the rule of that name, or ``factor * sd * n ** (-1/5)`` for a number."""
    if isinstance(rule, Bandwidth):
        return rule
    if isinstance(rule, str):
        return BANDWIDTHS[rule]
    return Bandwidth(float(rule))


def spread_of_counts(counts: AnyArray, width: AnyArray) -> tuple[Floats, Floats, Floats]:
    """Return number of rows, standard deviation and interquartile range of stacked histograms.

    counts (..., n_bins): the outermost bins count the rows outside the range and are ignored.
    width (...): width of a bin.
    Returns n, sd, quartiles (...) float64.
    """
    inner = np.asarray(counts)[..., 1:-1]
    bins = np.arange(inner.shape[-1])
    n, below = inner.sum(axis=-1), inner.cumsum(axis=-1)
    safe = np.maximum(n, 1)
    variance = np.maximum((inner @ bins**2) / safe - ((inner @ bins) / safe) ** 2, 0.0)
    between = (0.25 * safe[..., None] <= below) & (below < 0.75 * safe[..., None])
    return n.astype(np.float64), np.sqrt(variance) * width, np.count_nonzero(between, axis=-1) * width
