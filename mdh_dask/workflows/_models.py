"""The workflows with a saved model: labels of new rows or pixels, and how these differ."""

import logging
from collections.abc import Mapping, Sequence
from time import perf_counter, time
from typing import Any

import numpy as np

from .. import __version__
from .._errors import SettingError
from .._locations import name_of, redacted
from .._typing import Integers
from .._words import full_count
from ..chunks import announced
from ..clusters.current import cluster_for, current_cluster
from ..columns.coding import TypedRows
from ..estimators.drift import drift as drift_of_rows
from ..estimators.drift import with_unseen_levels
from ..estimators.models import load_model
from ..images.rows import all_rows
from ..images.validity import Nodata
from ..io.openmetrics import as_openmetrics, is_gateway, write_metrics
from ..report import write_report
from ..summaries.drift import Drift
from ._fit import check_confidence, write_labels
from .facts import Cluster, computing, telling_of_memory
from .outputs import Outputs, check_metrics
from .pixels import describe, labelled
from .reading import (
    MissingChunks,
    Reading,
    image_for_model,
    knows_names,
    opened_for_model,
    rows_for_model,
    source_for_model,
)
from .row_files import StoredBeside, check_ids


def predict(
    features: str,
    model: str,
    labels: str,
    *,
    preview: str | None = None,
    confidence: str | None = None,
    ids: bool = False,
    id_column: str | int | None = None,
    columns: Sequence[str | int] | None = None,
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: MissingChunks = "error",
    nodata: Nodata = None,
    mask: str | None = None,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Cluster | None = None,
) -> str:
    """Label stored rows, or the pixels of an image, with a saved model, in one pass.

    Parameters
    ----------
    features : str
        Path or URL of rows, as for `fit`, where a table needs only the columns of the model; or of an image,
        if the model was fitted by `segment`.
    model : str
        Path or URL of the model.
    labels : str
        Path or URL of the output: a Zarr array of int32, shape (n_rows,), a Parquet file with the columns ``row`` and
        ``label``, or an image of labels.
    preview : str, optional
        Path or URL of a PNG to write for an image: the segments in their mean colours.
    confidence : str, optional
        Path or URL of a Zarr array of float32, shape (n_rows,), to write for rows: how sure each label is.
    ids : bool, default=False
        Whether to write the ids of clusters in place of their labels, for rows; see `mdh_dask.continued`.
    id_column, columns : optional
        As in `fit`.
    axes, index : optional
        As in `segment`.
    missing_chunks : {"error", "fill"}, default="error"
        As in `fit`.
    nodata, mask : optional
        As in `segment`; by default the `nodata` of the model.
    overwrite : bool, default=False
        Whether to replace existing outputs.
    progress : bool, default=False
        Whether to show progress bars.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    str
        One line with the number of clusters that have rows and the path of the labels.

    Raises
    ------
    ValueError
        If the columns or bands differ from those of the model, or a parameter is for the other kind of input.
    FileNotFoundError, FileExistsError
        If the input or the model is missing, or an output exists and `overwrite` is False; before any work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mdh_dask import PCATree
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    >>> with TemporaryDirectory() as folder:
    ...     PCATree().fit(X).save(f"{folder}/model.zarr")
    ...     np.save(f"{folder}/new.npy", X[:200])
    ...     predict(f"{folder}/new.npy", f"{folder}/model.zarr", f"{folder}/labels.zarr").split(":")[0]
    '200 rows in 1 of 2 clusters'
    """
    estimator = load_model(model)
    if estimator.pixel_columns_ is None:
        if preview is not None:
            raise SettingError(f"{model} was fitted to rows, and not to an image: leave out preview=...")
        outputs = Outputs(labels, overwrite=overwrite, confidence=confidence, ids=ids)
        check_confidence(estimator, outputs)
        check_ids(id_column, labels)
        outputs.check(features, model)
        stored = StoredBeside(missing_chunks=missing_chunks, id_column=id_column)
        own = _columns_of_model(estimator, features, columns, stored)
        reading = Reading(missing_chunks, own, axes, index or {}, nodata, mask)
        rows = rows_for_model(estimator, model, features, reading)
        beside = stored.open(features, len(rows))
        with computing(cluster, rows, estimator, features):
            counts = write_labels(estimator, rows, outputs, progress, beside)
        return f"{full_count(len(rows), 'row')} in {_found(counts, estimator, 'clusters')}: {outputs.kept()}"
    if ids or id_column is not None:
        raise SettingError(
            f"{model} was fitted to an image, whose labels are written: leave out ids=True and id_column=..."
        )
    if confidence is not None:
        raise SettingError(f"{model} was fitted to an image, whose confidence is not written: leave out confidence=...")
    outputs = Outputs(labels, overwrite=overwrite, preview=preview, of_image=True)
    outputs.check(features, model, mask or None)
    reading = Reading(missing_chunks, columns, axes, index or {}, nodata, mask)
    image = image_for_model(estimator, model, features, reading)
    with computing(cluster, all_rows(image, estimator.pixel_columns_.features), estimator, features):
        seen = labelled(image, estimator, outputs, progress)
    describe(seen, image, estimator, outputs)
    without = f", {seen.n_without} without data" if seen.n_without else ""
    pixels = f"{image.shape[1]} x {image.shape[0]} pixels"
    return f"{pixels} in {_found(seen.sizes, estimator, 'segments')}{without}: {outputs.kept()}"


def _columns_of_model(
    estimator: Any, features: str, columns: Sequence[str | int] | None, beside: StoredBeside
) -> Sequence[str | int] | None:
    """Return the columns to read for a model: without names all but those beside, otherwise those that it knows."""
    others = beside.clustered(features, columns)
    return columns if knows_names(estimator, features) else others


