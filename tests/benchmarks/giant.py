"""What it takes to segment an image far larger than all workers together, beside reading it once."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask.array as da
import numpy as np
import zarr
from sklearn.cluster import KMeans, MiniBatchKMeans

from mdh_dask import RandomProjectionTree
from mdh_dask.images import Image, open_image, pixel_rows
from mdh_dask.metrics import adjusted_rand_index
from mdh_dask.workflows.outputs import Outputs
from mdh_dask.workflows.pixels import segment_image
from mdh_dask.workflows.reading import PixelOptions

from .memory import N_WORKERS, Peaks, trouble_of, workers
from .peers import why_missing
from .shared import Table, check_space, verdict

SHORT: dict[str, Any] = {"side": 4000}

N_BANDS, CHUNK = 4, 1024

COLOURS = np.array(
    [(30, 50, 80, 20), (40, 80, 40, 160), (110, 140, 60, 200), (160, 120, 90, 110), (170, 170, 175, 60),
     (205, 190, 140, 160)], np.uint8,
)  # fmt: skip
"""Of water, forest, fields, soil, town and sand: red, green, blue and near infrared."""

NOISE = 24

REPEAT = 4
"""Chunks after which the ground repeats."""

EMBEDDINGS = {
    "spatial:transform": [10.0, 0.0, 4e5, 0.0, 10.0, 5e6], "proj:code": "EPSG:32633", "nodata": -128
}  # fmt: skip
"""Attributes of embeddings, which are stored from the south."""

SAMPLE = 100_000


def run(side: int = 40_000, bands: int = N_BANDS, alone: bool = False) -> Iterator[Table]:
    """Segment a square image on two workers of 1 GB; a cluster of its own, gone by then, writes the image.

    Four bands are colours as uint8; any other number, such as 64, are embeddings as int8 in the form of AlphaEarth.
    With `alone`, the tree is only grown on a sample.
    """
    table, attributes = ground(bands), {} if bands == N_BANDS else EMBEDDINGS
    size = f"{side**2 * bands / 1e9:.3g} GB, of {REPEAT**2} different chunks"
    with TemporaryDirectory() as name:
        folder = Path(name)
        check_space(folder, space_of(side, bands))
        with workers():
            store_scene(folder / "image.zarr", side, table, attributes)
            store_scene(folder / "warm.zarr", CHUNK, table, attributes)
        with workers() as client, Peaks(client) as peaks:
            for name, options in (("a", PixelOptions()), ("b", PixelOptions(sample=5000))):  # compiles on all sides
                _segmented(folder / "warm.zarr", folder / name, options)
            image = folder / "image.zarr"
            lines = [_line("read once", side, peaks, _read, image)]
            for what, options in [
                (f"tree grown on {SAMPLE:,} pixels, all labelled", PixelOptions(sample=SAMPLE)),
                ("tree grown on all pixels, all labelled", PixelOptions()),
            ][: 1 if alone else 2]:
                lines.append(_line(what, side, peaks, _segmented, image, folder / f"labels {len(lines)}", options))
            trouble = trouble_of(client)
        beside = list(_beside_k_means(folder / "warm.zarr", bands))
        complete = all(open_image(folder / f"labels {i}.zarr").shape[:2] == (side, side) for i in range(1, len(lines)))
    columns = ("work", "s", "processor s", "of 1e6 pixels", "largest worker so far, MB", "segments, passes")
    yield Table(f"{side} x {side} x {bands} {table.dtype} ({size}), {N_WORKERS} workers", columns, lines)
    yield Table("Largest resident sets", ("process", "before, MB", "peak, MB", "required", "verdict"), peaks.lines())
    events = [(what, trouble[what], "none", verdict(trouble[what] == 0)) for what in ("paused", "removed", "restarted")]
    columns = ("method", "fit: processor s", "labels: processor s", "clusters", "ARI with the ground")
    yield Table(f"Fitted to {SAMPLE:,} pixels, and {CHUNK**2:,} labelled, in this process", columns, beside)
    yield Table("Events", ("event", "count", "required", "verdict"), [
        *events, ("labels complete", complete, "True", verdict(complete)),
    ])  # fmt: skip


def _line(what: str, side: int, peaks: Peaks, work: Callable[..., str], *given: Any) -> tuple[Any, ...]:
    """Return a line of the table, with what some work took."""
    start, before = time.perf_counter(), peaks.processor_seconds()
    found = work(*given)
    seconds, used = time.perf_counter() - start, peaks.processor_seconds() - before
    return what, seconds, used, 1e6 * used / side**2, round(peaks.largest_worker() / 1e6), found


def _read(path: Path) -> str:
    da.from_zarr(path).sum(dtype=np.int64).compute()
    return "-, 1"


def _beside_k_means(path: Path, bands: int) -> Iterator[tuple[Any, ...]]:
    """Fit the tree, and k-means of the true number of clusters, to the same pixels of one chunk, and label all."""
    rows = pixel_rows(_opened(path)).compute(scheduler="threads")
    kinds = _kinds(*(np.arange(CHUNK),) * 2)
    truth = (kinds if bands == N_BANDS else kinds[::-1]).ravel()  # embeddings are read from the north
    k, sample = len(np.unique(truth)), rows[np.random.default_rng(0).choice(len(rows), SAMPLE, replace=False)]
    models = {
        "RandomProjectionTree, number found": RandomProjectionTree(random_state=0),
        "KMeans, number given": KMeans(k, random_state=0),
        "MiniBatchKMeans, number given": MiniBatchKMeans(k, random_state=0),
    }
    for name, model in models.items():
        model.fit(sample[:1000])  # compiles
        times = [time.process_time()]
        model.fit(sample)
        times.append(time.process_time())
        labels = model.predict(rows)
        times.append(time.process_time())
        yield name, *np.diff(times).tolist(), len(np.unique(labels)), adjusted_rand_index(truth, labels)
    if missing := why_missing("pyshepseg"):
        yield f"pyshepseg ({missing})", *[float("nan")] * 2, 0, float("nan")
    else:
        yield _by_shepherd(np.moveaxis(zarr.open_array(path)[:], -1, 0))


def _by_shepherd(bands: np.ndarray) -> tuple[Any, ...]:
    """Segment stored numbers into connected regions, as pyshepseg does: not kinds of ground, so without an ARI."""
    from pyshepseg.shepseg import doShepherdSegmentation, fitSpectralClusters

    settings = {"numClusters": 60, "imgNullVal": None, "fixedKMeansInit": False}  # its own
    doShepherdSegmentation(bands[:, :100, :100])  # compiles
    times = [time.process_time()]
    clusters = fitSpectralClusters(bands, subsamplePcnt=100 * SAMPLE / CHUNK**2, **settings)
    times.append(time.process_time())
    found = doShepherdSegmentation(bands, kmeansObj=clusters).segimg
    times.append(time.process_time())
    return "pyshepseg, connected regions", *np.diff(times).tolist(), int(found.max()), float("nan")


def _opened(path: Path) -> Image:
    image = open_image(path)
    return open_image(path, dequantise="alphaearth") if image.dtype == np.int8 else image


def _segmented(path: Path, out: Path, options: PixelOptions) -> str:
    """Segment an image on the current cluster; return the numbers of segments and of passes over the pixels."""
    outputs = Outputs(f"{out}.zarr", of_image=True, preview=f"{out}.png")
    model = RandomProjectionTree()
    segment_image(_opened(path), model, options, outputs, nullcontext("workers"))
    return f"{model.n_clusters_}, {model.n_passes_ + 1}"


def space_of(side: int, bands: int) -> int:
    """Return the most bytes of the ground of a scene, its holes left aside, and of its labels."""
    return min(REPEAT * CHUNK, side + CHUNK) ** 2 * bands + 3 * side**2


def ground(bands: int) -> np.ndarray:
    """Return the stored numbers of six kinds of ground: colours, or vectors of length 1 as AlphaEarth stores them."""
    if bands == N_BANDS:
        return COLOURS
    vectors = np.random.default_rng(0).normal(size=(len(COLOURS), bands))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.rint(np.sign(vectors) * np.sqrt(np.abs(vectors)) * 127.5).clip(-100, 100).astype(np.int8)


Outside = Callable[[tuple[slice, slice]], np.ndarray]
"""Returns where lines and columns of a scene hold no data."""


def store_scene(
    path: Path, side: int, table: np.ndarray, attributes: Mapping[str, Any], outside: Outside | None = None
) -> None:
    """Write a square scene of six kinds of ground in winding bands, with noise, chunk by chunk; 0 is no data.

    The ground repeats after `REPEAT` chunks in both directions. Their files are linked, not copied: a scene of any size
    is whole for those who read it, and takes little time and space to write.
    """
    about: dict[str, Any] = {"chunks": (CHUNK, CHUNK, table.shape[1]), "dtype": table.dtype, "attributes": attributes}
    repeated = REPEAT * CHUNK
    first = zarr.create_array(path.with_suffix(".ground"), shape=(repeated, repeated, table.shape[1]), **about)
    array = zarr.create_array(
        path, shape=(side, side, table.shape[1]), dimension_names=("y", "x", "band"), overwrite=True, **about
    )
    n_chunks = -(-side // CHUNK)
    for n, write, options in (
        (min(REPEAT, n_chunks), _write_ground, {"target": first, "table": table}),
        (n_chunks, _link_chunk, {"target": array, "ground": first, "outside": outside}),
    ):
        ones = ((1,) * n, (1,) * n)
        written = da.map_blocks(write, chunks=ones, dtype=bool, meta=np.empty((0, 0), bool), **options)
        assert written.all().compute()
    shutil.rmtree(path.with_suffix(".ground"))


def _place(block_id: tuple[int, int], shape: tuple[int, ...]) -> tuple[slice, slice]:
    y, x = (slice(CHUNK * i, min(CHUNK * (i + 1), n)) for i, n in zip(block_id, shape))
    return y, x


def _kinds(lines: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the kind of ground of every pixel."""
    y, x = lines[:, None], columns[None]
    waves = np.sin(y / 700 + np.sin(x / 900)) + np.sin(x / 1100 + np.cos(y / 400))
    return ((waves + 2) * (len(COLOURS) / 4 - 1e-6)).astype(np.intp)


