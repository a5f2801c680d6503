"""The facts of a report on how its model was fitted."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from ..estimators.profiles import why_one
from .estimates import format_bytes

PACKAGES = ("mdh_dask", "dask", "distributed", "numba", "numpy", "scikit-learn", "scipy", "zarr")
"""Packages whose versions the report lists."""

Facts = dict[str, str | Mapping[str, str]]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that may affect results."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def facts_of(estimator: Any, where: str, seconds: float, pass_bytes: int | None) -> Facts:
    """Return the facts on the fit of an estimator and on the further pass that wrote labels and profiles.

    Parameters
    ----------
    estimator : estimator
    where : str
        Description of the cluster.
    seconds : float
    pass_bytes : int or None
        Size of the input in memory, which every pass reads; None if it is unknown, as of sparse rows.
    """
    labels = {"Labelled rows of clusters": found} if (found := _labels_of(estimator)) else {}
    parameters = {name: str(value) for name, value in estimator.get_params(deep=False).items() if name != "progress"}
    passes = estimator.n_passes_ + 1
    if (missing := estimator.missing_values_) is not None:
        n, rule = int(missing.n_missing.sum()), "replaced by means" if estimator.missing == "mean" else "left out"
        parameters["missing"] += f": {n:,} values in {missing.n_incomplete:,} rows, {rule}"
    if parameters.get("feature_map", "None") != "None" and getattr(estimator, "feature_map_", estimator) is None:
        parameters["feature_map"] += ": its features show a single cluster, those of the rows themselves are shown"
    return {
        "Method": type(estimator).__name__,
        "Parameters": parameters,
        **why_one(estimator),
        **labels,
        "Passes over the data": f"{passes}, the last of them for labels and profiles",
        **({} if pass_bytes is None else {"Bytes read": f"{format_bytes(passes * pass_bytes)}, as they are in memory"}),
        "Time": f"{seconds:.1f} s",
        "Ran on": where,
        "Versions": versions(),
    }


def _labels_of(estimator: Any) -> dict[str, str]:
    """Return the class, or the labels in `fit` and how many rows had them, of every cluster."""
    if (classes := getattr(estimator, "classes_", None)) is not None:
        return {f"cluster {i}": f"class {label}" for i, label in enumerate(classes.tolist())}
    if (counts := getattr(estimator, "label_counts_", None)) is None:
        return {}
    known = estimator.known_labels_.tolist()
    held = {i: [f"{n} of {label}" for n, label in zip(row, known) if n] for i, row in enumerate(counts.tolist())}
    return {f"cluster {i}": ", ".join(labels) for i, labels in held.items() if labels}
