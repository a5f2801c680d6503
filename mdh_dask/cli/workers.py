"""What the workers of a cluster have done."""

import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger(__name__)


@contextmanager
def telling_of_nodes(client: Any) -> Iterator[None]:
    """Tell, when all went well, how many tasks the workers did on each node."""
    yield
    done: Counter[str] = Counter()
    for node, tasks in client.run(_done, on_error="ignore").values():
        done[node] += tasks
    logger.info("tasks done on %s", ", ".join(f"{node}: {tasks}" for node, tasks in sorted(done.items())))


def _done(dask_worker: Any) -> tuple[str, int]:
    """Return the node of a worker, by the name that SLURM gave it if it did, and the number of its tasks so far."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname(), int(dask_worker.state.executed_count)
