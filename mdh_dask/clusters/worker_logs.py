"""What workers log of tasks that fail: their arguments, but no credentials."""

import logging
from typing import Any

from distributed import WorkerPlugin

from .._locations import redacted


class HideCredentials(WorkerPlugin):
    """Redacts what every worker logs of tasks, of which Dask shows the arguments, as the URL of an array.

    It stays with the workers, some of which may start later.
    """

    name = "mdh_dask-hide-credentials"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Filter the log of a worker; the same filter is added once."""
        logging.getLogger("distributed.worker").addFilter(_redact)


def _redact(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True
