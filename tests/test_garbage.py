"""Pauses of the search for cyclic garbage."""

import gc
import subprocess
import sys

import mdh_dask
from mdh_dask._garbage import GARBAGE, OBJECTS_OF_A_COMMAND, RARELY, Garbage

USUAL = (700, 10, 10)


class Search:
    """Python's search for garbage, apart from that of this process, which other threads may pause."""

    def __init__(self, threshold=USUAL):
        self.threshold = threshold

    def get_threshold(self):
        return self.threshold

    def set_threshold(self, *threshold):
        self.threshold = threshold


def test_nested_pauses_end_with_the_outermost():
    search = Search()
    pauses = Garbage(search)
    with pauses:
        with pauses:
            assert search.threshold == (RARELY, 10, 10)
        assert search.threshold == (RARELY, 10, 10)
    assert search.threshold == USUAL


def test_a_search_that_never_runs_is_not_begun():
    search = Search((0, 10, 10))
    with Garbage(search):
        assert search.threshold == (0, 10, 10)
    assert search.threshold == (0, 10, 10)


def test_what_others_change_in_a_pause_stays():
    search = Search()
    with Garbage(search):
        search.set_threshold(2100, 30, 30)
    assert search.threshold == (2100, 30, 30)


def test_garbage_is_hardly_collected_while_public_names_are_imported(monkeypatch):
    search, seen = Search(), []
    monkeypatch.setattr(mdh_dask, "GARBAGE", Garbage(search))
    monkeypatch.setattr(mdh_dask, "import_module", lambda *name: seen.append(search.threshold))
    mdh_dask.__getattr__("workflows")
    assert seen == [(RARELY, 10, 10)]
    assert search.threshold == USUAL


def test_arrays_are_sliced_with_garbage_collected_although_dask_is_imported_in_a_pause():
    """Dask keeps, while it is imported, whether garbage is collected, and restores that after each slicing."""
    code = (
        "import gc, sys, mdh_dask\n"
        "mdh_dask.RandomProjectionTree\n"
        "assert 'dask.array' in sys.modules\n"
        "sys.modules['dask.array'].ones(9, chunks=3)[2:5]\n"
        "assert gc.isenabled() and gc.get_threshold() == before\n"
    )
    subprocess.run([sys.executable, "-c", f"import gc; before = gc.get_threshold()\n{code}"], check=True)


def test_pauses_see_the_search_of_this_process():
    with GARBAGE:
        assert gc.isenabled()
        assert gc.get_threshold()[0] == RARELY


def test_a_command_searches_rarely_and_not_when_its_process_ends():
    script = """if 1:
    import atexit, gc, sys
    atexit.register(lambda: print("at the end", gc.get_threshold()[0], gc.get_freeze_count() > len(gc.get_objects())))
    from mdh_dask.cli import main
    sys.argv = ["mdh-dask", "--version"]
    main()
    """
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == f"at the end {OBJECTS_OF_A_COMMAND} True"
