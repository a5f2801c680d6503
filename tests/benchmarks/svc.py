"""Does support vector clustering reproduce its source (JMLR 2, 2001), and hold for many rows and without a width."""

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import load_iris

from mdh_dask import SupportVectorClustering
from mdh_dask.metrics import contingency_table, matching_accuracy, normalized_mutual_information

from .methods import Method, score, score_of
from .sets import SHAPES, load_set
from .shared import SKIPPED, Table, labelled_set, verdict

SHORT: dict[str, Any] = {"sets": ("shapes2d/spiral", "shapes2d/flame"), "few": 1000}

IRIS = ((2, 6.0, 0.60, 4, 2, None), (3, 7.0, 0.70, 3, 4, 4), (4, 9.0, 0.75, 3, 14, 14))
"""Principal components, q, p, and published: clusters, flowers in the wrong one; and the most that may be wrong."""

MOST_WRONG_OF_TWO = 3
"""Of two components, after the parts of a species are merged."""

MOST_SPECTRAL = 5000
"""Rows beyond which `SpectralClustering` is left out."""

LANDMARK_SET, LEAST_CORRELATION = "shapes2d/chameleon_t4_8k", 0.99

NEAR_ENOUGH = 0.5
"""Root mean square distance of rows to their landmarks, in units of ``share_outside / sqrt(width)``, up to which the
sums of kernels of landmarks are those of all rows. The dual is flat inside the contour: the fewer rows are outside, the
more landmarks it takes."""

ON_CONTOUR = 1e-3

OURS = Method("mdh_dask", "SupportVectorClustering")

EXACT = partial(SupportVectorClustering, scale=False, adjacency="complete", n_segment=20)
"""As in the source: rows as they are, all pairs of them, twenty points on a segment."""


def run(sets: Sequence[str] = SHAPES, few: int = 10_000, folder: str | None = None) -> Iterator[Table]:
    """Repeat the source's examples; compare landmarks with all rows; find widths."""
    yield _iris()
    yield _crabs(folder)
    yield _landmarks(few, folder)
    yield _shapes(sets, folder)


def principal_components(X: np.ndarray, columns: Sequence[int], whiten: bool = False) -> np.ndarray:
    """Return the rows along some of their principal components, centred."""
    centred = X - X.mean(axis=0)
    scores = (centred @ np.linalg.svd(centred, full_matrices=False)[2].T)[:, columns]
    return scores / scores.std(axis=0) if whiten else scores


def on_contour(model: SupportVectorClustering) -> int:
    """Return the number of support vectors on the contour, as the source counts them."""
    return int((model.boundary_distance(model.support_vectors_) > -ON_CONTOUR).sum())


def _iris() -> Table:
    X, y = load_iris(return_X_y=True)
    rows: list[tuple[Any, ...]] = []
    for n, q, p, clusters, wrong, most in IRIS:
        model = EXACT(width=q, share_outside=p).fit(principal_components(X, range(n)))
        table = contingency_table(y, model.labels_).counts
        # Clusters of the same species count as one, as in the source.
        own = len(y) - int(table.max(axis=0).sum())
        found = model.n_clusters_, own, on_contour(model)
        right = own <= MOST_WRONG_OF_TWO if most is None else (found[0], own) == (clusters, most)
        bound = f"wrong <= {MOST_WRONG_OF_TWO}" if most is None else "as published"
        rows.append((n, q, p, *found, clusters, wrong, bound, verdict(right)))
    found = ("clusters", "wrong", "support vectors")
    columns = ("components", "q", "p", *found, "published", "wrong", "required", "verdict")
    return Table("Iris (section 6 of the source)", columns, rows)


def _crabs(folder: str | None) -> Table:
    """Cluster the crabs at the source's q and p, which does not say how their components are scaled."""
    columns = ("columns", "components 2 and 3", "clusters", "support vectors", "accuracy", "NMI", "required", "verdict")
    if (found := labelled_set("crabs", folder)) is None:
        return Table("Crabs", columns, [(SKIPPED, *["-"] * (len(columns) - 1))])
    X, y = found[0].astype(float), found[1]
    kinds = {"raw": X, "standardised": X / X.std(axis=0), "logarithms": np.log(X)}
    rows: list[tuple[Any, ...]] = []
    for name, values in kinds.items():
        for whiten in (False, True):
            model = EXACT(width=4.8, share_outside=0.7).fit(principal_components(values, [1, 2], whiten))
            scores = matching_accuracy(y, model.labels_), normalized_mutual_information(y, model.labels_)
            judged = name == "logarithms" and whiten
            bound = ("4 clusters", verdict(model.n_clusters_ == 4)) if judged else ("-", "-")
            unit = "in standard deviations" if whiten else "as they are"
            rows.append((name, unit, model.n_clusters_, on_contour(model), *scores, *bound))
    return Table("Crabs, q = 4.8, p = 0.7 (section 6 of the source: four groups)", columns, rows)


