"""Pauses of the search for cyclic garbage."""

import mdh_dask
from mdh_dask._garbage import Garbage


class Search:
    """Python's search for garbage, apart from that of this process, which other threads may pause."""

    def __init__(self):
        self.on = True

    def isenabled(self):
        return self.on

    def enable(self):
        self.on = True

    def disable(self):
        self.on = False


def test_nested_pauses_end_with_the_outermost():
    search = Search()
    pauses = Garbage(search)
    with pauses:
        with pauses:
            assert not search.isenabled()
        assert not search.isenabled()
    assert search.isenabled()


def test_a_search_that_was_off_stays_off():
    search = Search()
    search.disable()
    with Garbage(search):
        pass
    assert not search.isenabled()


def test_garbage_is_not_collected_while_public_names_are_imported(monkeypatch):
    search, collected = Search(), []
    monkeypatch.setattr(mdh_dask, "GARBAGE", Garbage(search))
    monkeypatch.setattr(mdh_dask, "import_module", lambda *name: collected.append(search.isenabled()))
    mdh_dask.__getattr__("workflows")
    assert collected == [False]
    assert search.isenabled()
