"""Weights of rows, and groups of rows that depend on each other, which tests compare instead of the rows."""

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from .._random import generator
from .._storable import storable
from .._typing import AnyArray, Integers, RowArray
from .._words import full_count
from ..chunks import Statistic, is_dask, reduce_rows, repeated_rows
from ..columns.drafts import is_table, keys_of
from ..columns.types import hidden_labels
from ..splits.dependence import LEAST_PARTS, N_PARTS
from .parameters import finite_rows
from .tables import plain_labels, plain_rows

logger = logging.getLogger(__name__)

DEALING = 0x67726F757073
"""Key of the random numbers that deal the groups."""

MOST_GROUPS = 2**20
"""Most groups: their names are in memory."""

FEWEST_GROUPS = 2 * LEAST_PARTS
"""With fewer groups, one half of them or both cannot confirm a split."""


class Parts(NamedTuple):
    """The part of every row."""

    of_rows: RowArray
    """Shape (n_rows,), uint8; lazy for lazy groups."""
    n_groups: int


@storable
class GroupSizes(NamedTuple):
    """The groups in ascending order, and the number of rows in each."""

    names: AnyArray
    n_rows: Integers


@dataclass(frozen=True)
class CountGroups(Statistic):
    """The sizes of all groups."""

    def chunk(self, start: int, *blocks: AnyArray) -> GroupSizes:
        return GroupSizes(*np.unique(names_of(blocks[0], start), return_counts=True))

    def combine(self, left: GroupSizes, right: GroupSizes) -> GroupSizes:
        """Return the groups of two blocks."""
        names, place = np.unique(np.concatenate([left.names, right.names]), return_inverse=True)
        if len(names) > MOST_GROUPS:
            raise ValueError(
                f"expected at most {MOST_GROUPS:,} groups; got more: leave out groups if rows do not depend on others"
            )
        return GroupSizes(names, np.bincount(place, np.concatenate([left.n_rows, right.n_rows])).astype(np.int64))


def without_groups(X: Any, groups: Any, what: str = "groups") -> tuple[Any, Any]:
    """Return a frame without a column that is named, and that column; other values of rows are returned as they are."""
    if not isinstance(groups, str):
        return X, groups
    X, _ = plain_rows(X)
    names = keys_of(X) if is_table(X) else ()
    if groups not in names:
        raise ValueError(f"expected one of the columns of a frame for {what}, or one for each row; got {groups!r}")
    others = [name for name in names if name != groups]
    return X[others] if hasattr(X, "iloc") else X.select(others), X[groups]


def parts_of_groups(groups: Any, n_rows: int, seed: int) -> Parts:
    """Deal groups to parts of about as many rows and return the part of every row; lazy groups are read once."""
    if isinstance(groups, Parts):
        return groups
    groups = plain_labels(groups)
    groups = groups if is_dask(groups) else np.ma.asarray(groups)
    if groups.shape != (n_rows,):
        raise ValueError(f"expected groups of shape ({n_rows},), one for each row; got shape {groups.shape}")
    sizes: GroupSizes = reduce_rows(CountGroups(), groups)
    if len(sizes.names) == 1:
        raise ValueError(
            "expected rows of at least two groups; got a single one, whose rows depend on each other: give more "
            "groups, or leave out groups if rows are independent"
        )
    return parts_of(groups, sizes, seed)


def parts_of(groups: RowArray, sizes: GroupSizes, seed: int) -> Parts:
    """Deal groups of known sizes to parts and return the part of every row."""
    n_groups = len(sizes.names)
    if n_groups < FEWEST_GROUPS:
        few = f"{full_count(n_groups, 'group')} {are_too_few(n_groups)}"
        logger.warning("%s to confirm a split: %s are enough", few, FEWEST_GROUPS)
    look_up = partial(_part_of, sizes.names, dealt(sizes.n_rows, seed))
    return Parts(groups.map_blocks(look_up, dtype=np.uint8) if is_dask(groups) else look_up(groups), n_groups)


def are_too_few(n_groups: int) -> str:
    """Return in words whether less than `FEWEST_GROUPS` groups never confirm a split, or may if dealt unevenly."""
    are = "is" if n_groups == 1 else "are"
    return f"{are if n_groups <= LEAST_PARTS else 'may be'} too few"


def dealt(sizes: Integers, seed: int) -> Integers:
    """Return the part of each group: the largest groups first, to and fro, groups of one size in random order."""
    rng = generator(seed, DEALING)
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    to_and_fro = np.concatenate([np.arange(N_PARTS), np.arange(N_PARTS)[::-1]])
    parts = np.empty(len(sizes), dtype=np.uint8)
    parts[order] = rng.permutation(N_PARTS)[np.resize(to_and_fro, len(sizes))]
    return parts


