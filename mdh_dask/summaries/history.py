"""Names of clusters that stay from night to night, and what became of each: born, split, merged or died."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._state import checked_array
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from .tables import Records

KINDS = ("born", "stays", "split", "merged", "died")
"""What may become of a cluster in a night; a cluster that splits from another is new, one that merges ends."""

BORN, STAYS, SPLIT, MERGED, DIED = range(len(KINDS))

REMEMBERED, MOST_VALUES = 1000, 2**15
"""Most rows that a history remembers, the last ones, and most of their values."""

MOST_CHANGE = 0.5
"""A place with at most this part of its present share of the rows was not there before: the majority is new."""


@storable
@dataclass(frozen=True, repr=False)
class History(Records):
    """The ids of clusters, and the table of events.

    ids (n_clusters,) int64: the id of each cluster, by its label; an id is never given again.
    n_ids: number of ids that were given.
    events (n_events, 4) int64: night, kind (an index of `KINDS`), id, and the id of the parent of a split or of the
        cluster that a merge leaves, otherwise -1. Nights are numbered from 0.
    counts (n_events, 2) int64: rows of the cluster in the night, and rows of the night; of one that merged or died, by
        the model before; -1 if not known, as where a model of the first night has counted a sample only.
    shares (n_events, 2) float64: share of the rows of the night before, and of this night, at the place of the cluster;
        NaN if not known.
    p_values (n_events,) float64: adjusted p-value of what sets a new cluster apart; NaN for other events, or without a
        test.
    remembered (n_rows, n_features): some rows of the last night; none if they are not known.
    """

    ids: Integers
    n_ids: int
    events: Integers
    counts: Integers
    shares: Floats
    p_values: Floats
    remembered: AnyArray

    @classmethod
    def begun(cls, sizes: Integers | None, p_values: Floats, remembered: AnyArray) -> Self:
        """Return the history of the first night, in which all clusters are born; without sizes, counts are unknown."""
        n, empty = len(p_values), np.empty((0, 2))
        none = cls(np.arange(n), n, np.empty((0, 4), int), empty.astype(int), empty, np.empty(0), _few(remembered))
        nights, shares, counts = np.zeros(n, dtype=np.int64), np.full((n, 2), np.nan), np.full((n, 2), -1)
        events = np.column_stack([nights, nights + BORN, none.ids, nights - 1])
        if sizes is not None:
            counts[:, 0], counts[:, 1], shares[:, 1] = sizes, sizes.sum(), sizes / max(int(sizes.sum()), 1)
        return none._with(events, counts, shares, p_values)

    @property
    def night(self) -> int:
        """The last night."""
        return int(self.events[-1, 0]) if len(self.events) else 0

    def changes(self) -> dict[str, int]:
        """Return how many clusters were born, split, merged and died in the last night."""
        last = self.events[self.events[:, 0] == self.night, 1]
        return {name: int(np.sum(last == kind)) for kind, name in enumerate(KINDS) if kind != STAYS}

    def to_records(self) -> list[dict[str, Any]]:
        return [
            {"night": night, "event": KINDS[kind], "id": own, "other": other if other >= 0 else None,
             "rows": rows if rows >= 0 else None, "rows_of_night": total if total >= 0 else None,
             "share_before": before, "share": share, "p_value": p_value}
            for (night, kind, own, other), (rows, total), (before, share), p_value in zip(
                self.events.tolist(), self.counts.tolist(), self.shares.tolist(), self.p_values.tolist()
            )
        ]  # fmt: skip

    def followed(
        self,
        now: Integers,
        before: Integers | None,
        p_values: Floats,
        remembered: AnyArray,
        counted: Integers | None = None,
        least: int = 0,
    ) -> Self:
        """Return the history with a further night.

        now (n_old, n_new) int: rows of the night in each old and each new cluster.
        before (n_old, n_new) int: the same of rows of the night before; without them, all new clusters that do not stay
            split from others.
        p_values (n_new,): of what sets each new cluster apart.
        remembered (n_rows, n_features): rows of the night.
        counted (n_old, n_new) int: the same of the rows that decide, if those of the night are too few: with some of
            the nights before.
        least: new places with fewer of these rows are no clusters of the night, though the model keeps them.

        An old and a new cluster are the same if each has its largest overlap with the other: the lesser of the shares
        of both nights, so that neither a new place nor an empty one counts. Another new cluster is born if its place
        had less than half of its present share, otherwise it split from the old one in which most of it lies; an old
        one died if it has less than half of its share, otherwise it merged. An old cluster without rows in `before` had
        the share that was counted then, where its rows of the night are. A place that is no cluster keeps the id of one
        that has ended; if rows come back there, a cluster is born.
        """
        known = before is not None and before.any()
        counted = now if counted is None else counted
        after, there = _shares(counted), counted.sum(axis=0) >= least
        past, lived = _shares(before) if known and before is not None else _shares(now), self._lived()
        unseen = lived & ~past.any(axis=1)  # few rows are remembered, and all may be in other clusters
        held, counted_then = after.sum(axis=1), self._last_shares()
        change = np.divide(counted_then, held, out=np.ones(len(held)), where=(held > 0) & ~np.isnan(counted_then))
        past[unseen] = after[unseen] * change[unseen, None]
        both = np.where(lived[:, None] & there, np.minimum(past, after), 0.0)
        heir, origin = both.argmax(axis=1), both.argmax(axis=0)
        stays = {old: new for old, new in enumerate(heir.tolist()) if origin[new] == old and both[old, new] > 0}
        seen = past + after
        ids, n_ids, night = np.full(now.shape[1], -1), self.n_ids, self.night + 1
        ids[list(stays.values())] = self.ids[list(stays)]
        rows, total, events, shares = now.sum(axis=0), int(now.sum()), [], []
        for new in np.flatnonzero(there).tolist():
            kind, other = STAYS, -1
            if ids[new] < 0:
                kind = BORN if past[:, new].sum() <= MOST_CHANGE * after[:, new].sum() else SPLIT
                other = -1 if kind == BORN else int(self.ids[seen[:, new].argmax()])
                ids[new], n_ids = n_ids, n_ids + 1
            events.append((night, kind, ids[new], other, rows[new], total))
            shares.append((past[:, new].sum(), after[:, new].sum()))
        for old in sorted({*np.flatnonzero(lived).tolist()} - stays.keys()):
            kind = DIED if after[old].sum() <= MOST_CHANGE * past[old].sum() else MERGED
            other = -1 if kind == DIED else int(ids[np.where(there, seen[old], -1).argmax()])
            events.append((night, kind, self.ids[old], other, now[old].sum(), total))
            shares.append((past[old].sum(), after[old].sum()))
        ended = [old for old in range(len(now)) if old not in stays]
        for new in np.flatnonzero(~there).tolist():
            if ended:
                ids[new] = self.ids[ended.pop(int(seen[ended, new].argmax()))]
            else:
                ids[new], n_ids = n_ids, n_ids + 1
        table = np.array(events, dtype=np.int64).reshape(-1, 6)
        tests = np.append(p_values[there], np.full(len(table) - there.sum(), np.nan))
        tests[~np.isin(table[:, 1], (BORN, SPLIT))] = np.nan
        told = np.array(shares).reshape(-1, 2) * [1.0 if known else np.nan, 1.0]
        later = replace(self, ids=ids, n_ids=n_ids, remembered=_few(remembered))
        return later._with(table[:, :4], table[:, 4:], told, tests)

    def _last_shares(self) -> Floats:
        """Return the share of each cluster among the rows of the last night; NaN where it is not known."""
        last, of_id = self.events[:, 0] == self.night, np.full(self.n_ids, np.nan)
        rows, total = self.counts[last].T
        of_id[self.events[last, 2]] = np.where(rows >= 0, rows / total.clip(min=1), np.nan)
        return of_id[self.ids]

    def _lived(self) -> Booleans:
        """Return which clusters were there in the last night; of a place without rows a model may keep the id."""
        last = self.events[(self.events[:, 0] == self.night) & (self.events[:, 1] <= SPLIT), 2]
        return np.isin(self.ids, last)

    def _with(self, events: Integers, counts: Integers, shares: Floats, p_values: Floats) -> Self:
        return replace(
            self,
            events=np.concatenate([self.events, events]),
            counts=np.concatenate([self.counts, counts]),
            shares=np.concatenate([self.shares, shares]),
            p_values=np.concatenate([self.p_values, p_values]),
        )

    def check_clusters(self, n_clusters: int) -> None:
        """Raise a ValueError unless this is the history of so many clusters."""
        if len(self.ids) != n_clusters:
            raise ValueError(f"expected a history of {n_clusters} clusters; got one of {len(self.ids)}")

    def check(self) -> None:
        """Raise a ValueError unless a night could have left this history."""
        n = len(self.events)
        for name, shape, least in (
            ("ids", (len(self.ids),), 0), ("events", (n, 4), -1), ("counts", (n, 2), -1),
        ):  # fmt: skip
            checked_array(name, getattr(self, name), shape, least)
            if getattr(self, name).dtype != np.int64:
                raise ValueError(f"expected int64 for the array {name}, got {getattr(self, name).dtype}")
        if self.shares.shape != (n, 2) or self.p_values.shape != (n,) or self.remembered.ndim != 2:
            raise ValueError(f"expected shares and p-values of {n} events, and rows; got arrays of other shapes")
        named = np.append(self.ids, self.events[:, 2:])
        if (self.events[:, 1] >= len(KINDS)).any() or (named >= self.n_ids).any():
            raise ValueError(f"expected kinds of events and {self.n_ids} ids; got others")
        if len(np.unique(self.ids)) < len(self.ids):
            raise ValueError("expected one id for each cluster; got some twice")


def _few(rows: AnyArray) -> AnyArray:
    """Return the first rows, as many as a history remembers."""
    return rows[: min(REMEMBERED, MOST_VALUES // max(rows.shape[1], 1))]


def _shares(counts: Integers) -> Floats:
    return np.asarray(counts / max(int(counts.sum()), 1), dtype=np.float64)
