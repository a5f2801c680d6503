"""From an input path to labels, model and report."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
from tqdm.auto import tqdm

from .. import __version__
from .._typing import AnyArray, Integers
from ..chunks import Statistic
from ..estimators import load_model
from ..io import open_rows, write_rows
from ..report import write_report

MissingChunks = Literal["error", "fill"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outputs:
    """What a command writes.

    Parameters
    ----------
    labels, model, report : Path or None
    overwrite : bool
        Whether they may replace what is there.
    """

    labels: Path | None = None
    model: Path | None = None
    report: Path | None = None
    overwrite: bool = False

    def check(self) -> None:
        """Raise an error now rather than after the work is done."""
        paths = [path for path in (self.labels, self.model, self.report) if path is not None]
        if not paths:
            raise ValueError("expected at least one of --out, --model and --report; got none: nothing would be kept")
        if len({path.resolve() for path in paths}) < len(paths):
            raise ValueError(f"expected different paths for the outputs; got {', '.join(map(str, paths))}")
        for path in paths:
            if path.exists() and not self.overwrite:
                raise FileExistsError(f"{path} exists: name another output, or replace it with --overwrite")
            if not path.resolve().parent.is_dir():
                raise FileNotFoundError(
                    f"the folder {path.resolve().parent} of an output does not exist: make it first"
                )


@dataclass(frozen=True)
class RowsPerLabel(Statistic):
    """Number of rows with each label, shape (n_labels,)."""

    n_labels: int

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        """Count the labels of a block."""
        return np.bincount(blocks[0], minlength=self.n_labels)

    def combine(self, left: Integers, right: Integers) -> Integers:
        """Add counts."""
        return left + right


def fit_features(features: str, estimator: Any, outputs: Outputs, missing_chunks: MissingChunks, where: str) -> str:
    """Fit an estimator to a Zarr array and write what was asked for; return a summary."""
    started = perf_counter()
    rows = open_rows(features, missing_chunks=missing_chunks)
    logger.info("%s: %s rows of %s %s features, %s blocks", features, *rows.shape, rows.dtype, rows.numblocks[0])
    estimator.fit(rows)
    logger.info("%s clusters in %s passes", estimator.n_clusters_, estimator.n_passes_)
    if outputs.model:
        estimator.save(outputs.model, overwrite=outputs.overwrite)
    if outputs.labels:
        write_labels(estimator, estimator.labels_, outputs, estimator.progress)
    seconds = perf_counter() - started
    if outputs.report:
        facts = {
            "input": features,
            **facts_of(estimator),
            "ran on": where,
            "seconds": f"{seconds:.1f}",
        }
        write_report(
            outputs.report, estimator.tree_, title=f"Clusters of {Path(features).name}", facts=facts,
            overwrite=outputs.overwrite,
        )  # fmt: skip
    kept = ", ".join(str(path) for path in (outputs.labels, outputs.model, outputs.report) if path)
    return f"{estimator.n_clusters_} clusters of {len(rows)} rows in {seconds:.1f} s: {kept}"


def predict_features(
    features: str, model: Path, outputs: Outputs, missing_chunks: MissingChunks, progress: bool
) -> str:
    """Label a Zarr array with a saved model; return a summary."""
    estimator = load_model(model)
    rows = open_rows(features, missing_chunks=missing_chunks)
    counts = write_labels(estimator, estimator.predict(rows), outputs, progress)
    return f"{len(rows)} rows in {np.count_nonzero(counts)} of {estimator.n_clusters_} clusters: {outputs.labels}"


def write_labels(estimator: Any, labels: Any, outputs: Outputs, progress: bool) -> Integers:
    """Write lazy labels in one pass; return the number of rows with each."""
    assert outputs.labels is not None
    bar = (lambda total: tqdm(total=total, desc="writing labels", unit="block")) if progress else None
    counts = write_rows(
        labels, outputs.labels, overwrite=outputs.overwrite, also=RowsPerLabel(estimator.n_clusters_), progress=bar,
        attributes={"n_clusters": int(estimator.n_clusters_)},
    )  # fmt: skip
    logger.info("labels in %s", outputs.labels)
    return counts


def facts_of(estimator: Any) -> Mapping[str, str]:
    """Return what a report says about a fitted estimator."""
    return {
        "method": type(estimator).__name__,
        "parameters": ", ".join(f"{name}={value}" for name, value in estimator.get_params().items()),
        "passes over the data": str(estimator.n_passes_),
        "mdh_dask": __version__,
    }
