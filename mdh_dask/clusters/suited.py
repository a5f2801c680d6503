"""The choice between threads of this process and workers on this machine, by the size of the rows."""

import logging
from contextlib import AbstractContextManager
from types import TracebackType

import dask

from .current import local_cluster, this_process

logger = logging.getLogger(__name__)

SMALL = 2**27
"""Bytes of rows that threads of this process cluster: a few blocks, for which starting workers is not worth while."""


class Suited(AbstractContextManager[str]):
    """Workers on this machine, or the threads of this process for few rows: the cluster of commands that name none.

    Entered before the size of the rows is known, it starts workers.
    """

    def __init__(self) -> None:
        self._local = local_cluster()

    def for_bytes(self, n_bytes: float) -> AbstractContextManager[str]:
        """Return the cluster for rows of a size, which may be NaN if it is unknown."""
        configured = {*dask.config.get("mdh-dask.cluster").values()} - {None, "auto"}
        if n_bytes <= SMALL and not configured:
            logger.info("small input: computing on threads of this process")
            return this_process("threads")
        return self._local

    def __enter__(self) -> str:
        return self._local.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._local.__exit__(kind, error, trace)


def suited(cluster: AbstractContextManager[str], n_bytes: float) -> AbstractContextManager[str]:
    """Return a cluster for rows of a size: the given one, unless it leaves the choice."""
    return cluster.for_bytes(n_bytes) if isinstance(cluster, Suited) else cluster
