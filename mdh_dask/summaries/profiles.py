"""Profiles of clusters: means and standard deviations of the columns, and differences from all other rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Floats, Integers
from .moments import Moments

COLUMNS = ("cluster", "rows", "feature", "mean", "sd", "mean of others", "difference")


@dataclass(frozen=True)
class Profiles:
    """Means and standard deviations of the columns in every cluster, in the units of the data.

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    moments : Moments
        Moments of the columns in every cluster.
    lowest : int
        Label of the first cluster: -1 if it holds the rows in no cluster.

    Examples
    --------
    >>> from mdh_dask.summaries.moments import MomentPass
    >>> rows, labels = np.array([[1.0, 5.0], [3.0, 5.0], [9.0, 7.0], [11.0, 7.0]]), np.array([0, 0, 1, 1])
    >>> of_clusters = MomentPass(2, rows[0])
    >>> profiles = Profiles(("height", "width"), of_clusters.finalise(of_clusters.chunk(0, labels, rows)))
    >>> profiles.mean.tolist(), profiles.sd.tolist()
    ([[2.0, 5.0], [10.0, 7.0]], [[1.0, 0.0], [1.0, 0.0]])
    >>> [profiles.names[i] for i in profiles.top(1)], profiles.difference[1, 0]
    (['width', 'height'], np.float64(8.0))
    """

    names: tuple[str, ...]
    moments: Moments
    lowest: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.moments.n_rows)

    @property
    def n_rows(self) -> Integers:
        """Number of rows in every cluster, shape (n_clusters,)."""
        return self.moments.n_rows

    @property
    def mean(self) -> Floats:
        """Means, shape (n_clusters, n_features); NaN for a cluster without rows."""
        return self.moments.mean

    @property
    def sd(self) -> Floats:
        """Standard deviations, shape (n_clusters, n_features)."""
        return self.moments.sd

    @property
    def mean_of_others(self) -> Floats:
        """Means of the rows outside the cluster, shape (n_clusters, n_features)."""
        return self.moments.mean_of_others

    @cached_property
    def difference(self) -> Floats:
        """Standardised difference between the means of the cluster and all other rows, shape (n_clusters, n_features).

        Cohen's d, in units of the pooled standard deviation; infinite where both are constant.
        """
        share = (self.n_rows / max(int(self.n_rows.sum()), 1))[:, None]
        pooled = np.sqrt(share * self.sd**2 + (1 - share) * self.moments.sd_of_others**2)
        gap = self.mean - self.mean_of_others
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap / pooled)

    def top(self, cluster: int, n: int = 5) -> list[int]:
        """Return the columns in which a cluster differs most from all other rows, in descending order."""
        size = np.abs(self.difference[cluster])
        order = np.argsort(-size, kind="stable")
        return [int(i) for i in order[:n] if size[i] > 0]

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict for every cluster and feature, for ``pandas.DataFrame``."""
        return list(self._records())

    def to_text(self, n_top: int = 3) -> str:
        """Return a table of the features in which the clusters differ most from all other rows."""
        lines: list[tuple[str, ...]] = [COLUMNS]
        for cluster in range(self.n_clusters):
            own = str(cluster + self.lowest), f"{self.n_rows[cluster]:,}"
            lines += [(*own, *self._cells(cluster, i)) for i in self.top(cluster, n_top)] or [(*own, *"-----")]
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)

    def _cells(self, cluster: int, feature: int) -> tuple[str, ...]:
        own = as_precise(self.mean[cluster, feature], self.sd[cluster, feature])
        others = as_precise(self.mean_of_others[cluster, feature], self.moments.sd_of_others[cluster, feature])
        return self.names[feature], *own, others[0], f"{self.difference[cluster, feature]:+.2f}"

    def _records(self) -> Iterator[dict[str, Any]]:
        for cluster in range(self.n_clusters):
            for i, name in enumerate(self.names):
                yield {
                    "cluster": cluster + self.lowest,
                    "n_rows": int(self.n_rows[cluster]),
                    "feature": name,
                    "mean": float(self.mean[cluster, i]),
                    "sd": float(self.sd[cluster, i]),
                    "mean_of_others": float(self.mean_of_others[cluster, i]),
                    "difference": float(self.difference[cluster, i]),
                }


def as_precise(mean: float, sd: float) -> tuple[str, str]:
    """Return a mean and a standard deviation as text, rounded to two digits of the deviation.

    Examples
    --------
    >>> as_precise(1234.567, 8.9), as_precise(0.001234, 0.00021), as_precise(2.0, 0.0), as_precise(1.7e9, 60.0)
    (('1,234.6', '8.9'), ('0.00123', '0.00021'), ('2', '0'), ('1,700,000,000', '60'))
    """
    if not sd > 0 or not 1e-4 < max(abs(mean), sd) < 1e12 or sd < 1e-8:
        return f"{mean:.4g}", f"{sd:.2g}"
    digits = max(1 - int(np.floor(np.log10(sd))), 0)
    return f"{mean:,.{digits}f}", f"{sd:,.{digits}f}"
