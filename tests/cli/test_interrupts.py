"""Signals that arrive where Python or a library drops the exceptions of their handlers."""

import os
import signal
import sys
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest
from click.testing import CliRunner

from mdh_dask.cli import exits, interrupts, mdh
from mdh_dask.cli.interrupts import HungUp, Terminated, signals_raised

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signals")

KINDS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated, signal.SIGHUP: HungUp}
CODES = {signal.SIGINT: exits.INTERRUPTED, signal.SIGTERM: exits.TERMINATED, signal.SIGHUP: exits.HUNG_UP}


@pytest.fixture(autouse=True)
def handlers(monkeypatch):
    """Python's own handlers, which what a script starts in its background does not have; frequent looks."""
    monkeypatch.setattr(interrupts, "LOOKS", 0.05)
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGHUP, before[1])


class Thing:
    """Something that weak references refer to."""


def in_a_weak_reference(number):
    thing = Thing()
    seen = weakref.ref(thing, lambda _: signal.raise_signal(number))
    del thing
    assert seen() is None


def in_a_library(number):
    with suppress(BaseException):
        signal.raise_signal(number)


def state():
    ours = [thread for thread in threading.enumerate() if thread.name == "mdh-dask-signals"]  # others may end meanwhile
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor)
    return [*map(signal.getsignal, KINDS)], descriptor, ours


def ended_by(act):
    """Return the kind of the exception that ends the block in which `act` is called and then much else happens."""
    try:
        with signals_raised():
            act()
            until = time.monotonic() + 300
            while time.monotonic() < until:
                time.sleep(0.001)
    except KeyboardInterrupt as error:
        return type(error)


@pytest.mark.parametrize("number", KINDS)
@pytest.mark.parametrize("drop", [in_a_weak_reference, in_a_library])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_that_is_dropped_is_raised_again(number, drop):
    before = state()
    assert ended_by(lambda: drop(number)) is KINDS[number]
    assert state() == before


@pytest.mark.parametrize("number", KINDS)
def test_a_signal_whose_handler_python_does_not_run_ends_what_the_main_thread_waits_for(number):
    # As if it came just before the main thread waits: what only another thread receives does not end the wait.
    before, lock = state(), threading.Lock()
    lock.acquire()
    other = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), number))

    def wait_for_ever():
        other.start()
        lock.acquire()

    assert ended_by(wait_for_ever) is KINDS[number]
    other.join()
    assert state() == before


@pytest.mark.parametrize(("number", "code"), CODES.items())
@pytest.mark.parametrize("options", [[], ["--log-json"]])
def test_a_command_that_ends_before_it_is_raised_again_ends_with_its_code(number, code, options, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    monkeypatch.setattr("mdh_dask.workflows.fit", lambda *_, **__: in_a_library(number) or "done")
    result = CliRunner().invoke(mdh, [*options, "fit", str(tmp_path / "x.npy")])
    assert (result.exit_code, len(result.stderr.splitlines())) == (code, 1)
    assert "interrupted" in result.stderr
    assert "Traceback" not in result.stderr


def test_while_outputs_are_removed_the_exception_is_not_raised_again():
    removed = []

    def write():
        try:
            signal.raise_signal(signal.SIGTERM)
        except BaseException:
            signal.raise_signal(signal.SIGTERM)  # once to the process and once to its group
            try:
                os.unlink("")
            except OSError:
                time.sleep(3 * interrupts.LOOKS)
            removed.append("l.zarr")
            raise

    assert ended_by(write) is Terminated
    assert removed == ["l.zarr"]


@pytest.mark.parametrize("number", KINDS)
def test_an_error_that_a_signal_caused_is_not_taken_for_one_of_the_command(number):
    def release_what_was_not_taken():
        in_a_library(number)
        raise RuntimeError("release unlocked lock")

    assert ended_by(release_what_was_not_taken) is KINDS[number]


def test_an_impatient_interrupt_ends_the_removal_of_outputs():
    removed = []

    def write():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            removed.append("l.zarr")

    assert ended_by(write) is KeyboardInterrupt
    assert removed == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_ignores_interrupts_goes_on_ignoring_them(number):
    signal.signal(number, signal.SIG_IGN)
    with signals_raised():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_IGN