def _write_ground(target: zarr.Array, table: np.ndarray, block_id: tuple[int, int]) -> np.ndarray:
    y, x = _place(block_id, target.shape)
    rng = np.random.default_rng(block_id)
    kind = _kinds(np.arange(y.start, y.stop), np.arange(x.start, x.stop))
    noise = rng.integers(0, NOISE, (2, *kind.shape, table.shape[1]), dtype=np.uint8).sum(axis=0, dtype=np.uint8)
    target[y, x] = table[kind] + (noise - np.uint8(NOISE) if table.dtype == np.int8 else noise).view(table.dtype)
    return np.ones((1, 1), bool)


def _link_chunk(
    target: zarr.Array, ground: zarr.Array, outside: Outside | None, block_id: tuple[int, int]
) -> np.ndarray:
    place, own = _place(block_id, target.shape), (block_id[0] % REPEAT, block_id[1] % REPEAT)
    without = None if outside is None else outside(place)
    if without is None or not without.any():
        file, source = (
            Path(a.store.root, a.path, "c", *map(str, i), "0") for a, i in ((target, block_id), (ground, own))
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, file)
    elif not without.all():
        pixels = np.asarray(ground[_place(own, ground.shape)])[: without.shape[0], : without.shape[1]]
        target[place] = np.where(without[..., None], pixels.dtype.type(0), pixels)
    return np.ones((1, 1), bool)
