"""What belongs to stored rows: labels of some of them, their weights and their groups."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from .._errors import SettingError
from .._locations import name_of
from .._typing import RowArray
from ..chunks import holds_compact
from ..columns.coding import kind_of, text_of
from ..columns.types import is_missing
from ..estimators.groups import whole_weights
from ..growth.labelled import UNLABELLED
from ..io import inputs, open_rows
from ..io.csv import is_csv, open_csv
from ..io.npy import load_npy
from ..io.parquet import LABEL, ROW, is_label_table, open_parquet_table
from ..io.tables import LazyTable
from .reading import MissingChunks

HEADER = (ROW, LABEL)
"""First line of a table of labels."""

INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)


def check_labels(estimator: Any, labels: str | None) -> None:
    """Raise a SettingError if an estimator cannot use labels of some rows, or cannot do without."""
    name = type(estimator).__name__
    if labels is None and estimator.uses_labels == "always":
        raise SettingError(
            f"{name} needs labels of some rows: give a file of them, with --labels on the command line, or as labels = "
            "in [input] of a job file for rows"
        )
    if labels is not None and estimator.uses_labels == "never":
        able = _methods(lambda cls: cls.uses_labels != "never")
        raise SettingError(f"{name} has no use for labels of rows: leave out {labels}, or take one of {able}")


def _methods(able: Callable[[Any], bool]) -> str:
    """Return the names of the methods that can do something."""
    from ..estimators.registry import all_methods  # imported late: with all estimators

    return ", ".join(name for name, cls in all_methods().items() if able(cls))


def _takes(cls: type, parameter: str) -> bool:
    return parameter in signature(cls.fit).parameters  # type: ignore[attr-defined]


def open_labels(path: str, n_rows: int) -> RowArray:
    """Open labels of rows: lazily from an array, or from a table of the few rows that have one.

    The path or URL is that of a Zarr array or a ``.npy`` file of integers, -1 for rows without a label, shape
    (n_rows,); or of a CSV or Parquet file with the columns ``row,label``, numbers of rows from 0, and labels of any
    text.
    Raises a ValueError if the labels are not those of `n_rows` rows, or a table has other contents.
    """
    try:
        if is_csv(name_of(path)) or is_label_table(path):
            return _of_table(path, n_rows)
        labels = load_npy(path) if inputs.kind_of(path) == "npy" else open_rows(path, ndim=1)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there are no labels at {path}: known labels of some rows are read there; --out writes labels"
        ) from None
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"expected {n_rows} integers, one for each row, in {path}; got {labels.dtype} of shape {labels.shape}. For "
            "few labels a .csv file with the columns row,label is enough"
        )
    return labels


def _of_table(path: str, n_rows: int) -> RowArray:
    """Return the labels of a table as integers if all are, otherwise as texts."""
    table = open_csv(path, as_written=True) if is_csv(name_of(path)) else open_parquet_table(path)
    if (first := tuple(table.column_names)) != HEADER:
        raise ValueError(f"expected the header row,label in {path}; got {','.join(first)!r:.80}")
    known: dict[int, str] = {}
    for i, (row, label) in enumerate(_pairs(table)):
        if not INTEGER.fullmatch(row) or not 0 <= int(row) < n_rows or not label:
            raise ValueError(
                f"expected a row from 0 to {n_rows - 1} and its label in line {i + 2} of {path}; got "
                f"{f'{row},{label}'!r:.80}"
            )
        if known.setdefault(int(row), label) != label:
            raise ValueError(f"expected one label for each row in {path}; row {row} has several")
    texts = np.array(list(known.values()), dtype=str)
    if all(INTEGER.fullmatch(text) for text in known.values()):
        labels = np.full(n_rows, UNLABELLED, dtype=np.int64)
        labels[list(known)] = texts.astype(np.int64)
        return labels
    named = np.full(n_rows, "", dtype=texts.dtype)
    named[list(known)] = texts
    return named


def _pairs(table: LazyTable) -> Iterator[tuple[str, str]]:
    """Yield the values of two columns as texts, without spaces around them; missing ones are empty."""
    for block in table.tables(HEADER).compute(scheduler="synchronous"):  # workers may not have the file
        columns = [block.column(name).to_pylist() for name in HEADER]
        yield from zip(*(["" if is_missing(v) else text_of(v).strip() for v in column] for column in columns))


class RowsBeside(NamedTuple):
    """What is known of rows besides their columns."""

    labels: RowArray | None = None
    weights: RowArray | None = None
    """Lazy until `read`."""
    weights_from: str = ""
    """Where they come from, in words."""
    groups: RowArray | None = None
    ids: RowArray | None = None
    id_name: str = ROW
    id_type: Any = None
    """The Arrow type of the ids, if their column has one."""
    texts: RowArray | None = None

    def read(self) -> "RowsBeside":
        """Return the same with the weights in memory as integers, after the current cluster has read them."""
        if self.weights is None:
            return self
        source = f"the weights in {self.weights_from}"
        return self._replace(weights=whole_weights(self.weights, len(self.weights), source))

    def for_fit(self) -> dict[str, Any]:
        """Return the parameters of `fit` for those that are there."""
        given = {"y": self.labels, "sample_weight": self.weights, "groups": self.groups}
        return {name: value for name, value in given.items() if value is not None}

    def facts(self) -> dict[str, str]:
        """Return what a report says of the weights, once they are read."""
        if self.weights is None:
            return {}
        counts = "the model counts them, profiles count every row once"
        return {"Weights": f"{self.weights_from}, a sum of {self.weights.sum():,}; {counts}"}


@dataclass(frozen=True)
class StoredBeside:
    """Where what belongs to stored rows is: labels of some of them, their weights and their groups."""

    labels: str | None = None
    """Path or URL; see `open_labels`."""
    weight_column: str | int | None = None
    """Column with the weights: a name in a table, otherwise a number from 0."""
    groups: str | int | None = None
    """Column that names the group of each row; rows of one group may depend on each other."""
    missing_chunks: MissingChunks = "error"
    """As for the rows."""
    id_column: str | int | None = None
    """Column that names each row in a table of labels."""
    text_column: str | int | None = None
    """Column with a text for each row, whose words name the clusters."""

    def check(self, estimator: Any) -> None:
        """Raise a SettingError if an estimator does not take these, or some exclude others."""
        check_labels(estimator, self.labels)
        if self.weight_column is not None and self.labels is not None:
            raise SettingError("expected weights of rows or labels of some of them; got both: leave one out")
        if self.groups is not None:
            if self.weight_column is not None:
                raise SettingError("expected weights of rows or their groups; got both: leave one out")
            check_groups(estimator)

    def clustered(self, features: str, columns: Sequence[str | int] | None) -> Sequence[str | int] | None:
        """Return the columns to cluster: those asked for, by default all but those of weights and groups."""
        named = {"weights": self.weight_column, "groups": self.groups, "ids": self.id_column, "texts": self.text_column}
        own = {what: str(n) for what, n in named.items() if n is not None}
        if not own:
            return columns
        there = list(map(str, inputs.column_names(features, self.missing_chunks)))
        for what, name in own.items():
            if name not in there:
                raise SettingError(f"expected one of the columns {', '.join(there):.300} for the {what}; got {name}")
            if columns is not None and name in map(str, columns):
                raise SettingError(
                    f"expected {what} in a column that is not clustered; got {name} for both: leave it out"
                )
        if columns is not None:
            return columns
        if not (others := [name for name in there if name not in own.values()]):
            raise SettingError(
                f"expected other columns than that of the {' and '.join(own)}; got only {', '.join(there)} in "
                f"{features}"
            )
        return others

    def open(self, features: str, n_rows: int) -> RowsBeside:
        """Return what there is of so many rows."""
        labels = None if self.labels is None else open_labels(self.labels, n_rows)
        weights, source = None, f"the column {self.weight_column} of {features}"
        if self.weight_column is not None:
            named = [self.weight_column]
            table = inputs.open_typed(features, named, missing_chunks=self.missing_chunks)
            if isinstance(table, inputs.TypedTable):
                kind = table.source[table.names[0]].type
                if kind_of(kind) not in "biuf":
                    raise SettingError(f"expected numbers for the weights; got {kind} in {source}: name another column")
                table = inputs.open_features(features, named)
            weights = _column_of(table.rows)
        groups, _ = self._column(features, self.groups)
        ids, id_type = self._column(features, self.id_column)
        texts, _ = self._column(features, self.text_column)
        id_name = ROW if self.id_column is None else str(self.id_column)
        return RowsBeside(labels, weights, source, groups, ids, id_name, id_type, texts)

    def _column(self, features: str, name: str | int | None) -> tuple[RowArray | None, Any]:
        """Return the values of a column, and its type of Arrow if it has one."""
        if name is None:
            return None, None
        table = inputs.open_typed(features, [name], missing_chunks=self.missing_chunks, as_written=True)
        if not isinstance(table, inputs.TypedTable):
            return _column_of(table.rows), None
        source, (own,) = table.source, table.names
        assert source.n_rows is not None
        return source.rows(_texts, [own], source.n_rows, np.dtype(object))[:, 0], source[own].type


def check_ids(id_column: str | int | None, labels: str | None) -> None:
    """Raise a SettingError if a column names rows, but labels are not written beside it, or have its name."""
    if str(id_column) == LABEL:
        raise SettingError(f"expected another name than {LABEL}, that of the labels, for the column of ids: rename it")
    if id_column is not None and (labels is None or not is_label_table(labels)):
        raise SettingError(
            f"expected labels in Parquet, as labels.parquet, beside the column {id_column}; got {labels or 'none'}"
        )


def check_groups(estimator: Any) -> None:
    """Raise a SettingError if an estimator, or one of its parameters, does not take groups of dependent rows."""
    if not _takes(type(estimator), "groups"):
        raise SettingError(
            f"{type(estimator).__name__} compares rows, and not groups of dependent rows: take one of "
            f"{_methods(lambda cls: _takes(cls, 'groups'))}"
        )
    try:
        estimator._check_parameters()
        estimator._check_groups()
    except ValueError as error:
        raise SettingError(str(error)) from error


def _texts(table: Any) -> Any:
    """Return the only column of a table of Arrow."""
    return np.array(table.column(0).to_pylist(), dtype=object)[:, None]


def _column_of(rows: RowArray) -> RowArray:
    """Return the only column of rows, of which blocks may be compact."""
    if holds_compact(rows):
        rows = rows.map_blocks(lambda block: block.dense(), dtype=rows.dtype, meta=np.empty((0, 0), rows.dtype))
    return rows[:, 0]
