"""What holes cost: a scene of six bands with 30 % without data beside one without holes, on two workers of 1 GB."""

import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import zarr

from mdh_dask import RandomProjectionTree
from mdh_dask.images import open_image
from mdh_dask.workflows.outputs import ImageOutputs
from mdh_dask.workflows.pixels import PixelOptions, segment_image

from .giant import CHUNK, COLOURS, NOISE, check_space
from .memory import N_WORKERS, Peaks, trouble_of, workers
from .shared import Table, verdict

SHORT: dict[str, Any] = {"side": 3000}

BANDS = [0, 1, 2, 3, 0, 2]

REPEAT = 8
"""Chunks after which the ground repeats, but not the holes."""

EDGE = 8
"""Lines and columns of a step in the edges of holes."""

SHARE = 0.3
"""Share of pixels without data."""

KINDS = {"without holes": False, "30 % without data": True}


def run(side: int = 20_000, alone: bool = False) -> Iterator[Table]:
    """Segment two square scenes on workers of their own; another cluster, gone by then, writes each.

    With `alone`, only the one with holes.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        check_space(folder, side * side * len(BANDS))
        lines: list[tuple[Any, ...]] = []
        events: list[tuple[Any, ...]] = []
        for what, holes in KINDS.items():
            if alone and not holes:
                continue
            with workers():
                _store_scene(folder / "scene.zarr", side, holes)
                _store_scene(folder / "warm.zarr", CHUNK, holes)
            with workers() as client, Peaks(client) as peaks:
                _segmented(folder / "warm.zarr", folder / "w.zarr")  # compiles
                before, start = _processor_seconds(client), time.perf_counter()
                summary = _segmented(folder / "scene.zarr", folder / "labels.zarr")
                seconds = time.perf_counter() - start
                used = _processor_seconds(client) - before
                largest, trouble = round(1e-6 * peaks.largest_worker()), sum(trouble_of(client).values())
            lines.append((what, used, seconds, largest, summary.split(" segments")[0], summary.split(",")[1:-1]))
            complete = open_image(folder / "labels.zarr").shape[:2] == (side, side)
            events.append((f"{what}: paused, removed, restarted", trouble, "none", verdict(trouble == 0)))
            events.append((f"{what}: labels complete", complete, "True", verdict(complete)))
    title = f"{side} x {side} x {len(BANDS)} uint8, {N_WORKERS} workers of 1 GB, pixels all used, labels written"
    columns = ("scene", "processor s of workers", "s", "largest worker, MB", "segments", "counts")
    yield Table(title, columns, [(*line[:-1], " ".join(line[-1]).strip() or "-") for line in lines])
    compared: list[tuple[Any, ...]] = [("largest worker, MB", lines[-1][3], "< 1000", verdict(lines[-1][3] < 1000))]
    if not alone:
        ratio, larger = lines[1][1] / lines[0][1], lines[1][3] / lines[0][3]
        compared.append(("processor seconds, times without holes", ratio, "< 1", verdict(ratio < 1)))
        compared.append(("largest worker, times without holes", larger, "<= 1.1", verdict(larger <= 1.1)))
    yield Table("With holes", ("what", "found", "required", "verdict"), compared + events)


def _segmented(path: Path, out: Path) -> str:
    outputs = ImageOutputs(str(out), overwrite=True)
    return segment_image(
        open_image(path, missing_chunks="fill"), RandomProjectionTree(), PixelOptions(), outputs, nullcontext("workers")
    ).summary


def _processor_seconds(client: Any) -> float:
    return sum(client.run(time.process_time).values())


def _store_scene(path: Path, side: int, holes: bool) -> None:
    """Write a scene of six kinds of ground, chunk by chunk; where there are no data it is 0.

    The ground repeats after `REPEAT` chunks, whose files are copied: a large scene takes little time to write.
    """
    chunks = (CHUNK, CHUNK, len(BANDS))
    declared = {"_FillValue": 0} if holes else {}
    ground = zarr.create_array(
        path.with_suffix(".ground"), shape=(REPEAT * CHUNK, REPEAT * CHUNK, len(BANDS)), chunks=chunks, dtype="u1",
        overwrite=True,
    )  # fmt: skip
    array = zarr.create_array(
        path, shape=(side, side, len(BANDS)), chunks=chunks, dtype="u1", attributes=declared, overwrite=True
    )
    coarse = np.linspace(0, side, 200)
    limit = float(np.quantile(_shape(coarse[:, None], coarse[None], side), SHARE)) if holes else -np.inf
    n_chunks = -(-side // CHUNK)
    n_ground = min(REPEAT, n_chunks)
    for n, write, options in (
        (n_ground, _write_ground, {"target": ground}),
        (n_chunks, _write_chunk, {"target": array, "ground": ground, "limit": limit}),
    ):
        ones = ((1,) * n, (1,) * n)
        written = da.map_blocks(write, chunks=ones, dtype=bool, meta=np.empty((0, 0), bool), **options)
        assert written.all().compute()
    shutil.rmtree(path.with_suffix(".ground"))


def _shape(lines: np.ndarray, columns: np.ndarray, side: int) -> np.ndarray:
    """Return what is below a limit outside the tilted swath of a satellite, and in clouds."""
    y, x = lines / side, columns / side
    swath = np.minimum(x + 0.2 * y, 1.2 - x - 0.2 * y)
    clouds = np.sin(17 * y + 3 * np.sin(11 * x)) + np.sin(23 * x + 2 * np.cos(19 * y)) + 0.3 * np.sin(190 * x * y)
    return np.minimum(4 * swath, 1.2 + 0.5 * clouds)


def _place(block_id: tuple[int, int], shape: tuple[int, ...]) -> tuple[slice, slice]:
    y, x = (slice(CHUNK * i, min(CHUNK * (i + 1), n)) for i, n in zip(block_id, shape))
    return y, x


def _write_ground(target: zarr.Array, block_id: tuple[int, int]) -> np.ndarray:
    y, x = _place(block_id, target.shape)
    rng = np.random.default_rng(block_id)
    lines, columns = np.arange(y.start, y.stop)[:, None], np.arange(x.start, x.stop)[None]
    waves = np.sin(lines / 700 + np.sin(columns / 900)) + np.sin(columns / 1100 + np.cos(lines / 400))
    kind = ((waves + 2) * (len(COLOURS) / 4 - 1e-6)).astype(np.intp)
    noise = rng.integers(0, NOISE, (2, *kind.shape, len(BANDS)), dtype=np.uint8).sum(axis=0, dtype=np.uint8)
    target[y, x] = (COLOURS[kind][..., BANDS] + noise).clip(1)
    return np.ones((1, 1), bool)


def _write_chunk(target: zarr.Array, ground: zarr.Array, limit: float, block_id: tuple[int, int]) -> np.ndarray:
    y, x = _place(block_id, target.shape)
    lines, columns = np.arange(y.start, y.stop, EDGE)[:, None], np.arange(x.start, x.stop, EDGE)[None]
    outside = _shape(lines, columns, target.shape[0]) < limit
    own = (block_id[0] % REPEAT, block_id[1] % REPEAT)
    if not outside.any():
        file, source = (
            Path(a.store.root, a.path, "c", *map(str, i), "0") for a, i in ((target, block_id), (ground, own))
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, file)
    elif not outside.all():
        outside = outside.repeat(EDGE, axis=0).repeat(EDGE, axis=1)[: y.stop - y.start, : x.stop - x.start]
        pixels = np.asarray(ground[_place(own, ground.shape)])[: outside.shape[0], : outside.shape[1]]
        target[y, x] = np.where(outside[..., None], np.uint8(0), pixels)
    return np.ones((1, 1), bool)