def _found(counts: Integers, estimator: Any, groups: str) -> str:
    """Return how many groups have rows, and how many rows are in none if there may be any."""
    noise = int(estimator.noise)
    found = f"{np.count_nonzero(counts[noise:])} of {estimator.n_clusters_} {groups}"
    return f"{found}, {counts[0]:,} in none" if noise else found


logger = logging.getLogger(__name__)

GAUGES = {
    "found": "Whether the new rows are not distributed as those of the model.",
    "alarms": "Splits and clusters with drift.",
    "rows": "New rows.",
    "moved_share": "Share of rows that has moved to other clusters.",
    "timestamp_seconds": "When the rows were compared.",
}
"""Metrics of a comparison, and what they are."""


def drift(
    features: str,
    model: str,
    *,
    report: str | None = None,
    openmetrics: str | None = None,
    threshold: float = 0.1,
    filled: float = 0.5,
    false_alarms: float = 0.001,
    groups: str | int | None = None,
    columns: Sequence[str | int] | None = None,
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: MissingChunks = "error",
    nodata: Nodata = None,
    mask: str | None = None,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Cluster | None = None,
) -> Drift:
    """Compare stored rows, or the pixels of an image, with the rows of a saved model, in one pass.

    If some pixels may hold no data, one more pass counts the others; if a column of a table has levels that the model
    does not know, one more finds their names.

    Parameters
    ----------
    features, model : str
        As in `predict`.
    report : str, optional
        Path or URL of the HTML report to write.
    openmetrics : str, optional
        Path or URL of a file for Prometheus to write or replace, or ``http://HOST:9091/metrics/job/NAME`` of a
        Pushgateway: whether there is drift, and how many alarms and rows.
    threshold, filled, false_alarms : float
        As in `mdh_dask.drift`.
    groups : str or int, optional
        Column of `features` that names the group of each row, as in `fit`; one more pass.
    columns, axes, index, missing_chunks, nodata, mask : optional
        As in `predict`.
    overwrite : bool, default=False
        Whether to replace an existing report.
    progress : bool, default=False
        Whether to show progress bars.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    Drift
        The changes at every split and cluster.

    Raises
    ------
    ValueError
        If the columns or bands differ from those of the model.
    FileNotFoundError, FileExistsError
        If the input or the model is missing, or the report exists and `overwrite` is False; before any work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from mdh_dask import PCATree
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    >>> with TemporaryDirectory() as folder:
    ...     PCATree().fit(X).save(f"{folder}/model.zarr")
    ...     np.save(f"{folder}/new.npy", X[:200])
    ...     drift(f"{folder}/new.npy", f"{folder}/model.zarr").found
    True
    """
    outputs = Outputs(report=report, overwrite=overwrite)
    if report is not None:
        outputs.check(features, model, mask or None)
    if openmetrics is not None:
        check_metrics(openmetrics, features, model, mask or None, report)
    limits = {"threshold": threshold, "filled": filled, "false_alarms": false_alarms}
    estimator = load_model(model)
    if groups is not None and estimator.pixel_columns_ is not None:
        raise SettingError(f"{model} was fitted to an image, which has no column for groups: leave it out")
    beside = StoredBeside(groups=groups, missing_chunks=missing_chunks)
    columns = _columns_of_model(estimator, features, columns, beside)
    reading = Reading(missing_chunks, columns, axes, index or {}, nodata, mask)
    rows_of, n_bytes = opened_for_model(estimator, model, features, reading)
    started = perf_counter()
    with cluster_for(cluster or current_cluster(), n_bytes) as where:
        rows = rows_of()
        with telling_of_memory(rows, estimator):
            there = rows if estimator.columns is None else TypedRows(rows, estimator.columns)
            known = beside.open(features, len(rows)).groups
            bar = announced("counting", progress)
            found = drift_of_rows(estimator, there, **limits, groups=known, progress=bar)
            if any(of_column.n_unseen for of_column in found.levels):
                found = with_unseen_levels(found, estimator, source_for_model(estimator, features, reading).source)
    if outputs.report:
        facts = {
            "New rows": f"{features}, {rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features",
            "Model": f"{model}, {type(estimator).__name__}",
            "Limits": ", ".join(f"{name} {value:g}" for name, value in limits.items()),
            "Ran on": where,
            "Time": f"{perf_counter() - started:.1f} s",
            "Software": f"mdh_dask {__version__}",
        }
        write_report(
            outputs.report, found.old, title=f"Drift of {name_of(features)}", facts=facts, drift=found,
            merges=estimator.merges_, overwrite=outputs.overwrite,
            feature_map=estimator.state_.feature_map,
        )  # fmt: skip
        logger.info("report in %s", outputs.report)
    if openmetrics is not None:
        _write_metrics(found, openmetrics, features, model)
    return found


def _write_metrics(found: Drift, path: str, features: str, model: str) -> None:
    shares = found.to_dict()["shares"]
    values: dict[str, float] = {"found": int(found.found), "alarms": len(found.alarms), "rows": int(found.n_rows[1])}
    if shares["value"] is not None:
        values["moved_share"] = shares["value"]
    values["timestamp_seconds"] = time()
    labels = {"features": redacted(features), "model": redacted(model)}
    try:
        write_metrics(path, as_openmetrics(values, GAUGES, labels, "mdh_dask_drift_"))
    except OSError as error:
        if not is_gateway(path):
            raise
        logger.warning("%s", error)  # what was found is there all the same
    else:
        logger.info("metrics in %s", redacted(path))
