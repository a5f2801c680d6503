"""Processes that call functions one after the other, each call with a limit of its time: none can stall the others."""

import os
import queue
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import psutil

ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "DASK_NUM_WORKERS"), "1")
"""One thread for each process: their number is what uses the processors."""


SLOW = "too slow"

PATIENCE = 20
"""How many times its processor time a call may take by the clock, however busy others keep the machine."""


class Failure(Exception):
    """A call that came to no result, and why."""


class Worker:
    """A process that is started when it is needed, and ended if a call takes too much processor time.

    Parameters
    ----------
    environment : dict of str
        Variables of its environment.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self._process: Any = None
        self._done: set[Any] = set()
        self._pipe: Any = None

    def call(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the value of a function of a module, called in the process; `Failure` if there is none in time."""
        if self._process is None:
            self._start()
        self._pipe.send((function, arguments))
        if not self._answers(seconds):
            self.stop()
            raise Failure(SLOW)
        try:
            done, value = self._pipe.recv()
        except EOFError:
            self.stop()
            raise Failure("failed: its process ended") from None
        if not done:
            raise Failure(value)
        return value

    def once(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function of a module in the process, unless it has been called there with these arguments."""
        if (function, arguments) not in self._done:
            self.call(seconds, function, *arguments)
            self._done.add((function, arguments))

    def _answers(self, seconds: float) -> bool:
        spent = psutil.Process(self._process.pid).cpu_times
        start, end = sum(spent()[:2]), time.monotonic() + PATIENCE * seconds
        while not self._pipe.poll(min(0.1, seconds)):
            if sum(spent()[:2]) - start > seconds or time.monotonic() > end:
                return False
        return True

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, other = context.Pipe()
        with mock.patch.dict(os.environ, self.environment):
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
        other.close()

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = self._pipe = None
            self._done.clear()


def _serve(pipe: Connection) -> None:
    warnings.simplefilter("ignore")
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, function(*arguments)
        except MemoryError:
            answer = False, "too large"
        except Exception as error:
            answer = False, f"failed: {type(error).__name__}: {error}"
        pipe.send(answer)


@contextmanager
def worker_pool(n_workers: int) -> Iterator["queue.SimpleQueue[Worker]"]:
    """Return a queue of workers; they keep the loops that one of them compiled for those that start later."""
    with TemporaryDirectory() as folder:
        environment = ENVIRONMENT | {"MDH_DASK_CACHE": folder}
        workers = [Worker(environment) for _ in range(n_workers)]
        pool: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in workers:
            pool.put(worker)
        try:
            yield pool
        finally:
            for worker in workers:
                worker.stop()
