"""Trees of a table of numbers and texts out of core: KDD Cup 1999, with its three text columns and without them."""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import zarr

from mdh_dask import GowerFeatures, RandomProjectionTree
from mdh_dask.metrics import normalized_mutual_information
from mdh_dask.workflows import fit

from .memory import Peaks, workers
from .shared import FOLDER, SKIPPED, Table, folder_of, verdict

SHORT: dict[str, Any] = {"most_rows": 20_000, "n_landmarks": 200}

FILE = "kddcup99_10pct.csv.gz"

TEXTS = ("protocol_type", "service", "flag")

LIMIT = 10**9

GROUP_ROWS = 32_768


def run(most_rows: int | None = None, n_landmarks: int = 500, folder: str | None = None) -> Iterator[Table]:
    """Cluster the table on workers of 1 GB, from Parquet to labels; NMI with the kinds of connections."""
    columns = (
        "columns",
        "rows",
        "what",
        "s",
        "passes",
        "components",
        "largest worker, MB",
        "NMI",
        "clusters",
        "verdict",
    )
    place = folder_of(folder)
    title = f"Labels of KDD Cup 1999 from Parquet, two workers of 1 GB, {n_landmarks} landmarks (folder: ${FOLDER})"
    if place is None or not (Path(place) / FILE).exists():
        yield Table(title, columns, [("KDD Cup 1999", *["-"] * 8, SKIPPED)])
        return
    table = pyarrow.csv.read_csv(Path(place) / FILE)
    table = table.slice(0, most_rows)
    kinds = np.unique(table["label"].to_numpy(zero_copy_only=False), return_inverse=True)[1]
    numbers = [name for name in table.column_names if name not in (*TEXTS, "label")]
    gower = GowerFeatures(n_landmarks=n_landmarks)
    contestants = {
        "38 numbers": (numbers, RandomProjectionTree(), "as they are"),
        "38 numbers, mapped": (numbers, RandomProjectionTree(feature_map=gower), "Gower"),
        "38 numbers and 3 texts": ([*TEXTS, *numbers], RandomProjectionTree(feature_map=gower), "Gower"),
    }
    with TemporaryDirectory() as scratch:
        path = f"{scratch}/table.parquet"
        pyarrow.parquet.write_table(table.drop(["label"]), path, row_group_size=GROUP_ROWS)
        del table
        yield Table(title, columns, [_line(name, path, scratch, kinds, *given) for name, given in contestants.items()])


def _line(
    name: str, path: str, scratch: str, kinds: Any, columns: list[str], estimator: Any, what: str
) -> tuple[Any, ...]:
    labels = f"{scratch}/labels.zarr"
    with workers(LIMIT) as client, Peaks(client) as peaks:
        start = time.perf_counter()
        fit(path, estimator, labels=labels, columns=columns, overwrite=True)
        seconds = time.perf_counter() - start
    found = zarr.open_array(labels, mode="r")[:]
    nmi = normalized_mutual_information(kinds, found)
    megabytes = round(peaks.largest_worker() / 1e6)
    n_components = "-" if estimator.feature_map_ is None else estimator.feature_map_.n_components_
    n_passes, n_clusters = estimator.n_passes_ + 1, estimator.n_clusters_
    fits = verdict(megabytes < LIMIT / 1e6)
    return name, len(kinds), what, seconds, n_passes, n_components, megabytes, nmi, n_clusters, fits
