"""Clusters in words: ranges and levels of the columns in which they differ most from others and from their sibling."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from .._random import any_rows
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers
from .._words import full_count, percent
from ..columns import ColumnTypes
from ..columns.types import date_text
from .tables import MISSING, UNKNOWN, as_precise, shortened


@storable
class ColumnNotes(NamedTuple):
    """Numbers of columns that may hide clusters, or be taken for them."""

    identifiers: Integers
    few: Integers
    skewed: Integers

    def check(self) -> None:
        """Raise a ValueError unless these are numbers of columns."""
        if any(part.ndim != 1 or part.dtype.kind != "i" or (part < 0).any() for part in self):
            raise ValueError("expected numbers of columns in notes")


def notes_on(rows: AnyArray, types: ColumnTypes | None = None) -> ColumnNotes:
    """Return notes on the columns of numbers of a sample of rows."""
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    if rows.shape[1] <= 100:  # notes on more would say little
        some = np.asarray(any_rows(rows, 10_000), dtype=np.float64)
        for j, column in enumerate(some.T):
            if types is None or types.kinds[j] == "continuous":
                known = column[np.isfinite(column)]
                # Counts or grades; the first rows are enough for all others, as a sort takes time.
                few = len(known) > 144 and len(np.unique(known[:144])) <= 12 and 2 < len(np.unique(known)) <= 12
                for own, is_so in zip(found, (_is_identifier(known), few, _is_skewed(known))):
                    if is_so:
                        own.append(j)
                        break
    return ColumnNotes(*(np.array(own, dtype=np.int64) for own in found))


def columns_in_words(notes: ColumnNotes | None, names: Sequence[str], types: ColumnTypes | None) -> str:
    """Return in a line which columns were taken as what, and what is striking about them.

    Examples
    --------
    >>> types = ColumnTypes(("continuous", "categorical", "continuous"), (None, ("a", "b"), None))
    >>> notes = ColumnNotes(*(np.array(own, dtype=int) for own in ([0], [], [2])))
    >>> columns_in_words(notes, ["id", "cut", "price"], types)
    '2 columns of numbers, 1 categorical column (cut); id: perhaps an identifier; price: a long tail'
    """
    kinds = ["continuous"] * len(names) if types is None else list(types.kinds)
    said = [f"{full_count(kinds.count('continuous'), 'column')} of numbers"] * ("continuous" in kinds)
    for kind in ("ordinal", "categorical", "date"):
        own = [name for name, one in zip(names, kinds) if one == kind]
        said += [f"{full_count(len(own), f'{kind} column')} ({', '.join(own)})"] * bool(own)
    striking = [
        f"{', '.join(names[j] for j in own)}: {what}"
        for own, what in zip(notes or (), ("perhaps an identifier", "few values", "a long tail"))
        if len(own)
    ]
    return "; ".join([", ".join(said), *striking])


def remedies(notes: ColumnNotes | None, names: Sequence[str], of_frame: bool) -> list[str]:
    """Return lines of code that leave out identifiers, and take the logarithm of columns with a long tail."""
    if notes is None:
        return []
    identifiers, skewed = (
        [names[j] for j in own] if of_frame else own.tolist() for own in (notes.identifiers, notes.skewed)
    )
    lines = []
    if identifiers:
        code = f"X = X.drop(columns={identifiers})" if of_frame else f"X = np.delete(X, {identifiers}, axis=1)"
        lines.append(f"{code}  # identifiers are no features")
    if skewed:
        code = f"X = X.assign(**np.log1p(X[{skewed}]))" if of_frame else f"X[:, {skewed}] = np.log1p(X[:, {skewed}])"
        lines.append(f"{code}  # a long tail hides what is near its other end")
    return lines


def _is_identifier(known: Floats) -> bool:
    whole = len(known) > 1 and bool((known == np.rint(known)).all())
    if not whole or len(np.unique(known)) < len(known):
        return False
    return bool(len(known) ** 2 / (2 * (np.ptp(known) + 1)) >= 10.0)  # equal values expected by chance


def _is_skewed(known: Floats) -> bool:
    if not len(known) or known.min() < 0:
        return False
    low, middle, high = np.quantile(known, (0.1, 0.5, 0.9))
    return bool(high - middle > 2.0 * (middle - low) > 0)


NEARLY_ALL = 0.995

MOST_COLUMNS = 1000
"""Rows of more columns are not described."""

SEEN = 1000
"""Rows that show which values of a column are far: these count as the nearest that are not."""


class Entry(NamedTuple):
    """A column of numbers, or the indicator of a level or of missing values."""

    column: int
    level: str | None
    values: Floats


class _Moments(NamedTuple):
    """Numbers, sums and sums of squares of the values of entries in each cluster, shape (n_clusters, n_entries)."""

    n: Floats
    total: Floats
    squares: Floats

    def of(self, clusters: Integers | Booleans) -> tuple[Floats, Floats]:
        """Return the means and variances in some clusters together; NaN without values."""
        n, total, squares = (part[clusters].sum(axis=0) for part in self)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / n
            return mean, np.maximum(squares / n - mean**2, 0.0)

    def apart(self, cluster: int, others: Integers | Booleans) -> Floats:
        """Return the difference between the means of a cluster and of others, in their mean standard deviation."""
        (mean, variance), (mean_of_others, variance_of_others) = self.of(np.array([cluster])), self.of(others)
        gap, pooled = mean - mean_of_others, np.sqrt((variance + variance_of_others) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Both clusters may lack a column.
            return np.nan_to_num(np.where(np.abs(gap) < 1e-9, 0.0, gap / pooled), nan=0.0)


def clusters_in_words(
    rows: AnyArray, labels: Integers, siblings: Sequence[Collection[int] | Integers], types: ColumnTypes | None = None
) -> tuple[str, ...]:
    """Return each cluster in words that no other one has, as far as its rows differ; empty without rows.

    Columns are numbers in brackets, for which `named` puts names.

    rows (n, n_features): a sample of rows; codes if there are types. NaN is missing.
    labels (n,): clusters from 0; rows with the label -1 are in none.
    siblings: for each cluster, those on the other side of the last split above it.
    """
    n_clusters = len(siblings)
    inside = labels >= 0
    rows, labels = rows[inside].astype(np.float64), labels[inside]
    if n_clusters < 2 or rows.shape[1] > MOST_COLUMNS:
        return ()
    entries = _entries(rows, types)
    moments = _moments(entries, labels, n_clusters)
    there = np.bincount(labels, minlength=n_clusters) > 0
    words: list[tuple[str, ...]] = [()] * n_clusters
    orders: dict[int, list[int]] = {}
    for c in np.flatnonzero(there).tolist() if np.count_nonzero(there) > 1 else ():
        others = there & (np.arange(n_clusters) != c)
        beside = np.fromiter(siblings[c], dtype=np.int64)
        beside = beside[others[beside]]
        orders[c] = _order(entries, moments.apart(c, others), moments.apart(c, beside if len(beside) else others))
    alike = [*orders]
    while alike:  # those that read the same get one more column
        for c in alike:
            more = orders[c][len(words[c]) :][: 1 if words[c] else 3]
            words[c] += tuple(_said(entries[i], rows[labels == c], types) for i in more)
        times = Counter(words)
        alike = [c for c in alike if times[words[c]] > 1 and len(words[c]) < len(orders[c])]
    return tuple(", ".join(own) for own in words)


def named(words: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return words with the names of columns in place of their numbers."""

    def name(match: re.Match[str]) -> str:
        return shortened(names[int(match[1])]) if int(match[1]) < len(names) else match[0]

    return tuple(re.sub(r"⟨([0-9]{1,6})⟩", name, text) for text in words)


