"""What single columns look like before rows are clustered: identifiers, few values, long tails; and what to do then."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._random import any_rows
from .._storable import storable
from .._typing import AnyArray, Floats, Integers
from .._words import full_count
from ..columns import ColumnTypes

MOST_COLUMNS = 100
"""Notes on more columns would say little."""

LOOKED_AT = 10_000
"""Most rows that are looked at."""

FEW = 12
"""Columns of at most so many values, but more than two, are counts or grades."""

REPEATS = 10.0
"""So many equal values are expected among whole numbers of the same range that none is equal: they are identifiers."""

LONG = 2.0
"""A tail is long if the ninth decile is so many times as far above the median as the first one is below."""


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
    if rows.shape[1] <= MOST_COLUMNS:
        some = np.asarray(any_rows(rows, LOOKED_AT), dtype=np.float64)
        for j, column in enumerate(some.T):
            if types is None or types.kinds[j] == "continuous":
                known = column[np.isfinite(column)]
                for own, is_so in zip(found, (_is_identifier(known), _has_few_values(known), _is_skewed(known))):
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
    lines = []
    for own, frame, array, why in (
        (notes.identifiers, "X = X.drop(columns={0})", "X = np.delete(X, {1}, axis=1)", "identifiers are no features"),
        (
            notes.skewed,
            "X = X.assign(**np.log1p(X[{0}]))",
            "X[:, {1}] = np.log1p(X[:, {1}])",
            "a long tail hides what is near its other end",
        ),
    ):
        if len(own):
            code = (frame if of_frame else array).format([names[j] for j in own], own.tolist())
            lines.append(f"{code}  # {why}")
    return lines


def _is_identifier(known: Floats) -> bool:
    whole = len(known) > 1 and bool((known == np.rint(known)).all())
    if not whole or len(np.unique(known)) < len(known):
        return False
    return bool(len(known) ** 2 / (2 * (np.ptp(known) + 1)) >= REPEATS)


def _has_few_values(known: Floats) -> bool:
    return 2 < len(np.unique(known)) <= FEW and len(known) > FEW**2


def _is_skewed(known: Floats) -> bool:
    if not len(known) or known.min() < 0:
        return False
    low, middle, high = np.quantile(known, (0.1, 0.5, 0.9))
    return bool(high - middle > LONG * (middle - low) > 0)
