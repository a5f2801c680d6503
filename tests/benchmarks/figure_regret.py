"""Figure 6 of JMLR 17(156) and figure 2 of Yates and Pavlidis 2016: bi-partitions of ours beside those printed."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mdh_dask import HierarchicalKernelMDH, KernelPCAFeatures, MinimumDensityHyperplane
from mdh_dask.metrics import binary_v_measure, success_ratio

from .published import JMLR_METHODS, JMLR_TABLE, KERNEL_METHODS, KERNEL_TABLE, Printed
from .regret import box_plot
from .sets import load_set
from .shared import Table

MEASURES = ("success ratio", "V-measure")

ALPHA = 0.9
"""The bound of the papers."""


class Comparison(NamedTuple):
    """A figure: what is printed, by which methods, and ours, made with a seed."""

    title: str
    printed: Printed
    methods: tuple[str, ...]
    ours: dict[str, Callable[[int], Any]]


def _on_features(variance: float) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        features = KernelPCAFeatures(kernel="rbf", variance=variance, random_state=seed)
        return MinimumDensityHyperplane(feature_map=features, alpha_max=ALPHA, random_state=seed)

    return make


COMPARISONS = {
    "jmlr-6": Comparison(
        "JMLR 17(156) figure 6",
        JMLR_TABLE,
        JMLR_METHODS,
        {
            "ours: MDH": lambda seed: MinimumDensityHyperplane(random_state=seed),
            "ours: kernel MDH": lambda seed: HierarchicalKernelMDH(random_state=seed).as_divisive(max_levels=1),
        },
    ),
    "kernel-2": Comparison(
        "Yates and Pavlidis 2016 figure 2",
        KERNEL_TABLE,
        KERNEL_METHODS,
        {"ours: KMDH": _on_features(1.0), "ours: S-KMDH": _on_features(0.9)},
    ),
}
"""By the ends of the names of their plots."""


def comparison_table(comparison: Comparison, seeds: Sequence[int], most_rows: int | None, folder: str | None) -> Table:
    """Return both measures of every method on every set that is printed, ours as means of the seeds."""
    columns = ("set", "measure", *comparison.ours, *comparison.methods, "remark")
    lines: list[tuple[Any, ...]] = []
    for name, printed in comparison.printed.items():
        try:
            found = load_set(name, folder)
        except OSError as error:
            scores, remark = np.full((len(comparison.ours), 2), np.nan), f"missing: {error}"
        else:
            rows = slice(0, most_rows)
            X, y = found.X[rows].astype(float), found.y[rows]
            scores, remark = np.array([_means(make, X, y, seeds) for make in comparison.ours.values()]), "-"
        for measure, ours, theirs in zip(MEASURES, scores.T, printed, strict=True):
            cells = (*("-" if np.isnan(value) else float(value) for value in (*ours, *theirs)),)
            lines.append((name, measure, *cells, remark))
    return Table(f"{comparison.title}: means of {len(seeds)} seeds, and as printed", columns, lines)


def _means(make: Callable[[int], Any], X: Any, y: Any, seeds: Sequence[int]) -> Any:
    """Return the mean success ratio and V-measure of two parts."""
    labels = [np.asarray(make(seed).fit_predict(X)) for seed in seeds]
    return np.mean([(success_ratio(y, found), binary_v_measure(y, found)) for found in labels], axis=0)


def regret_of(table: Table, measure: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the methods and the scores of sets x methods; sets without ours are left out if there are others."""
    rows = [row[2:-1] for row in table.rows if row[1] == measure]
    scores = np.array([[np.nan if value == "-" else value for value in row] for row in rows], dtype=float)
    complete = ~np.isnan(scores[:, 0])
    return table.columns[2:-1], scores[complete] if complete.any() else scores


def draw(figure: Any, table: Table) -> None:
    """Draw the regret of all methods by both measures."""
    for axes, measure in zip(figure.subplots(1, 2), MEASURES):
        methods, scores = regret_of(table, measure)
        box_plot(axes, methods, scores, [name for name in methods if name.startswith("ours")], f"regret, {measure}")
    figure.suptitle(table.title)