ON_PIXELS = (
    "pixels were compared as if they were independent, so that patches of smooth noise would be segments, too "
    '(dependence="auto" compares tiles)'
)
"""What the tests of an image compared, if not its tiles."""


def compared(model: Any) -> dict[str, str]:
    """Return what the tests of a model compared, as a fact by its name: nothing for rows that are no pixels."""
    if (groups := groups_in_words(model)) is not None:
        return {"Groups of dependent rows": groups}
    said = on_pixels(model)
    return {"Compared": said[0]} if said else {}


def on_pixels(model: Any) -> list[str]:
    """Return the sentence about pixels that were compared as if they were independent, if they were."""
    return [ON_PIXELS] * (model.pixel_columns_ is not None and model.n_groups_ is None)


def groups_in_words(model: Any) -> str | None:
    """Return how many groups, or which tiles, the tests of a model compared; None if they compared rows."""
    if (n_groups := model.n_groups_) is None:
        return None
    tiles = None if model.pixel_columns_ is None else model.pixel_columns_.tiles
    return full_count(n_groups, "group") if tiles is None else str(tiles)


def names_of(block: Any, start: int = 0) -> AnyArray:
    """Return the groups of a block as numbers or texts that can be compared, or raise an error if any is missing."""
    values, hidden = np.ma.getdata(block), hidden_labels(block)
    if hidden.any():
        row = start + int(hidden.argmax())
        raise ValueError(
            f"expected a group for every row; got none for row {row}: leave such rows out, or give each one of its own"
        )
    return values if values.dtype.kind in "biuf" else values.astype(str)


def _part_of(names: AnyArray, parts: Integers, block: Any) -> Integers:
    return parts[np.searchsorted(names, names_of(block))]


MOST = 1e12
"""Largest sum of weights: every row that another stands for takes time."""


def weighted_rows(estimator: Any, rows: RowArray, weights: Any) -> tuple[RowArray, Integers | None]:
    """Return the rows of `fit`, each as often as its weight says, and the sums of the weights up to each row."""
    if weights is None:
        return rows, None
    if estimator.missing in ("mean", "drop"):
        raise ValueError(
            f"expected missing='error' with sample_weight; got {estimator.missing!r}: fill in the values first"
        )
    if getattr(estimator, "_target", None) is not None:
        raise ValueError("expected sample_weight or labels of some rows; got both: leave one out")
    if estimator.columns is not None:
        raise ValueError(
            "expected columns of numbers with sample_weight; got texts, categories or given kinds: leave out the "
            "weights and repeat the rows"
        )
    tags = get_tags(estimator).input_tags
    if tags.pairwise:
        raise ValueError("expected rows with sample_weight; got a precomputed kernel: repeat its rows and columns")
    ends = np.cumsum(whole_weights(weights, rows.shape[0]))
    if ends[-1] < 2:
        raise ValueError(f"expected weights other than zero with a sum of at least 2; got {ends[-1]}")
    return repeated_rows(finite_rows(rows, tags.allow_nan), ends), ends  # errors name rows of `fit`


def whole_weights(weights: Any, n_rows: int, name: str = "sample_weight") -> Integers:
    """Return weights as whole numbers, after checking that they are; `name` is their name in errors."""
    weights = plain_labels(weights)
    given = np.ma.asarray(weights.compute() if is_dask(weights) else weights)
    values, hidden = np.ma.getdata(given), np.ma.getmaskarray(given)
    if values.shape != (n_rows,):
        raise ValueError(f"expected {name} of shape ({n_rows},), one for each row; got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"expected finite numbers of at least 0 for {name}; got dtype {values.dtype}")
    if not (good := np.isfinite(values) & (values >= 0) & ~hidden).all():
        row = int(good.argmin())
        got = "a masked value" if hidden[row] else values[row]
        raise ValueError(
            f"expected finite numbers of at least 0 for {name}; got {got} in row {row}: correct the weights of "
            f"{full_count(int(np.count_nonzero(~good)), 'row')}, or make them 0 to leave the rows out"
        )
    if (values != np.rint(values)).any() or values.sum(dtype=np.float64) > MOST:
        bad = values[values != np.rint(values)][:1]
        got = f"the fraction {bad[0]:g}" if len(bad) else f"a sum of {values.sum(dtype=np.float64):g}"
        raise ValueError(
            f"expected whole numbers with a sum up to {MOST:g} for {name}, as a weight is the number of equal "
            f"rows that a row stands for, which tests take as independent; got {got}: give counts, not importances"
        )
    return values.astype(np.int64)
