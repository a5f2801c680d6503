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
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

LOOKS = 0.5
"""Seconds between two looks whether the exception is still on its way, if Python does not say that it was dropped."""

PATIENCE = 15.0
"""Seconds for which the main thread may only wait while it cleans up. Job schedulers kill 30 s after SIGTERM."""

WORK = 0.01
"""Seconds of processor time that are more than waiting takes, in which there are only looks."""


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
        self._asked_to_look = self._closed = False
        self._hook: Any = None
        self._idle_since = self._work = 0.0
        self._before = {number: signal.getsignal(number) for number in KINDS if _is_free(number)}
        # Its `put` may interrupt itself; those of other queues, events and threads that start would wait for ever.
        self._told: SimpleQueue[None] = SimpleQueue()
        self._heard, self._tells = socket.socketpair()
        self._tells.setblocking(False)
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._ask, name="mdh-dask-signals", daemon=True)
        self._thread.start()
        self._descriptor = signal.set_wakeup_fd(self._tells.fileno(), warn_on_full_buffer=False)
        for number in self._before:
            signal.signal(number, self._receive)

    def close(self) -> None:
        """Restore the former handlers; a signal that comes meanwhile is only noted."""
        self._closed = True
        signal.set_wakeup_fd(self._descriptor)
        self._told.put(None)
        with suppress(BlockingIOError):  # it has much to hear anyway
            self._tells.send(b"\0")
        self._thread.join()
        self._heard.close()
        self._tells.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._hook is not None:
            sys.unraisablehook = self._hook

    def _receive(self, number: int, frame: FrameType | None) -> None:
        looks, self._asked_to_look = self._asked_to_look, False
        if not looks or self.kind is None:
            self._note(number)
        # A second SIGTERM, as a group of processes receives it, must not end the removal of outputs; an impatient
        # SIGINT may.
        removes = (looks or number != signal.SIGINT) and _is_on_its_way() and not self._waits_in_vain()
        if self._closed or self._is_in_hook(frame) or removes:
            return
        assert self.kind is not None
        raise self.kind

    def _note(self, number: int) -> None:
        self.kind = KINDS[number]
        if self._hook is None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped

    def _waits_in_vain(self) -> bool:
        """Return whether the main thread, which cleans up, has done nothing for so long that it waits for ever."""
        now, work = time.monotonic(), time.thread_time()
        if self._idle_since == 0 or work - self._work > WORK:
            self._idle_since, self._work = now, work
        if now - self._idle_since < PATIENCE:
            return False
        self._idle_since = now
        return True

    def _dropped(self, about: Any) -> None:
        """Stand in for ``sys.unraisablehook``."""
        if isinstance(about.exc_value, KeyboardInterrupt):
            self._told.put(None)
        else:
            self._hook(about)

    def _is_in_hook(self, frame: FrameType | None) -> bool:
        while frame is not None and frame.f_code is not _Signals._dropped.__code__:
            frame = frame.f_back
        return frame is not None

    def _ask(self) -> None:
        """Let the main thread look, from a thread of its own, whether the exception is still on its way."""
        number = 0
        while number not in self._before and not self._closed:
            number = self._heard.recv(1)[0]
        while not self._closed:
            with suppress(Empty):
                self._told.get(timeout=LOOKS)
            if not self._closed:
                self._asked_to_look = True
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
