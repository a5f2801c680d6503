"""The workflow that compares new rows with a model."""

import logging
from collections.abc import Mapping, Sequence
from time import perf_counter, time

from .. import __version__
from .._locations import name_of, redacted
from ..chunks import announced
from ..clusters.current import current_cluster
from ..clusters.suited import suited
from ..columns.coding import TypedRows
from ..estimators.drift import drift as drift_of_rows
from ..estimators.level_counts import with_unseen_levels
from ..estimators.models import load_model
from ..images.validity import Nodata
from ..io.openmetrics import as_openmetrics, is_gateway, write_metrics
from ..io.staging import check_file
from ..report import write_report
from ..summaries.drift import Drift
from ._fit import Cluster
from .estimates import telling_of_memory
from .outputs import Outputs, check_separate, check_writable
from .reading import MissingChunks, Reading, opened_for_model, source_for_model

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
        outputs.check(features, model)
    if openmetrics is not None and not is_gateway(openmetrics):
        check_writable(openmetrics)
        check_separate(openmetrics, features, model, *([report] if report else []))
        check_file(openmetrics, True, "drift.prom")
    limits = {"threshold": threshold, "filled": filled, "false_alarms": false_alarms}
    estimator = load_model(model)
    reading = Reading(missing_chunks, columns, axes, index or {}, nodata, mask)
    rows_of, n_bytes = opened_for_model(estimator, model, features, reading)
    started = perf_counter()
    with suited(cluster or current_cluster(), n_bytes) as where:
        rows = rows_of()
        with telling_of_memory(rows, estimator):
            there = rows if estimator.columns is None else TypedRows(rows, estimator.columns)
            found = drift_of_rows(estimator, there, **limits, progress=announced("counting", progress))
            if any(of_column.n_unseen for of_column in found.levels):
                found = with_unseen_levels(found, estimator, source_for_model(estimator, features, reading).source)
    if openmetrics is not None:
        _write_metrics(found, openmetrics, features, model)
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
            feature_map=getattr(estimator.state_, "feature_map", None), overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report in %s", outputs.report)
    return found


def _write_metrics(found: Drift, path: str, features: str, model: str) -> None:
    shares = found.to_dict()["shares"]
    values: dict[str, float] = {"found": int(found.found), "alarms": len(found.alarms), "rows": int(found.n_rows[1])}
    if shares["value"] is not None:
        values["moved_share"] = shares["value"]
    values["timestamp_seconds"] = time()
    labels = {"features": redacted(features), "model": redacted(model)}
    write_metrics(path, as_openmetrics(values, GAUGES, labels, "mdh_dask_drift_"))
    logger.info("metrics in %s", redacted(path))
