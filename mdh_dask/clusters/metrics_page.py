"""Pages with the metrics and the health of a scheduler on a port of their own.

The port for HTTP of a scheduler also takes orders, such as to retire workers, by which the operator of Kubernetes
scales. Who may read metrics should not give them. Schedulers of pods load this module at their start.
"""

from typing import Any

import dask


def dask_setup(scheduler: Any) -> None:
    """Serve ``/metrics`` and ``/health`` on ``mdh-dask.metrics-port``; Dask calls this by its name."""
    from distributed.http.utils import get_handlers
    from tornado.web import Application

    pages = ["distributed.http.scheduler.prometheus", "distributed.http.health"]
    Application(get_handlers(scheduler, pages)).listen(dask.config.get("mdh-dask.metrics-port"))
