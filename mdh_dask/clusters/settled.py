"""A plugin for workers started by a command, which leave errors and interrupts to it."""

import logging
import signal
import sys
from dataclasses import dataclass
from typing import Any

from distributed import WorkerPlugin

from .._garbage import end_without_garbage
from .._log import Others


@dataclass
class Settled(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Let every worker, also one that replaces another, leave errors and interrupts to the command.

    Parameters
    ----------
    is_process : bool
        Whether the worker is a separate process: it then exits at once, and ignores interrupts and SIGHUP,
        which a terminal sends to all its processes.
    logs_json : bool
    """

    is_process: bool
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
