"""Are rows that depend on each other split without clusters, by rows and by their groups, and are clusters found."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import zarr
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter
from scipy.spatial import cKDTree
from sklearn.metrics import normalized_mutual_info_score

import mdh_dask
from mdh_dask import RandomProjectionTree
from mdh_dask.growth.sweeps import BranchPass
from mdh_dask.images import open_image
from mdh_dask.images.tiles import tiled_rows
from mdh_dask.splits.dependence import N_PARTS
from mdh_dask.workflows import segment

from .kept import run_cells
from .shared import Table, interleaved, ratio_row, verdict

MOST_SPLIT = 0.05

MOST_LOST = 0.02
"""NMI that clusters in all groups may lose, if rows do not depend on each other."""

MOST_TIMES, MOST_PASSES = 1.5, 1
"""How many times as long a sweep may take that counts parts, and further passes over a scene."""

METHODS = (
    "RandomProjectionTree", "HierarchicalMDH", "HierarchicalKernelMDH", "DensityTree", "HyperplaneEnsemble",
    "SupportVectorClustering", "ConsensusClustering",
)  # fmt: skip

WITHOUT_GROUPS = "HierarchicalMDH"
"""The method that also splits clouds without clusters by rows, which shows what groups prevent."""


class Drawn(NamedTuple):
    """Rows, the groups in which they depend on each other, and their clusters; None for one cluster."""

    rows: np.ndarray
    groups: np.ndarray
    y: np.ndarray | None = None
    patches: np.ndarray | None = None
    """Those of a mosaic, which nobody knows in practice."""


Draw = Callable[[np.random.Generator], Drawn]


def _field(rng: np.random.Generator, side: int, sigma: float, n_bands: int = 4) -> np.ndarray:
    """Return independent smooth normal fields as bands of an image, with standard deviations of one."""
    noise = rng.standard_normal((side, side, n_bands))
    smooth = gaussian_filter(noise, (sigma, sigma, 0), mode="wrap") if sigma else noise
    return smooth / smooth.std(axis=(0, 1))


def _on_tiles(pixels: np.ndarray, y: np.ndarray | None = None) -> Drawn:
    """Return the rows of an image and its tiles, whose side is found from the pixels."""
    with TemporaryDirectory() as folder:
        zarr.create_array(f"{folder}/image.zarr", data=pixels.astype(np.float32))
        tiled = tiled_rows([open_image(f"{folder}/image.zarr")])
        return Drawn(np.asarray(tiled.rows), np.asarray(tiled.tiles), y)


def _smooth(side: int, sigma: float, n_bands: int = 4) -> Draw:
    return lambda rng: _on_tiles(_field(rng, side, sigma, n_bands))


def _patches(rng: np.random.Generator, side: int, n_patches: int) -> np.ndarray:
    """Return the Voronoi cell of every pixel."""
    places = np.indices((side, side)).reshape(2, -1).T
    return np.asarray(cKDTree(rng.uniform(0, side, (n_patches, 2))).query(places)[1])


def _mosaic(side: int, n_patches: int, apart: float, n_classes: int = 3, in_a_row: bool = False) -> Draw:
    """Return Voronoi cells of random classes, each a smooth field around the mean of its class.

    The means are equally far from each other, or in a row: at three standard deviations the first have no valley along
    any line.
    """

    def draw(rng: np.random.Generator) -> Drawn:
        of_patch = rng.permutation(np.arange(n_patches) % n_classes)
        patch = _patches(rng, side, n_patches)
        n_bands = max(n_classes, 4)
        means = apart / np.sqrt(2) * np.eye(n_classes, n_bands)
        if in_a_row:
            means = np.outer(apart * np.arange(n_classes), np.eye(n_bands)[0])
        pixels = _field(rng, side, 1.0, n_bands) + means[of_patch[patch]].reshape(side, side, n_bands)
        return _on_tiles(pixels, of_patch[patch])._replace(patches=patch)

    return draw


def _lumps(side: int, n_patches: int, effect: float, n_bands: int) -> Draw:
    """Return Voronoi cells with normal means in some of four bands, whose variance is so many times that within one."""

    def draw(rng: np.random.Generator) -> Drawn:
        means = np.sqrt(effect) * rng.normal(size=(n_patches, 4)) * (np.arange(4) < n_bands)
        patch = _patches(rng, side, n_patches)
        return _on_tiles(_field(rng, side, 1.0) + means[patch].reshape(side, side, 4))._replace(patches=patch)

    return draw


def _donors(effect: float, n_groups: int = 20, n: int = 500) -> Draw:
    """Return rows around normal centres of their groups, whose variance is so many times that within a group."""

    def draw(rng: np.random.Generator) -> Drawn:
        groups = np.repeat(np.arange(n_groups), n)
        centres = np.sqrt(effect) * rng.normal(size=(n_groups, 4))
        return Drawn(rng.normal(size=(len(groups), 4)) + centres[groups], groups)

    return draw


def _series(correlation: float, run: int = 500, n: int = 10_000) -> Draw:
    """Return normal columns of autoregressive rows, in groups of consecutive ones."""

    def draw(rng: np.random.Generator) -> Drawn:
        noise = rng.normal(size=(n + 1000, 4))
        return Drawn(lfilter([1], [1, -correlation], noise, axis=0)[1000:], np.arange(n) // run)

    return draw


def _independent(n_groups: int, n_clusters: int, n: int = 4000) -> Draw:
    """Return normal clusters, four standard deviations apart, of which every group has rows."""

    def draw(rng: np.random.Generator) -> Drawn:
        y = rng.integers(n_clusters, size=n)
        rows = rng.normal(size=(n, 4)) + 4 * np.eye(n_clusters, 4)[y] * (n_clusters > 1)
        return Drawn(rows, rng.integers(n_groups, size=n), y if n_clusters > 1 else None)

    return draw


FIELDS = [*product((96, 192), (0, 4, 12))]

CLOUDS: dict[str, Draw] = {
    **{f"field of {side} pixels, sigma {sigma}": _smooth(side, sigma) for side, sigma in FIELDS},
    "field of 192 pixels, sigma 2, 1 band": _smooth(192, 2, 1),
    "field of 192 pixels, sigma 24, 6 bands": _smooth(192, 24, 6),
    "field of 384 pixels, sigma 12": _smooth(384, 12), "field of 512 pixels, sigma 8": _smooth(512, 8),
    "field of 1024 pixels, sigma 24": _smooth(1024, 24),
    **{f"40 patches, between : within 16 : 1, {n} of 4 bands": _lumps(192, 40, 16, n) for n in (1, 4)},
    "20 donors, between : within 1 : 1": _donors(1), "20 donors, between : within 4 : 1": _donors(4),
    "series, correlation 0.9": _series(0.9), "series, correlation 0.99": _series(0.99),
    "independent rows in 20 groups": _independent(20, 1),
}  # fmt: skip

CLUSTERS: dict[str, Draw] = {
    **{f"3 clusters in {n} groups": _independent(n, 3) for n in (10, 20, 100)},
    "mosaic of 120 patches, 4 sd": _mosaic(192, 120, 4), "mosaic of 200 patches, 4 sd": _mosaic(256, 200, 4),
    "mosaic of 400 patches, 4 sd": _mosaic(384, 400, 4),
    "3 classes in a row, 300 patches, 3 sd": _mosaic(256, 300, 3, 3, True),
    "5 classes in a row, 500 patches, 3 sd": _mosaic(384, 500, 3, 5, True),
}  # fmt: skip

SHORT: dict[str, Any] = {"n_seeds": 2}


def run(
    n_seeds: int = 10,
    methods: Sequence[str] = METHODS,
    cells: Path | None = None,
    n_jobs: int = 2,
    n_rows: int = 1_000_000,
    budget: float = inf,
) -> Iterator[Table]:
    """Fit rows that depend on each other by rows and by groups, each seed drawing them; see `run_cells` for `cells`.

    `n_rows` are swept to compare the time of counts in parts and in halves. Fits begin for `budget` seconds; lines that
    lack one are left out.
    """
    if unknown := sorted({*methods} - {*METHODS}):
        raise ValueError(f"expected methods among {', '.join(METHODS)}; got {', '.join(unknown)}")
    lines = [*product([*CLOUDS, *CLUSTERS], methods)]
    keys = [(*line, seed, way) for seed in range(n_seeds) for line in lines for way in _ways(*line)]
    of_key = dict(zip(keys, run_cells(_fit, keys, cells, n_jobs, budget)))
    whole = lambda *line: all(of_key[*line, *rest] for rest in product(range(n_seeds), _ways(*line)))  # noqa: E731
    of_line = lambda *line: np.array([of_key[*line[:2], seed, line[2]] for seed in range(n_seeds)]).T  # noqa: E731
    nulls = []
    for cloud, method in filter(lambda line: whole(*line), product(CLOUDS, methods)):
        found = [of_line(cloud, method, way)[0] for way in _ways(cloud, method)]
        share = float((found[0] > 1).mean())
        alone = (float((found[1] > 1).mean()), int(found[1].max())) if len(found) > 1 else ("-", "-")
        bar = f"<= {MOST_SPLIT:g}", verdict(share <= MOST_SPLIT)
        nulls.append((cloud, method, *alone, share, int(found[0].max()), *bar))
    columns = ("cloud", "method", "split by rows", "most clusters", "by groups", "most clusters", "required", "verdict")
    yield Table(f"Share of {n_seeds} clouds without clusters that are split", columns, nulls)
    power = []
    for cloud, method in filter(lambda line: whole(*line), product(CLUSTERS, methods)):
        (by_groups, by_rows, *by_patches) = (
            float(of_line(cloud, method, way)[1].mean()) for way in _ways(cloud, method)
        )
        least = max(
            by_rows - MOST_LOST, *(known - MOST_LOST for known in by_patches), MOST_LOST
        )  # none found is none shown
        bar = f">= {least:.3f}", verdict(by_groups >= least)
        n_found = float(of_line(cloud, method, "groups")[0].mean())
        power.append((cloud, method, by_rows, (by_patches or ["-"])[0], by_groups, n_found, *bar))
    columns = (
        "clusters", "method", "NMI by rows", "by patches", "by groups", "found by groups", "required", "verdict"
    )  # fmt: skip
    yield Table(f"Clusters, means of {n_seeds} clouds; who knows the patches compares them", columns, power)

    yield _sweeps(n_rows)
    yield _passes()


def _sweeps(n_rows: int, n_columns: int = 20) -> Table:
    """Return how long the pass takes that counts parts at all branches of a tree, by that of the one of two halves."""
    rng, lines = np.random.default_rng(0), []
    parts = rng.integers(N_PARTS, size=n_rows).astype(np.uint8)
    for n_clusters in (2, 5, 20):
        y = rng.integers(n_clusters, size=n_rows)
        rows = rng.standard_normal((n_rows, n_columns)) + 8 * np.eye(n_clusters, n_columns)[y]
        tree = RandomProjectionTree(random_state=0).fit(rows[:20_000]).tree_
        inner = tree.left >= 0
        in_halves = BranchPass(
            seed=0, routes=tree.routes, first=np.cumsum([0, *inner]), directions=tree.planes[inner],
            origin=tree.origin[inner], width=tree.width[inner], n_bins=int(np.diff(tree.first_bin).max()),
            bit=np.arange(len(inner)) % 32, limit=np.zeros(len(inner), np.uint64),
        )  # fmt: skip
        runs = {
            "parts": partial(_sweep, replace(in_halves, bit=np.zeros(len(inner), np.int64), parts_at=1), rows, parts),
            "halves": partial(_sweep, in_halves, rows, parts),
        }
        interleaved(1, runs)  # compiles
        times = interleaved(7, runs)
        lines.append(ratio_row(str(np.count_nonzero(inner)), times["parts"], times["halves"], MOST_TIMES))
    columns = ("splits", "median of 7 turns", "least times", "processor time", "required", "verdict")
    title = f"Time of a sweep of {n_rows:,} x {n_columns} that counts {N_PARTS} parts, by that of one of two halves"
    return Table(title, columns, lines)


def _sweep(statistic: BranchPass, rows: np.ndarray, parts: np.ndarray, block: int = 2**16) -> None:
    for start in range(0, len(rows), block):
        statistic.chunk(start, rows[start : start + block], parts[start : start + block])


def _passes() -> Table:
    """Return how many passes over a scene without classes are made."""
    by_pixels, on_tiles = RandomProjectionTree(), RandomProjectionTree()
    with TemporaryDirectory() as folder:
        pixels = _field(np.random.default_rng(0), 192, 0).astype(np.float32)
        zarr.create_array(f"{folder}/scene.zarr", data=pixels)
        for model, asked in ((by_pixels, "none"), (on_tiles, "auto")):
            segment(f"{folder}/scene.zarr", model, labels=f"{folder}/labels.zarr", dependence=asked, overwrite=True)
    more = on_tiles.n_passes_ - by_pixels.n_passes_
    lines = [(by_pixels.n_passes_, on_tiles.n_passes_, f"<= {MOST_PASSES} more", verdict(more <= MOST_PASSES))]
    return Table("Passes over a scene of noise", ("by pixels", "by tiles", "required", "verdict"), lines)


def _ways(cloud: str, method: str) -> list[str]:
    """Return what the tests of a method compare."""
    if cloud in CLOUDS:
        return ["groups", "rows"] if method == WITHOUT_GROUPS else ["groups"]
    return ["groups", "rows", *(["patches"] if "patches" in cloud else [])]


def _fit(cloud: str, method: str, seed: int, way: str) -> tuple[int, float]:
    """Return the number of clusters, and the NMI with the known ones, 0 without any."""
    drawn = (CLOUDS | CLUSTERS)[cloud](np.random.default_rng([seed, crc32(cloud.encode())]))
    groups = {"rows": None, "groups": drawn.groups, "patches": drawn.patches}[way]
    fit = getattr(mdh_dask, method)(random_state=seed).fit(drawn.rows, groups=groups)
    return fit.n_clusters_, 0.0 if drawn.y is None else float(normalized_mutual_info_score(drawn.y, fit.labels_))
