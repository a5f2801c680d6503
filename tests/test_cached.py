"""Properties that are computed once."""

import os
import subprocess
import sys
import textwrap

import pytest

from mdh_dask._typing import cached_property

FORK = textwrap.dedent(
    """
    import os, signal, threading, warnings
    import numpy as np
    from mdh_dask.density import histograms
    from mdh_dask.density.kde import BANDWIDTHS

    warnings.simplefilter("ignore")
    started, ended = threading.Event(), threading.Event()
    density = histograms.kernel_density

    def held(*args):
        if not started.is_set():
            started.set()
            ended.wait()
        return density(*args)

    def depth():
        one = np.ones(1)
        return histograms.Histograms(np.array([[0, 4, 1, 4, 0]]), one, one, BANDWIDTHS["normal"]).depth

    histograms.kernel_density = held
    thread = threading.Thread(target=depth)
    thread.start()
    started.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a process that hangs
        depth()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    ended.set()
    raise SystemExit(status)
    """
)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="functools.cached_property has no lock from 3.12 on")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_another_thread_fits_computes_depths_of_its_own():
    ended = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_a_value_is_computed_once_and_needs_no_lock_of_the_class():
    class Counted:
        asked = 0

        @cached_property
        def value(self):
            """A value."""
            self.asked += 1
            return self.asked

    one = Counted()
    assert (one.value, one.value, one.asked) == (1, 1, 1)
    assert Counted.value.__doc__ == "A value."
    assert not hasattr(Counted.value, "lock")
