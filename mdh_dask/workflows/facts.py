"""What a report says and shows: facts on the fit, and pictures."""

import io
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from .._typing import AnyArray, Integers
from ..estimators.groups import compared
from ..estimators.profiles import why_one
from ..estimators.tables import column_names
from ..io.repositories import revision_of, snapshot_of, store_of
from ..summaries.words import named
from .estimates import format_bytes

PACKAGES = ("mdh_dask", "dask", "distributed", "numba", "numpy", "scikit-learn", "scipy", "zarr")
"""Packages whose versions the report lists."""

Facts = dict[str, str | Mapping[str, str]]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that may affect results."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def facts_of(estimator: Any, where: str, seconds: float, pass_bytes: int | None) -> Facts:
    """Return the facts on the fit of an estimator and on the further pass that wrote labels and profiles.

    `where` describes the cluster; every pass reads `pass_bytes`, the size of the input in memory, None if it is
    unknown.
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
        **compared(estimator),
        **why_one(estimator),
        **labels,
        "Passes over the data": f"{passes}, the last of them for labels and profiles",
        **({} if pass_bytes is None else {"Bytes read": f"{format_bytes(passes * pass_bytes)}, as they are in memory"}),
        "Time": f"{seconds:.1f} s",
        "Ran on": where,
        "Versions": versions(),
    }


def numbers_of(estimator: Any) -> dict[str, Any]:
    """Return the numbers of a fit for other programs, with the groups or tiles of dependent rows."""
    sizes = estimator.state_.sizes
    tiles = None if estimator.pixel_columns_ is None else estimator.pixel_columns_.tiles
    return {
        "method": type(estimator).__name__,
        "n_clusters": int(estimator.n_clusters_),
        "clusters": list(named(estimator._words, column_names(estimator))) or None,
        "cluster_sizes": None if sizes is None else sizes.tolist(),
        "passes": estimator.n_passes_,
        "n_groups": estimator.n_groups_,
        "tiles": None if tiles is None else tiles._asdict() | {"n_independent": tiles.n_independent},
        "compared": compared(estimator),
        "evidence": estimator.evidence().to_dict(),
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


def input_of(path: str, snapshot: str = "") -> dict[str, str | None]:
    """Return what the commit of outputs says of their input."""
    if not snapshot and (revision := revision_of(path)) is not None:
        snapshot = snapshot_of(store_of(revision))
    return {"input": path, "input_snapshot": snapshot or None}


WIDEST = 1600
"""Most pixels on the longer side of a picture in a report."""

WIDEST_MASK = 800
"""The same for the masks of segments, of which there is one for each."""

HIDDEN = 215
"""Opacity of a mask over other segments, of 255."""


def encoded(picture: AnyArray, kind: str = "PNG", widest: int | None = None) -> bytes:
    """Return a picture as an encoded file, scaled down if it is wider or higher than `widest`."""
    from PIL import Image

    image = Image.fromarray(picture)
    if widest is not None:
        image.thumbnail((widest, widest))
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=90)
    return buffer.getvalue()


def mask_of(labels: Integers, label: int) -> bytes:
    """Return a PNG that is transparent where an image of labels has a label, and nearly black elsewhere."""
    from PIL import Image

    step = -(-max(labels.shape) // WIDEST_MASK)
    mask = Image.fromarray((labels[::step, ::step] != label).astype("u1"))
    mask.putpalette(bytes(6))
    buffer = io.BytesIO()
    mask.save(buffer, format="PNG", bits=1, transparency=bytes([0, HIDDEN]), optimize=True)
    return buffer.getvalue()
