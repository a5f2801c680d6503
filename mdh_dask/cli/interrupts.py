"""SIGINT, SIGTERM and SIGHUP as exceptions that end a command wherever they arrive.

Python runs a signal's handler between any two instructions of the main thread, also within the callback of a weak
reference, a ``__del__`` or a library's ``except BaseException``. An exception raised there is dropped, and the command
would go on as if no signal had come. One raised where a lock is being taken or released may leave it locked, and what
removes outputs may wait for it. And if the signal comes just before the main thread waits for a lock, the handler runs
after that wait only. So a thread hears of the signal at once, and the exception is raised again until the block that it
should end has ended.
"""

import _thread
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

LOOKS = 0.5
"""Seconds between two looks whether the exception is still on its way or was dropped."""


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM, which job schedulers send before they kill."""


class HungUp(KeyboardInterrupt):
    """The process received SIGHUP, as its terminal or connection was closed."""


KINDS: dict[int, type[KeyboardInterrupt]] = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}
if sys.platform != "win32":
    KINDS[signal.SIGHUP] = HungUp


@contextmanager
def signals_raised() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into exceptions that end the block, so that unfinished outputs are removed.

    If the block ends before the exception could reach it, or by an error, the exception is raised at its end. Handlers
    of others for SIGINT and SIGHUP stay, as does their being ignored, which a script's background jobs and ``nohup``
    inherit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = _Signals()
    try:
        yield
    except Exception as error:
        if signals.kind is not None:  # as of a lock that the interrupted code had not yet taken
            raise signals.kind from error
        raise
    finally:
        signals.close()
    if signals.kind is not None:
        raise signals.kind


class _Signals:
    def __init__(self) -> None:
        self.kind: type[KeyboardInterrupt] | None = None
        self._looks = self._closed = False
        self._before = {number: signal.getsignal(number) for number in KINDS if _is_free(number)}
        self._heard, self._tells = socket.socketpair()
        self._tells.setblocking(False)
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._look, name="mdh-dask-signals", daemon=True)
        self._thread.start()
        self._descriptor = signal.set_wakeup_fd(self._tells.fileno(), warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, self._receive)

    def close(self) -> None:
        """Restore the former handlers; a signal that comes meanwhile is only noted."""
        self._closed = True
        signal.set_wakeup_fd(self._descriptor)
        with suppress(BlockingIOError):  # it has much to hear anyway
            self._tells.send(b"\0")
        self._thread.join()
        self._heard.close()
        self._tells.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        looks, self._looks = self._looks, False
        if not looks or self.kind is None:
            self.kind = KINDS[number]
        # A second SIGTERM, as a group of processes receives it, must not end the removal of outputs; an impatient
        # SIGINT may.
        removes = (looks or number != signal.SIGINT) and _is_on_its_way()
        if not (self._closed or removes):
            raise self.kind

    def _look(self) -> None:
        """Let the main thread see, again and again after a signal, whether the exception is still on its way."""
        number = 0
        while number not in self._before and not self._closed:
            number = self._heard.recv(1)[0]
        while not self._closed:
            time.sleep(LOOKS)
            if not self._closed:
                self._looks = True
                _wake(self._main, number)


def _is_free(number: int) -> bool:
    """Return whether a signal has no handler of others and is not ignored; SIGTERM counts as free."""
    return number == signal.SIGTERM or signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


def _wake(thread: int, number: int) -> None:
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)


def _is_on_its_way() -> bool:
    """Return whether the code that the handler interrupted is cleaning up after the exception."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