def _order(entries: list[Entry], apart: Floats, beside: Floats) -> list[int]:
    """Return the entries by how much they tell: the best against all others, the best beside the sibling, the rest."""
    by_others, by_sibling = (np.argsort(-np.abs(d), kind="stable").tolist() for d in (apart, beside))
    found: list[int] = []
    for i in [by_others[0], by_sibling[0], *by_others]:
        telling = abs(apart[i]) >= 0.5 or abs(beside[i]) >= 0.5  # in standard deviations
        if entries[i].column not in {entries[k].column for k in found} and (telling or not found):
            found.append(i)
    return found


def _entries(rows: Floats, types: ColumnTypes | None) -> list[Entry]:
    found: list[Entry] = []
    for j, column in enumerate(rows.T):
        absent = np.isnan(column)
        is_coded = types is not None and types.kinds[j] == "categorical"
        if is_coded or len(np.unique(column[~absent][:SEEN])) <= 2:
            for code in np.unique(column[~absent]):
                found.append(Entry(j, _level(types, j, float(code)), (column == code).astype(np.float64)))
        else:
            seen = column[~absent][:SEEN]
            found.append(Entry(j, None, np.clip(column, *np.quantile(seen, (0.01, 0.99)))))
        if absent.any():
            found.append(Entry(j, MISSING, absent.astype(np.float64)))
    return found


