"""A filter that removes credentials from the logs of workers."""

import logging
from typing import Any

from distributed import WorkerPlugin

from .._locations import redacted


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
