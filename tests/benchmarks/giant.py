"""What it takes to segment an image far larger than all workers together, beside reading it once."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import zarr

from mdh_dask import RandomProjectionTree
from mdh_dask.images import open_image
from mdh_dask.workflows.outputs import Outputs
from mdh_dask.workflows.pixels import PixelOptions, segment_image

from .memory import N_WORKERS, Peaks, trouble_of, workers
from .shared import Table, verdict

SHORT: dict[str, Any] = {"side": 4000}

N_BANDS, CHUNK = 4, 1024

COLOURS = np.array(
    [(30, 50, 80, 20), (40, 80, 40, 160), (110, 140, 60, 200), (160, 120, 90, 110), (170, 170, 175, 60),
     (205, 190, 140, 160)], np.uint8,
)  # fmt: skip
"""Of water, forest, fields, soil, town and sand: red, green, blue and near infrared."""

NOISE = 24

EMBEDDINGS = {
    "spatial:transform": [10.0, 0.0, 4e5, 0.0, 10.0, 5e6], "proj:code": "EPSG:32633", "nodata": -128
}  # fmt: skip
"""Attributes of embeddings, which are stored from the south."""

SAMPLE = 100_000


def run(side: int = 40_000, bands: int = N_BANDS) -> Iterator[Table]:
    """Segment a square image on two workers of 1 GB; a cluster of its own, gone by then, writes the image.

    Four bands are colours as uint8; any other number, such as 64, are embeddings as int8 in the form of AlphaEarth.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        size = side * side * bands
        check_space(folder, size)
        with workers():
            _store_image(folder / "image.zarr", side, bands)
            _store_image(folder / "warm.zarr", CHUNK, bands)
        stored = sum(file.stat().st_size for file in (folder / "image.zarr").rglob("*") if file.is_file())
        lines: list[tuple[Any, ...]] = []
        with workers() as client, Peaks(client) as peaks:
            for name, options in (("a", PixelOptions()), ("b", PixelOptions(sample=5000))):  # compiles on all sides
                _segmented(folder / "warm.zarr", folder / name, options)
            reading = _seconds(lambda: da.from_zarr(folder / "image.zarr").sum(dtype=np.int64).compute())
            lines.append(("read once", reading, 1.0, round(1e-6 * peaks.largest_worker()), "-"))
            for what, options in (
                (f"tree grown on {SAMPLE:,} pixels, all labelled", PixelOptions(sample=SAMPLE)),
                ("tree grown on all pixels, all labelled", PixelOptions()),
            ):
                start = time.perf_counter()
                summary = _segmented(folder / "image.zarr", folder / f"{len(lines)}", options)
                seconds = time.perf_counter() - start
                largest = round(1e-6 * peaks.largest_worker())
                lines.append((what, seconds, seconds / reading, largest, summary.split(" segments")[0]))
            trouble = trouble_of(client)
        complete = all(open_image(folder / f"{i}.zarr").shape[:2] == (side, side) for i in (1, 2))
    dtype = ground(bands).dtype
    title = f"{side} x {side} x {bands} {dtype} ({size / 1e9:.3g} GB, stored {stored / 1e9:.3g}), {N_WORKERS} workers"
    yield Table(title, ("work", "s", "times reading", "largest worker so far, MB", "segments"), lines)
    yield Table("Largest resident sets", ("process", "before, MB", "peak, MB", "required", "verdict"), peaks.lines())
    events = [(what, trouble[what], "none", verdict(trouble[what] == 0)) for what in ("paused", "removed", "restarted")]
    yield Table("Events", ("event", "count", "required", "verdict"), [
        *events, ("labels complete", complete, "True", verdict(complete)),
    ])  # fmt: skip


def _segmented(path: Path, out: Path, options: PixelOptions) -> str:
    """Segment an image on the current cluster; return the summary."""
    outputs = Outputs(f"{out}.zarr", of_image=True, preview=f"{out}.png")
    image = open_image(path)
    if image.dtype == np.int8:
        image = open_image(path, dequantise="alphaearth")
    return segment_image(image, RandomProjectionTree(), options, outputs, nullcontext("workers")).summary


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def check_space(folder: Path, size: int) -> None:
    """Raise an error unless a folder has room for an image of `size` bytes and its labels."""
    free = shutil.disk_usage(folder).free
    if free < 1.6 * size:
        raise OSError(
            f"the image and its labels take up to {1.6 * size / 1e9:.3g} GB, and {folder} has {free / 1e9:.3g} GB "
            "free: set TMPDIR to a folder with more room"
        )


def ground(bands: int) -> np.ndarray:
    """Return the stored numbers of six kinds of ground: colours, or vectors of length 1 as AlphaEarth stores them."""
    if bands == N_BANDS:
        return COLOURS
    vectors = np.random.default_rng(0).normal(size=(len(COLOURS), bands))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.rint(np.sign(vectors) * np.sqrt(np.abs(vectors)) * 127.5).clip(-100, 100).astype(np.int8)


def _store_image(path: Path, side: int, bands: int) -> None:
    """Write an image of six kinds of ground in winding bands, with noise, chunk by chunk."""
    array = zarr.create_array(
        path, shape=(side, side, bands), chunks=(CHUNK, CHUNK, bands), dtype=ground(bands).dtype,
        dimension_names=("y", "x", "band"), attributes=EMBEDDINGS if bands != N_BANDS else {},
    )  # fmt: skip
    blocks = da.core.normalize_chunks((CHUNK, CHUNK), (side, side))
    written = da.map_blocks(_write_chunk, chunks=((1,) * len(blocks[0]), (1,) * len(blocks[1])), dtype=bool,
                            target=array, meta=np.empty((0, 0), bool))  # fmt: skip
    assert written.all().compute()


def _write_chunk(target: zarr.Array, block_id: tuple[int, int]) -> np.ndarray:
    y, x = (slice(CHUNK * i, min(CHUNK * (i + 1), n)) for i, n in zip(block_id, target.shape))
    rng = np.random.default_rng(block_id)
    lines, columns = np.arange(y.start, y.stop)[:, None], np.arange(x.start, x.stop)[None]
    waves = np.sin(lines / 700 + np.sin(columns / 900)) + np.sin(columns / 1100 + np.cos(lines / 400))
    kind = ((waves + 2) * (len(COLOURS) / 4 - 1e-6)).astype(np.intp)
    table = ground(target.shape[2])
    noise = rng.integers(0, NOISE, (2, *kind.shape, table.shape[1]), dtype=np.uint8).sum(axis=0, dtype=np.uint8)
    target[y, x] = table[kind] + (noise - np.uint8(NOISE) if table.dtype == np.int8 else noise).view(table.dtype)
    return np.ones((1, 1), bool)
