"""A density tree of ten million rows on two workers of 1 GB: passes, processor seconds, memory, and what it finds."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mdh_dask import DensityTree
from mdh_dask.io import open_rows, write_rows
from mdh_dask.metrics import normalized_mutual_information

from .memory import N_WORKERS, Peaks, trouble_of, workers
from .partitions_scale import moons_in_noise
from .shared import CHUNK_ROWS, Table, verdict

SHORT: dict[str, Any] = {"n_rows": 100_000}

N_CLUSTERS, MOST_PASSES, LEAST_NMI = 4, 4, 0.95


def run(n_rows: int = 10_000_000) -> Iterator[Table]:
    """Cluster two pairs of moons in noise, which a store holds, on two workers of 1 GB."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        X, y = moons_in_noise(n_rows)
        write_rows(X, folder / "rows.zarr", chunk_rows=min(CHUNK_ROWS, n_rows))
        with workers() as client:
            DensityTree().fit(X[:5000])  # compiles the loops
            del X
            with Peaks(client) as peaks:
                before = _processor_seconds(peaks)
                model = DensityTree().fit(open_rows(folder / "rows.zarr"))
                fitted = _processor_seconds(peaks)
                write_rows(model.labels_, folder / "labels.zarr")
                done = _processor_seconds(peaks)
                lines = peaks.lines()
            trouble = trouble_of(client)
        labels = np.asarray(open_rows(folder / "labels.zarr", ndim=1))
    known, passes = y >= 0, model.n_passes_ + 1
    nmi = normalized_mutual_information(y[known], labels[known])
    trouble_seen = sum(trouble[what] for what in ("paused", "removed", "restarted"))
    found = [
        ("passes with labels", passes, MOST_PASSES, verdict(passes <= MOST_PASSES)),
        ("clusters", model.n_clusters_, N_CLUSTERS, verdict(model.n_clusters_ == N_CLUSTERS)),
        ("NMI", nmi, LEAST_NMI, verdict(nmi >= LEAST_NMI)),
        ("workers paused or lost", trouble_seen, 0, verdict(trouble_seen == 0)),
        ("processor seconds of the fit, all processes", fitted - before, "-", "-"),
        ("processor seconds of the labels", done - fitted, "-", "-"),
    ]
    title = f"DensityTree of {n_rows} rows of four moons in noise on {N_WORKERS} workers of 1 GB"
    yield Table(title, ("what", "value", "required", "verdict"), found)
    yield Table("Largest resident sets", ("process", "before, MB", "peak, MB", "required", "verdict"), lines)


def _processor_seconds(peaks: Peaks) -> float:
    """Return the processor seconds of the workers and of this process until now."""
    return sum(sum(process.cpu_times()[:2]) for process in peaks.processes.values())
