"""Are the segments of photographs those that people draw: agreement with their label maps, beside k-means."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import zarr
from scipy.ndimage import distance_transform_edt
from scipy.ndimage import label as connected
from sklearn.cluster import KMeans

from mdh_dask import HierarchicalMDH
from mdh_dask.images import Features, open_image, pixel_rows
from mdh_dask.images.tiles import tiled_rows
from mdh_dask.metrics import adjusted_rand_index, contingency_table

from .shared import FOLDER, SKIPPED, Table, two_threads

SHORT: dict[str, Any] = {"names": ("bsds_118035", "landsat7_etm")}

NAMES = (
    "bsds_118035", "bsds_12003", "bsds_135069", "bsds_208001", "bsds_241004", "bsds_253036", "bsds_295087",
    "bsds_42049", "bsds_86000", "landsat7_etm",
)  # fmt: skip

TOLERANCE = 0.0075
"""Distance at which boundaries agree, as a share of the image's diagonal (the benchmark of the Berkeley set)."""

FEATURES = (
    ("Bands", Features(), None),
    ("Bands, with means and deviations of 5 x 5 pixels", Features(5), None),
    ("As in the demo", Features(5, kinds=("lab", "texture")), 30_000),
    ("--features lab,texture,gradient", Features(5, kinds=("lab", "texture", "gradient")), None),
)  # fmt: skip
"""Titles, columns, and the number of pixels to fit to; bands stay as they are if they are not red, green and blue."""

SPECKLE = 20
"""Pixels of a connected region below which it is speckle: nobody would draw it."""

ON_TILES = "image", "tiles", "segments: pixels", "segments: tiles", "ARI: pixels", "ARI: tiles"

COLUMNS = (
    "image", "pixels", "columns", "segments", "s", "speckle", "ARI", "boundary F", "k-means: s", "k-means: ARI",
    "k-means: boundary F",
)  # fmt: skip


def run(names: Sequence[str] = NAMES, folder: str | None = None) -> Iterator[Table]:
    """Segment every image with default parameters, by its bands and by windows too."""
    for title, features, sample in FEATURES:
        lines = [_line(name, folder, features, sample) for name in names]
        scores = np.array([line[5:8] + line[9:] for line in lines if isinstance(line[6], float)])
        if len(scores):
            speckled, ari, boundary, *theirs = map(float, scores.mean(axis=0))
            lines.append((f"mean of {len(scores)}", "-", "-", "-", "-", speckled, ari, boundary, "-", *theirs))
        yield Table(f"{title} (folder: ${FOLDER})", COLUMNS, lines)
    lines = [line for name in names if (line := _on_tiles(name, folder)) is not None]
    scores = np.array([line[4:] for line in lines if isinstance(line[4], float)])
    if len(scores):
        lines.append((f"mean of {len(scores)}", "-", "-", "-", *map(float, scores.mean(axis=0))))
    yield Table("Bands, tested on pixels and on tiles", ON_TILES, lines)


def _on_tiles(name: str, folder: str | None) -> tuple[Any, ...] | None:
    """Return the segments of an image and their agreement, tested on pixels and on tiles; None without its file."""
    path = Path(folder or os.environ.get(FOLDER, ""), "images", f"{name}.npz")
    if not path.exists():
        return None
    with np.load(path) as arrays:
        pixels, maps = arrays["image"], arrays.get("segmentations")
    with TemporaryDirectory() as stored:
        zarr.create_array(Path(stored, "image.zarr"), data=pixels)
        tiled = tiled_rows([open_image(Path(stored, "image.zarr"))])
        fits = [HierarchicalMDH().fit(tiled.rows, groups=groups) for groups in (None, tiled.tiles)]
        scores = [agreement(np.asarray(fit.labels_).reshape(pixels.shape[:2]), maps)[0] for fit in fits]
    return name, str(tiled.summary), *(fit.n_clusters_ for fit in fits), *scores


def _line(name: str, folder: str | None, features: Features, sample: int | None) -> tuple[Any, ...]:
    folder = folder or os.environ.get(FOLDER)
    path = Path(folder or "", "images", f"{name}.npz")
    if folder is None or not path.exists():
        return (name, *["-"] * (len(COLUMNS) - 2), SKIPPED)
    with np.load(path) as arrays:
        pixels, maps = arrays["image"], arrays.get("segmentations")
    with TemporaryDirectory() as stored, two_threads():
        zarr.create_array(Path(stored, "image.zarr"), data=pixels)
        image = open_image(Path(stored, "image.zarr"))
        if image.shape[2] != 3:
            features = replace(features, kinds=tuple(kind for kind in features.kinds if kind != "lab"))
        rows = pixel_rows(image, features)
        whole = np.asarray(rows, np.float64)
        start = time.perf_counter()
        labels = _labels(rows, whole, sample).reshape(pixels.shape[:2])
        seconds = time.perf_counter() - start
        n_clusters = int(labels.max()) + 1
        start = time.perf_counter()
        scaled = whole / np.maximum(whole.std(axis=0), 1e-9)
        means = KMeans(n_clusters, n_init=1, random_state=0).fit_predict(scaled).reshape(labels.shape)
        others = time.perf_counter() - start
    shape = f"{pixels.shape[1]} x {pixels.shape[0]}"
    ours, theirs = (agreement(found, maps) for found in (labels, means))
    return name, shape, whole.shape[1], n_clusters, seconds, speckle(labels), *ours, others, *theirs


def speckle(labels: np.ndarray) -> float:
    """Return the share of the pixels in connected regions of fewer than `SPECKLE` pixels."""
    n_small = 0
    for number in range(int(labels.max()) + 1):
        sizes = np.bincount(connected(labels == number)[0].ravel())[1:]
        n_small += int(sizes[sizes < SPECKLE].sum())
    return n_small / labels.size


def _labels(rows: da.Array, whole: np.ndarray, sample: int | None) -> np.ndarray:
    """Return the labels of a fit to all pixels, or of one to a sample whose columns share a unit, as in the demo."""
    if sample is None:
        return np.asarray(HierarchicalMDH().fit(rows).labels_)
    drawn = np.random.default_rng(0).choice(len(whole), min(sample, len(whole)), replace=False)
    return np.asarray(HierarchicalMDH(scale=False).fit(whole[drawn]).predict(whole))


def agreement(labels: np.ndarray, maps: np.ndarray | None) -> tuple[float | str, float | str]:
    """Return the mean adjusted Rand index and boundary F-measure with label maps; dashes if there are none."""
    if maps is None:
        return "-", "-"
    ari = [adjusted_rand_index(contingency_table(drawn.ravel(), labels.ravel())) for drawn in maps]
    return float(np.mean(ari)), float(np.mean([boundary_f(labels, drawn) for drawn in maps]))


def boundary_f(labels: np.ndarray, drawn: np.ndarray) -> float:
    """Return the F-measure of boundaries: shares of either's that are near one of the other's."""
    tolerance = TOLERANCE * np.hypot(*labels.shape)
    ours, theirs = boundaries(labels), boundaries(drawn)
    if not ours.any() or not theirs.any():
        return float(ours.any() == theirs.any())
    precision = (distance_transform_edt(~theirs)[ours] <= tolerance).mean()
    recall = (distance_transform_edt(~ours)[theirs] <= tolerance).mean()
    return float(2 * precision * recall / max(precision + recall, 1e-12))


def boundaries(labels: np.ndarray) -> np.ndarray:
    """Return where the label is another than that of the pixel before or above."""
    edge = np.zeros(labels.shape, bool)
    edge[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    edge[1:] |= labels[1:] != labels[:-1]
    return edge
