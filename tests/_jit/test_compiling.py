"""What happens while a loop compiles."""

import gc
import logging

import numpy as np
import pytest

from mdh_dask import _numba


def loop_that(does, monkeypatch):
    """Return a loop that calls a function when it begins to compile."""
    monkeypatch.setattr(_numba, "FOLDER", None)
    loop = _numba.jit(lambda x: x + 1)
    compile_now = loop._compiler.compile

    def compile(*args):
        does()
        return compile_now(*args)

    monkeypatch.setattr(loop._compiler, "compile", compile)
    monkeypatch.setattr(loop, "__module__", _numba.__name__)
    return loop


@pytest.mark.parametrize("searches", [True, False])
def test_python_searches_for_no_garbage_while_a_loop_compiles_and_as_before_after_it(searches, monkeypatch):
    seen = []
    loop = loop_that(lambda: seen.append(gc.isenabled()), monkeypatch)
    (gc.enable if searches else gc.disable)()
    try:
        assert loop(1.0) == 2.0
        assert (seen, gc.isenabled()) == ([False], searches)
    finally:
        gc.enable()


def test_python_searches_for_garbage_after_a_loop_that_does_not_compile(monkeypatch):
    loop = loop_that(lambda: None, monkeypatch)
    with pytest.raises(Exception, match="nopython"):
        loop("x")
    assert gc.isenabled()


def test_the_log_says_once_that_loops_compile(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "mdh_dask")
    monkeypatch.setattr(_numba.COMPILING, "said", False)
    loop = loop_that(lambda: None, monkeypatch)
    loop(1.0)
    loop(np.ones(2))
    assert caplog.messages == ["compiling loops"]
