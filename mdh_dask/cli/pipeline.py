"""From an input path to labels, model and report."""

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import PurePath
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np

from .. import __version__
from .._typing import AnyArray, Integers
from ..chunks import Statistic, announced
from ..io import write_rows
from ..io.inputs import Table
from ..report import write_report
from .estimates import telling_of_memory
from .outputs import Outputs
from .reading import Reading

logger = logging.getLogger(__name__)


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


Cluster = AbstractContextManager[str]
"""Makes a cluster the current one; its value is a description."""


def fit_features(features: str, reading: Reading, estimator: Any, outputs: Outputs, cluster: Cluster) -> str:
    """Fit an estimator to what is at a path or URL and write what was asked for; return a summary."""
    table = reading.table(features)
    return f"{fit_rows(features, table, estimator, outputs, cluster)}: {outputs.kept()}"


def fit_rows(
    name: str, table: Table, estimator: Any, outputs: Outputs, cluster: Cluster, resume: str | None = None
) -> str:
    """Fit an estimator to lazy rows, which are called by a name, and write what was asked for; return a summary.

    With `resume`, the labels go on where a call with the same text was interrupted.
    """
    started = perf_counter()
    rows = table.rows
    with cluster as where, telling_of_memory(rows, estimator):
        estimator.fit(rows)
        if table.names is not None:
            estimator.feature_names_in_ = np.array(table.names, dtype=object)
        logger.info("%s clusters in %s passes", estimator.n_clusters_, estimator.n_passes_)
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
            logger.info("model written")
        if outputs.labels:
            write_labels(estimator, estimator.labels_, outputs, estimator.progress, resume)
            logger.info("labels written")
    seconds = perf_counter() - started
    if outputs.report:
        shape = f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features"
        facts = {"Input": f"{name}, {shape}", **facts_of(estimator, where, seconds)}
        write_report(
            outputs.report, estimator.tree_, title=f"Clusters of {PurePath(name).name}", facts=facts,
            feature_map=getattr(estimator.feature_map_, "map_", None), overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report written")
    return f"{estimator.n_clusters_} clusters of {len(rows)} rows in {seconds:.1f} s"


def write_labels(
    estimator: Any, labels: da.Array, outputs: Outputs, progress: bool, resume: str | None = None
) -> Integers:
    """Write lazy labels in one pass; return the number of rows with each."""
    assert outputs.labels is not None
    return write_rows(
        labels, outputs.labels, overwrite=outputs.overwrite, also=RowsPerLabel(estimator.n_clusters_),
        attributes={"n_clusters": int(estimator.n_clusters_)}, progress=announced("writing labels", progress),
        resume=resume,
    )  # fmt: skip


def facts_of(estimator: Any, where: str, seconds: float) -> Mapping[str, str]:
    """Return what a report says about how an estimator was fitted."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name != "progress"}
    return {
        "Method": type(estimator).__name__,
        "Parameters": ", ".join(f"{name}={value}" for name, value in parameters.items()),
        "Passes over the data": str(estimator.n_passes_),
        "Ran on": where,
        "Time": f"{seconds:.1f} s",
        "Software": f"mdh_dask {__version__}",
    }
