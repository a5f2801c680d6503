"""What holes cost: a scene of six bands with 30 % without data beside one without holes, on two workers of 1 GB."""

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from mdh_dask import RandomProjectionTree
from mdh_dask.images import open_image
from mdh_dask.workflows.outputs import Outputs
from mdh_dask.workflows.pixels import segment_image
from mdh_dask.workflows.reading import PixelOptions

from .giant import CHUNK, COLOURS, space_of, store_scene
from .memory import N_WORKERS, Peaks, trouble_of, workers
from .shared import Table, check_space, verdict

SHORT: dict[str, Any] = {"side": 3000}

BANDS = [0, 1, 2, 3, 0, 2]

EDGE = 8
"""Lines and columns of a step in the edges of holes."""

SHARE = 0.3
"""Share of pixels without data."""

KINDS = {"without holes": False, "30 % without data": True}


WARM = 3 * CHUNK
"""Lines and columns of a scene that is segmented first, so that every worker has compiled and imported its code."""


class Found(NamedTuple):
    """What segmenting a scene once took."""

    processor: float
    seconds: float
    largest: int
    trouble: int
    complete: bool
    summary: str


def run(side: int = 20_000, repeats: int = 1, alone: bool = False) -> Iterator[Table]:
    """Segment two square scenes in turns, each time on new workers; another cluster, gone by then, writes both.

    Times are medians of the repeats. With `alone`, only the scene with holes.
    """
    kinds = {what: holes for what, holes in KINDS.items() if holes or not alone}
    with TemporaryDirectory() as name:
        folder = Path(name)
        check_space(folder, len(kinds) * (space_of(side, len(BANDS)) + SHARE * side**2 * len(BANDS)))
        with workers():
            for what, holes in kinds.items():
                _store_scene(folder / f"{what}.zarr", side, holes)
                _store_scene(folder / f"{what} warm.zarr", WARM, holes)
        found: dict[str, list[Found]] = {what: [] for what in kinds}
        for _ in range(repeats):
            for what, own in found.items():
                own.append(_found(folder, what, side))
    title = f"{side} x {side} x {len(BANDS)} uint8, {N_WORKERS} workers of 1 GB, pixels all used, labels written"
    columns = ("scene", "processor s of workers", "s", "largest worker, MB", "segments", "counts")
    yield Table(title, columns, [_line(what, own) for what, own in found.items()])
    yield Table("With holes", ("what", "found", "required", "verdict"), [*_compared(*found.values()), *_events(found)])


def _found(folder: Path, what: str, side: int) -> Found:
    with workers() as client, Peaks(client) as peaks:
        _segmented(folder / f"{what} warm.zarr", folder / "w.zarr")
        before, start = peaks.processor_seconds(), time.perf_counter()
        summary = _segmented(folder / f"{what}.zarr", folder / "labels.zarr")
        seconds = time.perf_counter() - start
        used = peaks.processor_seconds() - before
        largest, trouble = round(1e-6 * peaks.largest_worker()), sum(trouble_of(client).values())
    complete = open_image(folder / "labels.zarr").shape[:2] == (side, side)
    return Found(used, seconds, largest, trouble, complete, summary)


def _line(what: str, found: Sequence[Found]) -> tuple[Any, ...]:
    segments, counts = found[0].summary.split(" segments")[0], found[0].summary.split(",")[1:-1]
    return what, *_typical(found), segments, " ".join(counts).strip() or "-"


def _typical(found: Sequence[Found]) -> tuple[float, float, int]:
    """Return the median times and the largest worker of all."""
    return median(f.processor for f in found), median(f.seconds for f in found), max(f.largest for f in found)


def _compared(*found: Sequence[Found]) -> list[tuple[Any, ...]]:
    """Compare the last scene, with holes, with the limit and with the one before, if there is one."""
    processor, seconds, largest = _typical(found[-1])
    lines: list[tuple[Any, ...]] = [("largest worker, MB", largest, "< 1000", verdict(largest < 1000))]
    for whole in found[:-1]:
        other = _typical(whole)
        ratio, longer, larger = processor / other[0], seconds / other[1], largest / other[2]
        lines.append(("processor seconds, times without holes", ratio, "< 1", verdict(ratio < 1)))
        lines.append(("seconds, times without holes", longer, "-", "-"))
        lines.append(("largest worker, times without holes", larger, "<= 1.1", verdict(larger <= 1.1)))
    return lines


def _events(found: dict[str, list[Found]]) -> Iterator[tuple[Any, ...]]:
    for what, own in found.items():
        trouble, complete = sum(f.trouble for f in own), all(f.complete for f in own)
        yield f"{what}: paused, removed, restarted", trouble, "none", verdict(trouble == 0)
        yield f"{what}: labels complete", complete, "True", verdict(complete)


def _segmented(path: Path, out: Path) -> str:
    outputs = Outputs(str(out), of_image=True, overwrite=True)
    return segment_image(
        open_image(path, missing_chunks="fill"), RandomProjectionTree(), PixelOptions(), outputs, nullcontext("workers")
    ).summary


def _store_scene(path: Path, side: int, holes: bool) -> None:
    """Write a scene, in which it is 0 where there are no data."""
    coarse = np.linspace(0, side, 200)
    limit = float(np.quantile(_shape(coarse[:, None], coarse[None], side), SHARE))
    outside = partial(_outside, side=side, limit=limit) if holes else None
    store_scene(path, side, COLOURS[:, BANDS], {"_FillValue": 0} if holes else {}, outside)


def _shape(lines: np.ndarray, columns: np.ndarray, side: int) -> np.ndarray:
    """Return what is below a limit outside the tilted swath of a satellite, and in clouds."""
    y, x = lines / side, columns / side
    swath = np.minimum(x + 0.2 * y, 1.2 - x - 0.2 * y)
    clouds = np.sin(17 * y + 3 * np.sin(11 * x)) + np.sin(23 * x + 2 * np.cos(19 * y)) + 0.3 * np.sin(190 * x * y)
    return np.minimum(4 * swath, 1.2 + 0.5 * clouds)


def _outside(place: tuple[slice, slice], side: int, limit: float) -> np.ndarray:
    """Return where there are no data, in steps of `EDGE`."""
    lines, columns = (np.arange(one.start, one.stop) // EDGE * EDGE for one in place)
    return _shape(lines[:, None], columns[None], side) < limit
