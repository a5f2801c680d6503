"""Clusters of any shape: `DensityTree` beside HDBSCAN on generated sets, shapes in the plane and tables of digits."""

import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler

from mdh_dask import DensityTree

from .sets import SHAPES
from .shape_sets import DEVELOPMENT, JUDGING, OVERLAPPING, draw
from .shared import SKIPPED, Table, labelled_set, verdict

SHORT: dict[str, Any] = {"n_seeds": 1, "most_rows": 2000, "sets": ("shapes2d/halfmoons",)}

ABOVE = 0.05
"""By how much the mean NMI must exceed that of HDBSCAN on the sets that settings were not decided on."""

BARS = {
    "shapes2d/birch1": (0.93, 98, 102), "shapes2d/s1": (0.0, 15, 15), "optdigits": (0.84, 9, 12),
    "pendigits": (0.82, 10, 16), "usps": (0.69, 1, 99), "mfeat_fac": (0.84, 9, 12),
}  # fmt: skip
"""Least NMI, and least and largest number of clusters."""


def run(
    n_seeds: int = 5,
    most_rows: int = 10_000,
    sets: Sequence[str] = (*SHAPES, "optdigits", "pendigits", "usps", "mfeat_fac"),
) -> Iterator[Table]:
    """Fit generated sets of at most `most_rows` rows, and labelled sets."""
    DensityTree().fit(draw(next(iter(DEVELOPMENT)), 0)[0])  # what it compiles does not count
    seeds = range(n_seeds)
    for title, kinds in _GENERATED.items():
        names = [name for name, (_, n) in kinds.items() if n <= most_rows]
        lines = [_line(name, [(*draw(name, seed), seed) for seed in seeds]) for name in names]
        means = [float(np.mean([line[column] for line in lines])) for column in (1, 3)]
        met = verdict(means[0] >= means[1] + ABOVE)
        lines.append(("mean", means[0], "", means[1], "", "", met))
        yield Table(f"NMI on {title}", _COLUMNS, lines)
    found = [(name, labelled_set(name)) for name in sets]
    lines = [_line(name, [(*data, seed) for seed in seeds]) for name, data in found if data is not None]
    lines += [(name, "", "", "", "", "", SKIPPED) for name, data in found if data is None]
    yield Table("NMI on labelled sets", _COLUMNS, lines)


_GENERATED = {
    "generated sets that settings were decided on": DEVELOPMENT,
    "generated sets that settings were not decided on": JUDGING,
    "generated clusters that overlap": OVERLAPPING,
}

_COLUMNS = ("set", "DensityTree", "clusters", "HDBSCAN", "clusters ", "processor time / HDBSCAN's", "verdict")


def _line(name: str, data: Sequence[tuple[np.ndarray, np.ndarray, int]]) -> tuple[Any, ...]:
    """Return the mean NMI, numbers of clusters and times of both methods; rows of noise do not count."""
    ours, k, theirs, peer_k, times = [], [], [], [], []
    for X, y, seed in data:
        known = y != -1
        peer = HDBSCAN(min_samples=5, min_cluster_size=max(5, len(X) // 200), copy=True)
        own, own_seconds = _timed(lambda X=X, seed=seed: DensityTree(random_state=seed).fit_predict(X))
        labels, seconds = _timed(lambda X=X, peer=peer: peer.fit_predict(StandardScaler().fit_transform(X)))
        ours.append(normalized_mutual_info_score(y[known], own[known]))
        theirs.append(normalized_mutual_info_score(y[known], labels[known]))
        k.append(int(own.max()) + 1)
        peer_k.append(int(labels.max()) + 1)
        times.append(own_seconds / seconds)
    text = [" ".join(map(str, sorted(counts))) for counts in (k, peer_k)]
    mean = float(np.mean(ours))
    if name in BARS:
        least, low, high = BARS[name]
        met = verdict(mean >= least and low <= min(k) and max(k) <= high)
    else:
        met = "-"
    return name, mean, text[0], float(np.mean(theirs)), text[1], median(times), met


def _timed(labels: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """Return labels, and the processor seconds that they take."""
    start = time.process_time()
    return np.asarray(labels()), time.process_time() - start
