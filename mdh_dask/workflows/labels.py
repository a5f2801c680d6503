"""Files of labels for some of the rows."""

import csv
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

import fsspec  # type: ignore[import-untyped, unused-ignore]
import numpy as np

from .._errors import SettingError
from .._locations import name_of
from .._typing import RowArray
from ..growth.labelled import UNLABELLED
from ..io import inputs, open_rows
from ..io.npy import load_npy

HEADER = ("row", "label")
"""First line of a table of labels."""

INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)


def check_labels(estimator: Any, labels: str | None) -> None:
    """Raise an error if an estimator cannot use labels of some rows, or cannot do without.

    Raises
    ------
    SettingError
    """
    name = type(estimator).__name__
    if labels is None and estimator.uses_labels == "always":
        raise SettingError(
            f"{name} needs labels of some rows: give a file of them, with --labels on the command line, or as labels = "
            "in [input] of a job file for rows"
        )
    if labels is not None and estimator.uses_labels == "never":
        from ..estimators.registry import all_methods  # imported late: with all estimators

        able = [method for method, cls in all_methods().items() if cls.uses_labels != "never"]
        raise SettingError(
            f"{name} has no use for labels of rows: leave out {labels}, or take one of {', '.join(able)}"
        )


def open_labels(path: str, n_rows: int) -> RowArray:
    """Open labels of rows: lazily from an array, or from a table of the few rows that have one.

    Parameters
    ----------
    path : str
        Path or URL of a Zarr array or a ``.npy`` file of integers, -1 for rows without a label, shape (n_rows,); or of
        a ``.csv`` file with the header ``row,label``, numbers of rows from 0, and labels of any text.
    n_rows : int
        Number of rows of the features.

    Raises
    ------
    ValueError
        If the labels are not those of `n_rows` rows, or a table has other contents.
    """
    try:
        if PurePosixPath(name_of(path)).suffix.lower() == ".csv":
            with fsspec.open(path, "rt", newline="", encoding="utf-8") as lines:
                return _of_table(path, lines, n_rows)
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


def _of_table(path: str, lines: Iterable[str], n_rows: int) -> RowArray:
    """Return the labels of a table as integers if all are, otherwise as texts."""
    table = csv.reader(lines)
    if (first := tuple(next(table, ()))) != HEADER:
        raise ValueError(f"expected the header row,label in {path}; got {','.join(first)!r:.80}")
    known: dict[int, str] = {}
    for line in table:
        row, label = line if len(line) == len(HEADER) else ("", "")
        if not INTEGER.fullmatch(row) or not 0 <= int(row) < n_rows or not label.strip():
            raise ValueError(
                f"expected a row from 0 to {n_rows - 1} and its label in line {table.line_num} of {path}; "
                f"got {','.join(line)!r:.80}"
            )
        if known.setdefault(int(row), label.strip()) != label.strip():
            raise ValueError(f"expected one label for each row in {path}; row {row} has several")
    texts = np.array(list(known.values()), dtype=str)
    if all(INTEGER.fullmatch(text) for text in known.values()):
        labels = np.full(n_rows, UNLABELLED, dtype=np.int64)
        labels[list(known)] = texts.astype(np.int64)
        return labels
    named = np.full(n_rows, "", dtype=texts.dtype)
    named[list(known)] = texts
    return named
