"""The labelled sets that methods are compared on, and where they come from."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_iris, load_wine

from .downloads import download
from .shared import FOLDER, folder_of, labelled_set

TABLES = (
    "auto_mpg", "banknote", "binary_alphadigits", "breast_cancer_wisconsin", "credit_approval", "dermatology",
    "digits", "forest_type", "image_segmentation", "ionosphere", "iris", "letter", "mfeat_fac", "mfeat_full",
    "optdigits", "pendigits", "pima_diabetes", "synthetic_control", "usps", "voting", "wine", "yale_faces",
    "yeast_cell_cycle", "coil20_32x32",
)  # fmt: skip

LARGE_TABLES = ("bbc_news", "coil20", "shuttle", "covertype_50k", "mnist", "kddcup99_10pct_numeric", "covertype")
"""Those of more than 50000 rows or 10000 columns; the numeric columns of *kddcup99_10pct* are a set of their own."""

SHAPES = tuple(f"shapes2d/{name}" for name in (
    "aggregation", "atom", "chainlink", "chameleon_t4_8k", "chameleon_t5_8k", "chameleon_t7_10k", "chameleon_t8_8k",
    "compound", "d31", "engytime", "flame", "halfmoons", "hepta", "jain", "lsun", "pathbased", "r15", "s1", "s2",
    "s3", "s4", "spiral", "target", "tetra", "twodiamonds", "unbalance", "wingnut", "birch1",
))  # fmt: skip

GROUPS = {"tables": TABLES, "shapes": SHAPES, "large tables": LARGE_TABLES}

ALL_SETS = tuple(name for names in GROUPS.values() for name in names)

BUNDLED: dict[str, Callable[..., Any]] = {"digits": load_digits, "iris": load_iris, "wine": load_wine}


class LabelledSet(NamedTuple):
    """Complete rows, their classes (noise is -1), and where they come from."""

    X: np.ndarray
    y: np.ndarray
    source: str

    @property
    def n_classes(self) -> int:
        """Return the number of classes; noise is none."""
        return len(np.unique(self.y[self.y >= 0]))


def load_set(name: str, folder: str | None = None) -> LabelledSet:
    """Return a set from the folder, or from scikit-learn; without a folder also from its public home.

    Text becomes a column of zeros and ones for every value. FileNotFoundError says why a set is missing.
    """
    folder = folder_of(folder)
    for path in (Path(folder or "", name + suffix) for suffix in (".npz", ".csv.gz") if folder):
        if path.exists():
            X, y = _npz(path) if path.suffix == ".npz" else read_csv(path)
            return _complete(X, y, f"${FOLDER}")
    if name in BUNDLED:
        return _complete(*BUNDLED[name](return_X_y=True), "scikit-learn")
    if folder:
        raise FileNotFoundError(f"not in ${FOLDER}")
    X, y = download(name)
    return _complete(numbers_of(X), y, "downloaded")


def _complete(X: np.ndarray, y: np.ndarray, source: str) -> LabelledSet:
    whole = ~np.isnan(X).any(axis=1)
    return LabelledSet(X[whole], y[whole], source)


def _npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as arrays:
        if "indptr" not in arrays:
            return arrays["X"], arrays["y"]
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        return csr_matrix(parts, shape=arrays["shape"]).toarray(), arrays["y"]


def read_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a compressed table as numbers, and the codes of its last column."""
    with gzip.open(path, "rt") as file:
        table = np.array(list(csv.reader(file))[1:])
    return numbers_of(table[:, :-1]), np.unique(table[:, -1], return_inverse=True)[1]


def numbers_of(text: np.ndarray) -> np.ndarray:
    """Return columns of text as numbers; a column with other text becomes one of zeros and ones for every value."""
    return np.column_stack([_numbers(column) for column in text.T])


def _numbers(column: np.ndarray) -> np.ndarray:
    try:
        return np.array([float(value or "nan") for value in column])
    except ValueError:
        return (column[:, None] == np.unique(column)).astype(float)


def any_set(name: str, folder: str | None) -> tuple[Any, Any] | None:
    """Return a set as `labelled_set` does, or from a table of text: one column for every value that is no number."""
    path = Path(folder_of(folder) or "", f"{name}.csv.gz")
    if folder_of(folder) is None or not path.exists():
        return labelled_set(name, folder)
    X, y = read_csv(path)
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], y[whole]


def scaled(X: Any) -> Any:
    """Return the columns in units of their standard deviation, without those that are constant."""
    X = X[:, X.min(axis=0) < X.max(axis=0)].astype(float)
    return X / X.std(axis=0)
