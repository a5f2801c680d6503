"""SIGINT and SIGTERM as exceptions that end a command wherever they arrive.

Python runs a signal's handler between any two instructions of the main thread, also within the callback of a weak
reference, a ``__del__`` or a library's ``except BaseException``. An exception raised there is dropped, and the command
would go on as if no signal had come. So it is raised again until the block that it should end has ended.
"""

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

LOOKS = 0.5
"""Seconds between two looks whether the exception is still on its way, if Python does not say that it was dropped."""


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM, which job schedulers send before they kill."""


@contextmanager
def signals_raised() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into exceptions that end the block, so that unfinished outputs are removed.

    If the block ends before the exception could reach it, the exception is raised at its end. Handlers of others
    for SIGINT stay, as does its being ignored, which a script's background jobs inherit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = _Signals()
    try:
        yield
    finally:
        signals.close()
    if signals.kind is not None:
        raise signals.kind


class _Signals:
    def __init__(self) -> None:
        self.kind: type[KeyboardInterrupt] | None = None
        self._number = signal.SIGTERM
        self._asked_to_look = self._closed = False
        self._hook: Any = None
        # Its `put` may interrupt itself; those of other queues, events and threads that start would wait for ever.
        self._told: SimpleQueue[None] = SimpleQueue()
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._ask, name="mdh-dask-signals", daemon=True)
        self._thread.start()
        self._before = {signal.SIGTERM: signal.signal(signal.SIGTERM, self._receive)}
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._receive)

    def close(self) -> None:
        """Restore the former handlers; a signal that comes meanwhile is only noted."""
        self._closed = True
        self._told.put(None)
        self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._hook is not None:
            sys.unraisablehook = self._hook

    def _receive(self, number: int, frame: FrameType | None) -> None:
        looks, self._asked_to_look = self._asked_to_look, False
        if not looks:
            self._note(signal.Signals(number))
        # A second SIGTERM, as a group of processes receives it, must not end the removal of outputs; an impatient
        # SIGINT may.
        if self._closed or self._is_in_hook(frame) or ((looks or number == signal.SIGTERM) and _is_on_its_way()):
            return
        assert self.kind is not None
        raise self.kind

    def _note(self, number: signal.Signals) -> None:
        self.kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        self._number = number
        if self._hook is None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        self._told.put(None)

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
        self._told.get()
        while not self._closed:
            with suppress(Empty):
                self._told.get(timeout=LOOKS)
            if not self._closed:
                self._asked_to_look = True
                _wake(self._main, self._number)


def _wake(thread: int, number: signal.Signals) -> None:
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
