"""How often the data are read: what the estimator says, beside the loads of every block that were counted."""

from collections.abc import Iterator
from threading import Lock
from typing import Any

import dask
import numpy as np

from mdh_dask import RandomProjectionTree
from mdh_dask.simulate import gaussian_mixture

from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_rows": 200_000, "seeds": (0,)}

COLUMNS = ("mode", "seed", "clusters", "depth", "fit", "fit + labels", "counted loads", "required", "verdict")


class CountedLoads:
    """Passes a block on and counts it."""

    def __init__(self) -> None:
        self.n, self.lock = 0, Lock()

    def __call__(self, block: np.ndarray) -> np.ndarray:
        """Count the block."""
        with self.lock:
            self.n += 1
        return block

    def __dask_tokenize__(self) -> object:
        return id(self)


def run(n_rows: int = 1_000_000, exact_projections: int = 50, seeds: tuple[int, ...] = (0, 1, 2)) -> Iterator[Table]:
    """Count the passes of the million-row case, on samples and exact."""
    rows = [_line("sample", n_rows, seed, {}) for seed in seeds]
    exact = {"sample_size": None, "n_projections": exact_projections}
    rows += [_line(f"exact, {exact_projections} directions", n_rows, seed, exact) for seed in seeds[:1]]
    yield Table(f"Passes over {n_rows} rows of 50 columns", COLUMNS, rows)


def _line(mode: str, n_rows: int, seed: int, parameters: dict[str, Any]) -> tuple[Any, ...]:
    X, _ = gaussian_mixture(n_rows, 50, 20, chunk_rows=max(1, min(32_768, n_rows // 4)), random_state=seed)
    loads = CountedLoads()
    counted = X.map_blocks(loads, dtype=X.dtype, meta=X._meta)
    with dask.config.set(scheduler="threads"):
        model = RandomProjectionTree(random_state=seed, **parameters).fit(counted)
        model.labels_.compute()
    depth = int(model.tree_.level.max())
    exact = "sample_size" in parameters
    passes, most = model.n_passes_ + 1, depth + 3 if exact else 3
    required = f"fit <= depth + 2, that is {depth + 2}" if exact else "fit + labels <= 3"
    per_block = loads.n / X.numblocks[0]
    holds = passes <= most and per_block == passes
    return mode, seed, model.n_clusters_, depth, model.n_passes_, passes, per_block, required, verdict(holds)
