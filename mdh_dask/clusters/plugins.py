"""Plugins of workers, which leave errors and interrupts to the command, and pages of schedulers."""

import logging
import signal
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any

import dask
from distributed import WorkerPlugin

from .._locations import redacted
from .._log import Others
from .._process import end_without_garbage


@dataclass
class WorkerSetup(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Let every worker, also one that replaces another, leave errors and interrupts to the command."""

    is_process: bool
    """Whether the worker is a separate process: it then exits at once, and ignores interrupts and SIGHUP, which a
    terminal sends to all its processes."""
    logs_json: bool

    name = "mdh-dask-settled"

    def setup(self, worker: Any) -> None:
        """Set up a new worker."""
        if self.is_process:
            end_without_garbage()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if sys.platform != "win32":
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            logging.getLogger("distributed.worker.state_machine").setLevel("ERROR")
            if self.logs_json:
                Others(besides=())
        logging.getLogger("distributed.worker").addFilter(_is_no_failed_task)

    def teardown(self, worker: Any) -> None:
        """Restore the log, which a worker on a thread shares with the workers of its process that come later."""
        logging.getLogger("distributed.worker").removeFilter(_is_no_failed_task)


def _is_no_failed_task(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Compute Failed")


class HideCredentials(WorkerPlugin):
    """Redact the logs of every worker, in which Dask shows the arguments of failed tasks, such as URLs.

    The plugin also applies to workers that start later.
    """

    name = "mdh_dask-hide-credentials"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Add the filter to the log of a worker, once."""
        logging.getLogger("distributed.worker").addFilter(_redact)


def _redact(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


PROFILES = 100
"""Profiles that a worker keeps for the dashboard, one for each second. By default Dask keeps those of the last 1000
seconds, and the memory of a worker grows until then."""


class FewProfiles(WorkerPlugin):
    """Let every worker, also one that starts later, keep the profiles of the last seconds only."""

    name = "mdh_dask-few-profiles"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Shorten what a worker keeps."""
        worker.profile_history = deque(worker.profile_history, PROFILES)
        worker.profile_keys_history = deque(worker.profile_keys_history, PROFILES)


def dask_setup(scheduler: Any) -> None:
    """Serve ``/metrics`` and ``/health`` on ``mdh-dask.metrics-port``; Dask calls this by its name.

    The port for HTTP of a scheduler also takes orders, such as to retire workers, by which the operator of Kubernetes
    scales. Who may read metrics should not give them. Schedulers of pods load this module at their start.
    """
    from distributed.http.utils import get_handlers
    from tornado.web import Application

    pages = ["distributed.http.scheduler.prometheus", "distributed.http.health"]
    Application(get_handlers(scheduler, pages)).listen(dask.config.get("mdh-dask.metrics-port"))