def _landmarks(most_rows: int, folder: str | None) -> Table:
    """Compare the sum of kernels of counted landmarks with that of the dual of all rows."""
    columns = ("q", "p", "landmarks", "distance to rows, p / sqrt(q)", "correlation", "share outside", "required",
               "verdict")  # fmt: skip
    title = f"Landmarks and the dual of all rows: {LANDMARK_SET}"
    if (found := labelled_set(LANDMARK_SET, folder)) is None:
        return Table(title, columns, [(SKIPPED, *["-"] * (len(columns) - 1))])
    X = found[0][:most_rows].astype(float)
    rows: list[tuple[Any, ...]] = []
    for width, share in ((2.5, 0.1), (2.5, 0.2), (10.0, 0.2), (40.0, 0.2)):
        exact = SupportVectorClustering(width=width, share_outside=share, n_landmarks=len(X)).fit(X)
        truth = exact.score_samples(X)
        for n_landmarks in (500, 1500, 3000):
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # the table has the distance
                model = SupportVectorClustering(width=width, share_outside=share, n_landmarks=n_landmarks).fit(X)
            apart = _quantisation(model, X) * np.sqrt(width) / share
            correlation = float(np.corrcoef(truth, model.score_samples(X))[0, 1])
            outside = float((model.boundary_distance(X) < 0).mean())
            held = apart <= NEAR_ENOUGH
            bound = (f">= {LEAST_CORRELATION:g}", verdict(correlation >= LEAST_CORRELATION)) if held else ("-", "-")
            rows.append((width, share, n_landmarks, apart, correlation, outside, *bound))
    return Table(title, columns, rows)


def _quantisation(model: SupportVectorClustering, X: np.ndarray) -> float:
    """Return the root mean square distance of the scaled rows to the nearest landmark."""
    state = model.state_
    # Landmarks are inside the contour, or they are support vectors.
    distances = cKDTree(np.vstack([state.points, state.vectors])).query((X - state.centre) * state.scale)[0]
    return float(np.sqrt(np.mean(np.square(distances))))


def _shapes(sets: Sequence[str], folder: str | None) -> Table:
    """Score what a sweep finds, beside methods that find the number of clusters or are given it."""
    rows: list[tuple[Any, ...]] = []
    for name in sets:
        try:
            found = load_set(name, folder)
        except FileNotFoundError:
            rows.append((name, *["-"] * 7, SKIPPED))
            continue
        ours, density = score_of(OURS, name, folder, 0), score("HDBSCAN", name, folder, 0)
        few = len(found.X) <= MOST_SPECTRAL
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # neighbours of far clusters
            spectral = score("Spectral, neighbours", name, folder, 0).nmi if few else "-"
        known = (len(found.X), found.n_classes)
        rows.append((name, *known, ours.nmi, ours.clusters, ours.seconds, density.nmi, density.clusters, spectral))
    scored = [row for row in rows if row[-1] != SKIPPED]
    if scored:
        few_rows = [row for row in scored if row[-1] != "-"]
        means = [float(np.mean([row[column] for row in scored])) for column in (3, 6)]
        also = [float(np.mean([row[column] for row in few_rows])) for column in (3, 6, 8)] if few_rows else ["-"] * 3
        rows.append((f"mean of {len(scored)}", "-", "-", means[0], "-", "-", means[1], "-", "-"))
        rows.append((f"mean of {len(few_rows)} with the last", "-", "-", also[0], "-", "-", also[1], "-", also[2]))
    columns = ("set", "rows", "classes", "NMI", "clusters", "s", "HDBSCAN", "clusters", "spectral, k given")
    return Table("Shapes: NMI of the automatic choice, standardised columns", columns, rows)
