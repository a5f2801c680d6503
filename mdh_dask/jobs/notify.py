"""The end of a run as metrics for monitors, in the format OpenMetrics."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._fields import JobError
from .._locations import redacted

if TYPE_CHECKING:
    from .job import Job

logger = logging.getLogger(__name__)

OPENMETRICS = "MDH_DASK_OPENMETRICS"
"""Environment variable with the place of the metrics of jobs that name none."""

PREFIX = "mdh_dask_job_"

METRICS = {
    "exit_code": ("", "Exit code of the last run; 0 if it ended well."),
    "last_run_timestamp_seconds": ("", "When the last run ended."),
    "last_success_timestamp_seconds": ("", "When the last run that ended well did."),
    "rows": ("n_rows", "Rows, or pixels with data, that were clustered."),
    "rows_without_data": ("n_without_data", "Pixels without data."),
    "clusters": ("n_clusters", "Clusters that were found."),
    "passes": ("passes", "Passes over the data."),
    "pass_seconds": ("seconds", "Time of all passes."),
    "scenes": ("n_scenes", "Scenes that are done."),
    "scenes_labelled": ("n_labelled", "Scenes that the last night labelled."),
    "scenes_drifted": ("n_drifted", "Scenes of the last night that are not distributed as those of the model."),
    "scenes_without_data": ("n_scenes_without_data", "Scenes of the last night without data."),
    "scenes_damaged": ("n_damaged", "Scenes that the last night could not use."),
    "clusters_born": ("n_born", "Clusters of the last night that are new where no cluster was."),
    "clusters_split": ("n_split", "Clusters of the last night that split from others."),
    "clusters_merged": ("n_merged", "Clusters that merged with others in the last night."),
    "clusters_died": ("n_died", "Clusters that had no more rows in the last night."),
    "model_version": ("model_version", "Version of the model that labelled the last scenes."),
    "attempts": ("", "Runs that it took, with those that were interrupted."),
}
"""Names of the metrics without `PREFIX`: the key of the manifest that each is, if it is one, and what it is."""

ABOUT = {name: text for name, (_, text) in METRICS.items()}

OF_MANIFEST = {name: key for name, (key, _) in METRICS.items() if key}


@dataclass
class Notified:
    """A run whose end is reported; `job` is set once the job file has been read."""

    job: "Job | None" = None


@contextmanager
def notify(exit_code: Callable[[BaseException], int]) -> Iterator[Notified]:
    """Write the metrics of a run to `openmetrics` of its table ``[run]``.

    What goes wrong here is logged, and never hides how the job ended.
    """
    notified, code = Notified(), 0
    try:
        yield notified
    except BaseException as error:
        code = exit_code(error)
        raise
    finally:
        try:
            _write(notified.job, code)
        except Exception as error:  # its text may hold the URL
            logger.warning("metrics were not written: %s", type(error).__name__)


def _write(job: "Job | None", code: int) -> None:
    path = job and (job.run["openmetrics"] or os.environ.get(OPENMETRICS))
    if job is None or not path:
        return
    from ..io.openmetrics import as_openmetrics, write_metrics
    from .state import FINISHED, Work

    job_file, earlier = redacted(str(job.path)), dict[str, float]()
    try:
        metrics, whose = _earlier_metrics(path)
        earlier = metrics if whose == job_file else {}
    except Exception as error:  # of any kind, as the file may be anything
        logger.warning("%s: no metrics of an earlier run (%s), it is replaced", path, type(error).__name__)
    now = time.time()
    values: dict[str, float] = {"exit_code": code, "last_run_timestamp_seconds": now}
    if code == 0:
        values["last_success_timestamp_seconds"] = now
    if manifest := Work(job.work).manifest(FINISHED):  # also of a night that ended with an error of some scenes
        values |= {name: manifest[key] for name, key in OF_MANIFEST.items() if manifest.get(key) is not None}
        values["attempts"] = len(manifest["attempts"]) - manifest.get("attempts_before", 0)  # of other nights
    labels = {"job_file": job_file, "job_name": job.run["name"] or job.path.stem}
    write_metrics(path, as_openmetrics(earlier | values, ABOUT, labels, PREFIX))


def check_own(path: str, job: Path) -> None:
    """Raise a JobError if a file for the metrics of a job holds those of another job, which is still there."""
    whose = ""
    with suppress(Exception):  # missing, damaged or not reached: that is reported at the end of the run
        whose = _earlier_metrics(path)[1]
    if whose not in ("", redacted(str(job))) and Path(whose).exists():
        raise JobError(f"run.openmetrics: {path} holds the metrics of another job, {whose}: name another file")


def _earlier_metrics(path: str) -> tuple[dict[str, float], str]:
    """Return the metrics in a file, and the job file of which they are; none if there is no file.

    A Pushgateway keeps what is not pushed again by itself.
    """
    from ..io.openmetrics import is_gateway, read_gauges
    from ..io.paths import file_exists, read_file

    if is_gateway(path) or not file_exists(path):
        return {}, ""
    values, labels = read_gauges(read_file(path).decode(), ABOUT, PREFIX)
    return values, labels.get("job_file", "")