def _level(types: ColumnTypes | None, column: int, code: float) -> str:
    levels = None if types is None else types.levels[column]
    if types is not None and types.kinds[column] == "date":
        return date_text(code)
    if levels is None:
        return str(int(code)) if code.is_integer() else f"{code:.12g}"
    return levels[int(code)] if int(code) < len(levels) else UNKNOWN


def _moments(entries: list[Entry], labels: Integers, n_clusters: int) -> _Moments:
    """Return the moments of standardised columns, so that squares do not lose digits, and rounding is told."""
    columns = []
    for entry in entries:
        known: Booleans = ~np.isnan(entry.values)
        own, values = labels[known], entry.values[known]
        values = (values - values.mean()) / (values.std() or 1.0) if len(values) else values
        columns.append([np.bincount(own, weights, n_clusters) for weights in (np.ones(len(own)), values, values**2)])
    return _Moments(*np.array(columns).transpose(1, 2, 0))


def _said(entry: Entry, own: Floats, types: ColumnTypes | None) -> str:
    """Return what the rows of a cluster have in a column: of levels the most frequent one, or that they lack it."""
    name, column = f"⟨{entry.column}⟩", own[:, entry.column]
    if entry.level == MISSING:
        return f"{name} {_often('missing', float(np.isnan(column).mean()))}"
    column = column[~np.isnan(column)]
    if entry.level is not None:
        codes, counts = np.unique(column, return_counts=True)
        if not counts.sum() > len(own) - counts.sum():
            return f"{name} {_often('missing', 1 - counts.sum() / len(own))}"
        most = int(counts.argmax())
        level = shortened(_level(types, entry.column, float(codes[most])))
        return f"{name}: {_often(level, counts[most] / len(own))}"
    if not len(column):
        return f"{name} missing"
    ends = np.quantile(column, (0.1, 0.9))
    if types is not None and types.levels[entry.column] is not None:
        low, high = (shortened(_level(types, entry.column, float(round(end)))) for end in ends)
    elif types is not None and types.kinds[entry.column] == "date":
        low, high = (date_text(float(end), float(np.ptp(ends))) for end in ends)
    else:
        low, high = (as_precise(float(end), float(np.ptp(ends)) / 2)[0] for end in ends)
    return f"{name} {low}" if low == high else f"{name} {low} to {high}"


def _often(what: str, share: float) -> str:
    if share <= 1 - NEARLY_ALL:
        return f"not {what}"
    return what if share >= NEARLY_ALL else f"{what} ({percent(share)})"
