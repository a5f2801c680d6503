"""Are minimum density hyperplanes with few labels as good as classifiers that are taught by these labels."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC

from mdh_dask import SemiSupervisedMDH

from .shared import Table, labelled_set

SHORT: dict[str, Any] = {"n_draws": 4, "numbers": (5, 20), "sets": ("banknote", "breast_cancer_wisconsin")}

SETS = ("banknote", "breast_cancer_wisconsin", "ionosphere", "image_segmentation", "optdigits", "pendigits")
"""Those of figures 7 and 8 of JMLR 17(156) that are at hand; of more than two classes, each pair in turn."""

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "SemiSupervisedMDH": SemiSupervisedMDH,
    "LinearSVC on the labelled": lambda: LinearSVC(max_iter=20_000),
    "self-training": lambda: SelfTrainingClassifier(LogisticRegression(max_iter=1000), criterion="k_best"),
    "label spreading": lambda: LabelSpreading(kernel="knn", max_iter=200),
}


def run(
    n_draws: int = 30,
    numbers: Sequence[int] = (5, 10, 20, 50, 100),
    sets: Sequence[str] = SETS,
    folder: str | None = None,
) -> Iterator[Table]:
    """Score classifiers on the rows without labels, by the number of labelled rows."""
    rows = []
    for name in sets:
        found = labelled_set(name, folder)
        if found is None:
            continue
        for n_labelled in numbers:
            errors = _errors(*found, n_labelled, n_draws)
            for method, values in errors.items():
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
                rows.append((name, n_labelled, method, f"{middle:.3f}", f"{low:.3f} to {high:.3f}", len(values)))
    columns = ("set", "labelled rows", "method", "median error", "quartiles", "draws")
    yield Table("Error on the rows without a label", columns, rows)


def _errors(X: Any, y: Any, n_labelled: int, n_draws: int) -> dict[str, list[float]]:
    classes, counts = np.unique(y, return_counts=True)
    pairs = list(combinations(classes[counts > 100], 2)) if len(classes) > 2 else [tuple(classes)]
    errors: dict[str, list[float]] = {method: [] for method in CLASSIFIERS}
    for draw in range(n_draws):
        random = np.random.default_rng(draw)
        pair = pairs[random.integers(len(pairs))]
        of_pair = np.isin(y, pair)
        rows, truth = X[of_pair], (y[of_pair] == pair[1]).astype(int)
        rows = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
        labels = _labels(random, truth, n_labelled)
        hidden = labels < 0
        for method, make in CLASSIFIERS.items():
            wrong = _fitted(method, make(), rows, labels).predict(rows[hidden]) != truth[hidden]
            errors[method].append(float(wrong.mean()))
    return errors


def _labels(random: np.random.Generator, truth: Any, n_labelled: int) -> Any:
    """Return labels of so many rows of both classes, -1 for the others."""
    while True:
        chosen = random.choice(len(truth), n_labelled, replace=False)
        if len(np.unique(truth[chosen])) == 2:
            labels = np.full(len(truth), -1)
            labels[chosen] = truth[chosen]
            return labels


def _fitted(method: str, model: Any, rows: Any, labels: Any) -> Any:
    if method.endswith("the labelled"):
        return model.fit(rows[labels >= 0], labels[labels >= 0])
    with np.errstate(invalid="ignore"):  # label spreading divides by zero where no label arrives
        return model.fit(rows, labels)
