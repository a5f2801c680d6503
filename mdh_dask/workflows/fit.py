"""From an input path to labels, model and report."""

import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import dask.array as da
import numpy as np

from .._locations import name_of
from .._typing import AnyArray, Integers
from ..chunks import Statistic, announced, merge_chunks
from ..estimators import cluster_profiles
from ..estimators.profiles import moments_of, profiles_of
from ..io import write_rows
from ..io.inputs import Table
from ..report import write_report
from ..summaries.profiles import Profiles
from .estimates import telling_of_memory
from .facts import facts_of
from .outputs import Outputs
from .performance import recorded
from .reading import Reading

logger = logging.getLogger(__name__)

WIDE = 128
"""Bytes of a row of which 32 MiB have fewer labels than a chunk of these holds."""


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
    profiles = None
    with cluster as where, recorded(outputs), telling_of_memory(rows, estimator):
        estimator.fit(rows)
        estimator.name_columns(table.names)
        logger.info("%s clusters in %s passes", estimator.n_clusters_, estimator.n_passes_)
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
            logger.info("model written")
        if outputs.report and outputs.labels:
            profiles = _write_labels_and_profile(estimator, rows, outputs, resume)
        elif outputs.report:
            profiles = cluster_profiles(estimator, rows, progress=announced("profiling", estimator.progress))
        elif outputs.labels:
            write_labels(estimator, estimator.labels_, outputs, estimator.progress, resume)
    seconds = perf_counter() - started
    if outputs.report:
        shape = f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features"
        facts = facts_of(estimator, where, seconds, pass_bytes=rows.nbytes)
        write_report(
            outputs.report, estimator.tree_, title=f"Clusters of {name_of(name)}",
            facts={"Input": f"{name}, {shape}", **facts}, profiles=profiles, links=outputs.links(),
            feature_map=getattr(estimator.feature_map_, "map_", None), overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report written")
    return f"{estimator.n_clusters_} clusters of {len(rows)} rows in {seconds:.1f} s"


def write_labels(
    estimator: Any,
    labels: da.Array,
    outputs: Outputs,
    progress: bool,
    resume: str | None = None,
    also: Statistic | None = None,
    **options: Any,
) -> Any:
    """Write lazy labels in one pass; return the value of a statistic, by default the number of rows with each."""
    assert outputs.labels is not None
    value = write_rows(
        labels, outputs.labels, overwrite=outputs.overwrite, also=also or RowsPerLabel(estimator.n_clusters_),
        attributes={"n_clusters": int(estimator.n_clusters_)}, progress=announced("writing labels", progress),
        resume=resume, **options,
    )  # fmt: skip
    logger.info("labels written")
    return value


def _write_labels_and_profile(estimator: Any, rows: da.Array, outputs: Outputs, resume: str | None) -> Profiles:
    """Write the labels of rows and profile the clusters, in one pass."""
    merged = merge_chunks(rows)
    # The blocks of rows are joined to those of labels that are written together: of wide rows, more than fit in memory.
    chunk_rows = max(merged.chunks[0]) if rows.dtype.itemsize * rows.shape[1] > WIDE else None
    moments = write_labels(
        estimator, estimator.predict(merged), outputs, estimator.progress, resume, also=moments_of(estimator, rows),
        beside=merged, chunk_rows=chunk_rows,
    )  # fmt: skip
    return profiles_of(estimator, moments)
