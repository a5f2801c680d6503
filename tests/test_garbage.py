"""Pauses of the search for cyclic garbage."""

import gc

import mdh_dask
from mdh_dask._garbage import Garbage


def test_nested_pauses_end_with_the_outermost():
    pauses = Garbage()
    with pauses:
        with pauses:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_search_that_was_off_stays_off():
    gc.disable()
    try:
        with Garbage():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_garbage_is_not_collected_while_public_names_are_imported(monkeypatch):
    collected = []
    monkeypatch.setattr(mdh_dask, "import_module", lambda *name: collected.append(gc.isenabled()))
    mdh_dask.__getattr__("workflows")
    assert collected == [False]
    assert gc.isenabled()
