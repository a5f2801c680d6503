"""The workflow that clusters stored rows and writes labels, model and report."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .._errors import SettingError
from .._locations import name_of
from .._typing import AnyArray, Integers, RowArray
from .._words import full_count
from ..chunks import Statistic, Together, announced, holds_compact, is_dask, merge_chunks
from ..estimators.history import check_columns_of, continued
from ..estimators.models import load_model
from ..estimators.profiles import report_data, report_data_of, report_pass
from ..estimators.tables import renamed
from ..io import write_rows
from ..io.inputs import Table, TypedTable
from ..io.parquet import is_label_table, label_table
from ..report import write_report
from ..summaries.words import columns_in_words
from .facts import Cluster, computing, facts_of
from .outputs import Outputs
from .reading import MissingChunks, Reading, takes_types
from .row_files import RowsBeside, StoredBeside, check_ids

logger = logging.getLogger(__name__)

WIDE = 128
"""Rows of more bytes than this fill a 32 MiB block with fewer labels than one chunk of labels holds."""


@dataclass(frozen=True)
class RowsPerLabel(Statistic):
    """Number of rows with each label from the lowest, shape (n_labels,)."""

    n_labels: int
    lowest: int = 0

    def chunk(self, start: int, *blocks: AnyArray) -> Integers:
        return np.bincount(blocks[0] - self.lowest, minlength=self.n_labels)


class BesideIds(Together):
    """Statistics of the labels for which ids are written."""

    def chunk(self, start: int, *blocks: AnyArray) -> tuple[Any, ...]:
        return super().chunk(start, *blocks[1:])


class FitLine(str):
    """A line on a fit for people, with what its labels count."""

    counts: Integers | None = None


class FitResult(NamedTuple):
    """The result of clustering an input."""

    summary: str
    counts: Integers | None
    """Number of rows with each label from the lowest; None if the rows were not labelled."""
    n_without: int = 0
    """Number of pixels without data."""

    def line(self, outputs: Outputs) -> FitLine:
        """Return the summary with the paths of the outputs."""
        line = FitLine(f"{self.summary}: {outputs.kept()}")
        line.counts = self.counts
        return line


def fit(
    features: str,
    estimator: Any,
    *,
    labels: str | None = None,
    model: str | None = None,
    report: str | None = None,
    confidence: str | None = None,
    previous: str | None = None,
    ids: bool = False,
    columns: Sequence[str | int] | None = None,
    known_labels: str | None = None,
    weight_column: str | int | None = None,
    groups: str | int | None = None,
    id_column: str | int | None = None,
    text_column: str | int | None = None,
    missing_chunks: MissingChunks = "error",
    overwrite: bool = False,
    cluster: Cluster | None = None,
) -> FitLine:
    """Cluster stored rows and write any of labels, a model and a report.

    The passes are those of the estimator, plus one that writes the labels and profiles the clusters for the report.

    Parameters
    ----------
    features : str
        Path or URL of rows of finite numbers, shape (n_rows, n_columns): a Zarr array, a ``.npy`` file, a Parquet
        file or folder, or a ``.csv`` file; typed columns of tables for estimators that take them; sparse rows, as for
        `open_features`.
    estimator : estimator
        The estimator to fit.
    labels, model : str, optional
        Paths or URLs of a Zarr array of int32, shape (n_rows,), or of a Parquet file with the columns ``row`` and
        ``label``; and of a model for `load_model`.
    report : str, optional
        Path or URL of an HTML report on the clusters.
    confidence : str, optional
        Path or URL of a Zarr array of float32, shape (n_rows,): how sure each label is; needs `labels`.
    previous : str, optional
        Path or URL of a model of the night before, whose ids clusters keep; see `mdh_dask.continued`. One more pass.
    ids : bool, default=False
        Whether to write the ids of clusters in place of their labels.
    columns : sequence of str or int, optional
        Columns to use, in this order: names in a table, otherwise numbers from 0. All by default.
    known_labels : str, optional
        Path or URL of the labels of some rows, for trees and `SemiSupervisedMDH`: a Zarr array or ``.npy`` file of
        integers, -1 for rows without a label, or a ``.csv`` or Parquet file with the columns ``row`` and ``label``.
    weight_column : str or int, optional
        Column that says how many equal rows each row stands for, in whole numbers from 0, and is not clustered: a name
        in a table, otherwise a number.
    groups : str or int, optional
        Column that names the group of each row and is not clustered, for estimators whose `fit` takes `groups`: rows of
        one group, such as a donor or a day, may depend on each other.
    id_column : str or int, optional
        Column that names each row and is not clustered; it is beside the labels in Parquet, in place of ``row``.
    text_column : str or int, optional
        Column with a text for each row, which is not clustered: its words name the clusters. Two more passes.
    missing_chunks : {"error", "fill"}, default="error"
        Whether missing chunks of a Zarr array are an error or hold the fill value.
    overwrite : bool, default=False
        Whether to replace existing outputs.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    str
        One line with the number of clusters and the paths of the outputs.

    Raises
    ------
    ValueError
        If no output is given, one is inside another, or the rows cannot be clustered.
    FileNotFoundError, FileExistsError
        If the input is missing, or an output exists and `overwrite` is False; before any work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mdh_dask import PCATree, load_model
    >>> with TemporaryDirectory() as folder:
    ...     np.save(
    ...         f"{folder}/x.npy", np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    ...     )
    ...     _ = fit(f"{folder}/x.npy", PCATree(), model=f"{folder}/model.zarr")
    ...     load_model(f"{folder}/model.zarr").n_clusters_
    2
    """
    outputs = Outputs(labels, model, report, overwrite, confidence=confidence, ids=ids)
    stored = StoredBeside(known_labels, weight_column, groups, missing_chunks, id_column, text_column)
    stored.check(estimator)
    check_ids(id_column, labels)
    outputs.check(features, known_labels or None, previous or None)
    table = Reading(missing_chunks, stored.clustered(features, columns)).table(features, takes_types(estimator))
    return fit_rows(features, table, estimator, outputs, cluster, stored, previous).line(outputs)


def fit_rows(
    name: str,
    table: Table | TypedTable,
    estimator: Any,
    outputs: Outputs,
    cluster: Cluster | None,
    stored: StoredBeside,
    previous: str | None = None,
    resume: str | None = None,
) -> FitResult:
    """Fit an estimator to lazy rows, of which `name` is the path, and write the outputs.

    With `resume`, writing continues where an interrupted call with the same text stopped.
    """
    before = None if previous is None else load_model(previous)
    if before is not None:
        check_columns_of(before, table.rows.shape[1], table.names)
    beside = stored.open(name, len(table.rows))
    check_confidence(estimator, outputs)
    started = perf_counter()
    data = counts = None
    with computing(cluster, table.rows, estimator, name) as where:
        beside = beside.read()
        rows = _fit(estimator, table, beside, before)
        n_clusters = full_count(estimator.n_clusters_, "cluster")
        if outputs.model:
            estimator.save(outputs.model, overwrite=outputs.overwrite)
            logger.info("model written")
        if outputs.report and outputs.labels:
            profile = report_pass(estimator, rows)
            value = write_labels(
                estimator, merge_chunks(rows), outputs, estimator.progress, beside, resume, profile=profile
            )
            data = report_data_of(estimator, value)
        elif outputs.report:
            data = report_data(estimator, rows, progress=estimator._bar("profiling"))
        elif outputs.labels:
            counts = write_labels(estimator, rows, outputs, estimator.progress, beside, resume)
    seconds = perf_counter() - started
    if outputs.report:
        shape = f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features"
        n_after = 1 + (before is not None) + (beside.texts is not None)  # for ids, and for names
        facts = facts_of(
            estimator, where, seconds, pass_bytes=None if holds_compact(rows) else rows.nbytes, n_after=n_after
        )
        write_report(
            outputs.report, estimator.state_.tree, title=f"Clusters of {name_of(name)}",
            facts={"Input": f"{name}, {shape}", **beside.facts(), **facts},
            profiles=data and data.profiles, sample=data and (data.rows, data.labels),
            feature_map=estimator.state_.feature_map, images=estimator.report_pictures(),
            history=estimator.history_, merges=estimator.merges_, overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report written")
    summary = f"{n_clusters} of {full_count(len(rows), 'row')} in {seconds:.1f} s"
    return FitResult(summary, counts if data is None else data.profiles.n_rows)


def _fit(estimator: Any, table: Table | TypedTable, beside: RowsBeside, before: Any) -> RowArray:
    """Fit an estimator, keep the ids of the model `before`, name columns and clusters; return the rows as numbers."""
    estimator.fit(table.source, **beside.for_fit())
    if before is not None:
        estimator._history = continued(estimator, before, table.source).history_
        logger.info("ids of clusters: %s", ", ".join(map(str, estimator.ids_)))
    estimator._name_columns(table.names)
    if table.names is not None and estimator._notes is not None and any(map(len, estimator._notes)):
        logger.info("%s", columns_in_words(estimator._notes, table.names, estimator.columns))
    if beside.texts is not None:
        estimator.name_clusters(table.source, beside.texts)
    logger.info("%s in %s", full_count(estimator.n_clusters_, "cluster"), full_count(estimator.n_passes_, "pass"))
    if estimator.n_clusters_ == 1:
        for line in estimator.why().splitlines():
            logger.info("%s", line)
    return estimator._read(table.source).array


def write_labels(
    estimator: Any,
    rows: RowArray,
    outputs: Outputs,
    progress: bool,
    beside: RowsBeside,
    resume: str | None = None,
    profile: Statistic | None = None,
) -> Any:
    """Write the labels of rows, and confidence, in one pass.

    Return the value of `profile`, a statistic of labels and rows, or without it the number of rows with each label.
    """
    place, noise = outputs.labels, int(estimator.noise)
    assert place is not None
    if is_label_table(place):
        with label_table(place, outputs.overwrite, beside.ids, beside.id_name, beside.id_type) as array:
            return write_labels(estimator, rows, replace(outputs, labels=array), progress, beside, profile=profile)
    written = labels = estimator._labels_of_valid_rows(rows)
    counted: Statistic = RowsPerLabel(estimator.n_clusters_ + noise, -noise) if profile is None else profile
    counts_of = () if profile is None else (rows,)
    if outputs.ids:
        counts_of, counted = (labels, *counts_of), BesideIds((counted,))
        written = renamed(labels, np.append(estimator.ids_, -1).astype(np.int32))
    companions, chunk_rows = None, None
    if outputs.confidence:
        # Of as many bytes as labels, so that both have the same chunks.
        companions = {outputs.confidence: estimator._of_valid_rows(rows, "agreeing", "float32")}
    if outputs.confidence or profile is not None:
        chunk_rows = _rows_of_chunk(rows)
    value = write_rows(
        written, place, overwrite=outputs.overwrite, also=counted, beside=counts_of, chunk_rows=chunk_rows,
        attributes={"n_clusters": int(estimator.n_clusters_)}, companions=companions, resume=resume,
        progress=announced("writing labels", progress),
    )  # fmt: skip
    logger.info("labels written")
    return value[0] if outputs.ids else value


def _rows_of_chunk(rows: RowArray) -> int | None:
    """Return the rows of a chunk of labels that are written with what else their rows tell; None for the usual.

    Such a chunk needs all its rows at once, and wide rows of that many labels would not fit in memory.
    """
    wide = is_dask(rows) and rows.dtype.itemsize * rows.shape[1] > WIDE
    return max(merge_chunks(rows).chunks[0]) if wide else None


def check_confidence(estimator: Any, outputs: Outputs) -> None:
    """Raise an error if an estimator knows no confidence, but it is to be written."""
    if outputs.confidence is not None and not hasattr(estimator, "confidence"):
        raise SettingError(f"expected a method with confidence; {type(estimator).__name__} has none: leave it out")
