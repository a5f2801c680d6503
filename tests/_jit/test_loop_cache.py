"""What happens while a loop compiles, and compiled loops on disk: safe beside others, never trusted blindly."""

import gc
import logging
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest

import mdh_dask
from mdh_dask import _numba
from mdh_dask._loop_cache import UNUSED, LoopCache, LoopFiles, base_folder, open_folder, stamp

PACKAGE = Path(mdh_dask.__file__).parent


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


def add(a, b):
    return a + b


def loop_in(folder):
    """Return a loop as a new process has it: not compiled."""
    loop = numba.njit(add)
    loop._cache = LoopCache(folder, add)
    return loop


def hits(loop):
    return sum(loop.stats.cache_hits.values())


@pytest.fixture
def folder(tmp_path):
    return open_folder(tmp_path / "cache")


@pytest.mark.slow
def test_a_loop_is_compiled_once_for_each_type_of_its_arguments(folder):
    first, second = loop_in(folder), loop_in(folder)
    assert first(1.0, 2.0) == 3.0
    assert first(1, 2) == 3
    assert hits(first) == 0
    assert second(1.0, 2.0) == 3.0
    assert second(1, 2) == 3
    assert hits(second) == 2
    assert second(np.ones(2), 1.0).tolist() == [2.0, 2.0]
    assert hits(second) == 2
    assert len(list(folder.iterdir())) == 3


def swapped(file):
    """Give a file the content of the file of other types."""
    loop_in(file.parent)(1, 2)
    (other,) = set(file.parent.iterdir()) - {file}
    shutil.copy(other, file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-100]),
        lambda file: file.write_bytes(file.read_bytes()[:-1] + b"x"),
        swapped,
    ],
    ids=["empty", "cut", "flipped", "swapped"],
)
def test_a_damaged_file_is_compiled_again_and_mended(folder, damage):
    loop_in(folder)(1.0, 2.0)
    (file,) = folder.iterdir()
    damage(file)
    again, later = loop_in(folder), loop_in(folder)
    assert again(1.0, 2.5) == 3.5
    assert hits(again) == 0
    assert later(1.0, 2.5) == 3.5
    assert hits(later) == 1


def test_readers_beside_writers_see_all_or_nothing(folder):
    files, data = LoopFiles(folder, "loop"), os.urandom(200_000)

    def save_and_load(i):
        files.save("key", data)
        return files.load("key") == data

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(save_and_load, range(100)))
    assert len(list(folder.iterdir())) == 1


def test_every_change_of_a_loop_is_another_folder(tmp_path, monkeypatch):
    shutil.copytree(PACKAGE / "_jit", tmp_path / "_jit")
    for name in ("_numba.py", "_loop_cache.py"):
        shutil.copy(PACKAGE / name, tmp_path)
    assert stamp(tmp_path) == stamp(PACKAGE)
    with (tmp_path / "_jit/valleys.py").open("a") as file:
        file.write("\n")
    assert stamp(tmp_path) != stamp(PACKAGE)
    before = stamp(PACKAGE)
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert stamp(PACKAGE) != before


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    folder = open_folder(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    assert open_folder(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_not_used(tmp_path):
    os.chown(open_folder(tmp_path), 12345, 12345)
    assert open_folder(tmp_path) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_in_a_folder_that_was_swapped_is_not_read(folder, monkeypatch):
    loop_in(folder)(1.0, 2.0)
    files, unpickled = list(folder.iterdir()), []
    monkeypatch.setattr("pickle.loads", lambda *_: unpickled.append(1))
    for file in files:
        os.chown(file, 12345, 12345)
    assert loop_in(folder)(1.0, 2.0) == 3.0
    assert not unpickled


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners")
def test_a_file_that_others_can_write_to_is_not_read(folder):
    LoopFiles(folder, "loop").save("key", 1)
    (file,) = folder.iterdir()
    file.chmod(0o662)
    assert LoopFiles(folder, "loop").load("key") is None
    file.chmod(0o600)
    assert LoopFiles(folder, "loop").load("key") == 1


def test_where_nothing_can_be_written_loops_are_compiled_as_ever(tmp_path):
    (tmp_path / "file").write_text("")
    assert open_folder(tmp_path / "file") is None
    assert open_folder(None) is None
    folder = open_folder(tmp_path)
    loop = loop_in(folder)
    shutil.rmtree(folder)
    assert loop(1.0, 2.0) == 3.0


def test_the_variable_names_the_folder_or_switches_the_cache_off(monkeypatch, tmp_path):
    monkeypatch.setenv("MDH_DASK_CACHE", str(tmp_path))
    assert base_folder() == tmp_path
    monkeypatch.setenv("MDH_DASK_CACHE", "off")
    assert base_folder() is None
    monkeypatch.delenv("MDH_DASK_CACHE")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert base_folder().name == "mdh_dask"


def aged(folder, age):
    folder.mkdir(exist_ok=True, mode=0o700)
    os.utime(folder, 2 * (time.time() - age,))
    return folder


def test_folders_and_files_of_the_user_stay_beside_unused_loops(tmp_path):
    names = ("loops-2019-recordings", "loops-old", f"loops-{'0' * 17}", f"my-loops-{'0' * 16}", "mine")
    kept = {tmp_path / name for name in names}
    for folder in kept:
        aged(folder, 0)
        (folder / "a.wav").write_bytes(b"x")
        aged(folder, UNUSED + 100)
    ours = aged(tmp_path / f"loops-{'1' * 16}", 0)
    (ours / "notes.txt").write_text("")
    aged(ours, UNUSED + 100)
    link = tmp_path / f"loops-{'2' * 16}"
    link.symlink_to(tmp_path / "mine")
    os.utime(link, 2 * (time.time() - UNUSED - 100,), follow_symlinks=False)
    current = open_folder(tmp_path)
    assert set(tmp_path.iterdir()) == kept | {ours, link, current}
    assert all((folder / "a.wav").exists() for folder in kept)
    assert (ours / "notes.txt").exists()
