"""Profiles of clusters: means and standard deviations of the columns, and differences from all other rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._typing import AnyArray, Floats, Integers, cached_property
from ..columns import ColumnTypes
from ..columns.types import date_text
from .moments import Moments
from .tables import MISSING, UNKNOWN, Table, as_precise, bracketed, shortened, text_table

COLUMNS = ("cluster", "rows", "feature", "mean", "sd", "mean of others", "difference")


@dataclass(frozen=True, repr=False)
class Profiles(Table):
    """Means and standard deviations of the columns in every cluster, in the units of the data.

    moments: moments of the columns in every cluster.
    lowest: label of the first cluster: -1 if it holds the rows in no cluster.
    levels: name of the column and level of those entries of `names` that stand for a level of a categorical column;
        None for columns of numbers. Empty if there are no levels. The mean is the frequency of the level.
    words: each cluster in words, as its model says; empty if it does not.
    dates: names of the columns of dates, whose moments are in days.
    """

    names: tuple[str, ...]
    moments: Moments
    lowest: int = 0
    levels: tuple[tuple[str, str] | None, ...] = ()
    words: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

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

    @property
    def in_clusters(self) -> "Profiles":
        """Profiles without the rows in no cluster, which remain among the others."""
        n_rows, *others = self.moments
        first = -self.lowest
        inside = Moments(n_rows[first:], *(part[first:] for part in others))
        return replace(self, moments=inside, lowest=0, words=self.words[first:])

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

    @cached_property
    def lift(self) -> Floats:
        """Frequency of a level in the cluster divided by that in all rows, shape (n_clusters, n_features).

        NaN for columns of numbers and levels without rows.
        """
        of_all = np.nansum(self.mean * self.n_rows[:, None], axis=0) / max(int(self.n_rows.sum()), 1)
        lift = np.divide(self.mean, of_all, out=np.full_like(self.mean, np.nan), where=of_all > 0)
        lift[:, [level is None for level in self.levels] or slice(None)] = np.nan
        return lift

    def top(self, cluster: int, n: int = 5) -> list[int]:
        """Return the columns in which a cluster differs most from all other rows, in descending order."""
        size = np.abs(self.difference[cluster])
        order = np.argsort(-size, kind="stable")
        return [int(i) for i in order[:n] if size[i] > 0]

    def to_text(self, n_top: int = 3) -> str:
        """Return a table of the features in which the clusters differ most from all other rows."""
        return "\n\n".join(text_table(*part) for part in self._parts(n_top))

    def _parts(self, n_top: int = 3) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
        lines: list[list[str]] = []
        nothing = [*"-----", *"-" * bool(self.levels)]
        for cluster in range(self.n_clusters):
            own = [str(cluster + self.lowest), f"{self.n_rows[cluster]:,}"]
            lines += [[*own, *self._cells(cluster, i)] for i in self.top(cluster, n_top)] or [[*own, *nothing]]
        yield COLUMNS + ("lift",) * bool(self.levels), lines

    def _cells(self, cluster: int, feature: int) -> tuple[str, ...]:
        difference = f"{self.difference[cluster, feature]:+z.2f}"
        if self.levels and self.levels[feature] is not None:
            shares = [f"{x:.1%}" for x in (self.mean[cluster, feature], self.mean_of_others[cluster, feature])]
            return self.names[feature], shares[0], "", shares[1], difference, f"{self.lift[cluster, feature]:.2f}"
        own = self.spread(feature, self.mean[cluster, feature], self.sd[cluster, feature])
        others = self.spread(
            feature, self.mean_of_others[cluster, feature], self.moments.sd_of_others[cluster, feature]
        )
        return self.names[feature], *own, others[0], difference, *[""] * bool(self.levels)

    def spread(self, feature: int, mean: float, sd: float) -> tuple[str, str]:
        """Return a mean and a standard deviation of a column of numbers or dates as text."""
        if self.names[feature] in self.dates and not np.isnan(mean):
            return date_text(mean, sd), f"{sd:.2g} days"
        return as_precise(mean, sd)

    def to_records(self) -> list[dict[str, Any]]:
        columns = ("mean", "sd", "mean_of_others", "difference")
        found: list[dict[str, Any]] = []
        for cluster in range(self.n_clusters):
            for i, name in enumerate(self.names):
                level = self.levels[i] if self.levels else None
                own: dict[str, Any] = {"cluster": cluster + self.lowest, "n_rows": int(self.n_rows[cluster])}
                own["feature"] = name if level is None else level[0]
                own |= {column: float(getattr(self, column)[cluster, i]) for column in columns}
                if self.levels:
                    lift = None if level is None else float(self.lift[cluster, i])
                    own |= {"level": level and level[1], "lift": lift}
                found.append(own)
        return found


def with_levels(
    names: Sequence[str], moments: Moments, types: ColumnTypes, counts: Sequence[Integers], lowest: int = 0
) -> Profiles:
    """Return profiles in which the levels of categorical columns that any row has take the place of these columns.

    moments: moments of all columns, those of categorical columns without meaning.
    counts, each (n_clusters, n_levels + 2): the value of `FrequencyPass` for the categorical columns.
    """
    found: list[tuple[str, tuple[str, str] | None, tuple[Any, ...]]] = []
    of_columns = iter(counts)
    for j, name in enumerate(names):
        if types.kinds[j] != "categorical":
            found.append((name, None, tuple(part[:, j] for part in moments[1:])))
            continue
        own = next(of_columns)
        known = types.levels[j] or ()
        for level, n in zip((*known, bracketed(UNKNOWN, known), bracketed(MISSING, known)), own.T):
            if n.any():
                entry = f"{shortened(name)}: {shortened(level)}"
                found.append((entry, (name, level), _of_indicator(n, moments.n_rows)))
    parts = [np.stack(columns, axis=1) for columns in zip(*(part for *_, part in found))]
    levels = tuple(level for _, level, _ in found) if "categorical" in types.kinds else ()
    dates = tuple(name for name, kind in zip(names, types.kinds) if kind == "date")
    return Profiles(tuple(name for name, *_ in found), Moments(moments.n_rows, *parts), lowest, levels, dates=dates)


def entries_of_rows(rows: AnyArray, profiles: Profiles, names: Sequence[str], types: ColumnTypes | None) -> Floats:
    """Return the values of rows in the entries of profiles: 1 where a row has a level, means for missing numbers.

    rows (n, n_features): codes.
    Returns (n, n_entries) float64.
    """
    out = np.empty((len(rows), len(profiles.names)))
    for i, level in enumerate(profiles.levels or (None,) * len(profiles.names)):
        column = rows[:, names.index(profiles.names[i] if level is None else level[0])].astype(np.float64)
        if level is None:
            known = column[~np.isnan(column)]
            out[:, i] = np.where(np.isnan(column), known.mean() if len(known) else 0.0, column)
            continue
        assert types is not None
        known_levels = types.levels[names.index(level[0])] or ()
        if level[1] in known_levels:
            out[:, i] = column == known_levels.index(level[1])
        else:
            out[:, i] = (
                np.isnan(column) if level[1] == bracketed(MISSING, known_levels) else column == len(known_levels)
            )
    return out


def _of_indicator(n: Integers, n_rows: Integers) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean and standard deviation of a level's indicator in every cluster, and of all other rows."""
    moments: list[Floats] = []
    for there, rows in ((n, n_rows), (n.sum() - n, n_rows.sum() - n_rows)):
        share = np.divide(there, rows, out=np.full(len(n), np.nan), where=rows > 0)
        moments += [share, np.sqrt(share * (1 - share))]
    return moments[0], moments[1], moments[2], moments[3]
