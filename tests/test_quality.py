"""The comparison of methods on labelled sets is complete: what cannot be run, and where a peer is better, is said."""

import gzip
import math
import os
import queue
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import downloads, quality
from benchmarks.methods import METHODS, Score, score
from benchmarks.quality import Cell, summaries
from benchmarks.regret import mean_ranks, regret, regret_lines
from benchmarks.sets import ALL_SETS, GROUPS, load_set
from benchmarks.workers import Failure, worker_pool

from mdh_dask.estimators.registry import estimators


@pytest.fixture
def folder(tmp_path):
    """A folder with two clusters far apart, of which five rows are noise and a column is constant."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 3)) + 9 * y[:, None]
    X[:, 2] = 1
    y[:5] = -1
    (tmp_path / "shapes2d").mkdir()
    np.savez(tmp_path / "shapes2d" / "spiral.npz", X=X, y=y)
    return str(tmp_path)


def cells_of(nmi):
    return {
        key: Cell((Score(value, value, 2, 1.0),)) if value >= 0 else Cell(failure="too slow")
        for key, value in nmi.items()
    }


def by_title(tables):
    return {table.title.partition(":")[0]: table for table in tables}


def test_every_set_is_in_one_group_and_what_can_be_downloaded_is_among_them():
    assert len(set(ALL_SETS)) == len(ALL_SETS) == sum(map(len, GROUPS.values()))
    assert set(downloads.REGISTRY) <= set(ALL_SETS)
    assert all(len(code) == 64 for files in downloads.REGISTRY.values() for code in files.values())


@pytest.fixture
def workers_here(monkeypatch):
    """Workers that call functions in this process."""

    @contextmanager
    def worker_pool(n_workers):
        pool = queue.SimpleQueue()
        pool.put(SimpleNamespace(call=lambda seconds, function, *arguments: function(*arguments)))
        yield pool

    monkeypatch.setattr(quality, "worker_pool", worker_pool)


@pytest.mark.slow
def test_methods_are_scored_on_the_sets_that_are_there_and_others_say_why_not(workers_here, folder, tmp_path):
    methods = ("IPDDP", "KMeans", "Ward", "HDBSCAN")
    options = {"memory": 300_000, "jobs": 1, "folder": folder}
    tables = list(quality.run(sets=("iris", "wine", "mnist", "shapes2d/spiral"), methods=methods, n_seeds=2, **options))
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert all(table.rows for table in tables)
    found = by_title(tables)
    sets = {row[0]: row[1:] for row in found["Sets (folder"].rows}
    assert sets["iris"] == (150, 4, 3, "scikit-learn")
    assert sets["shapes2d/spiral"] == (300, 3, 2, "$MDH_DASK_DATA")
    assert sets["mnist"][-1] == "missing: not in $MDH_DASK_DATA"
    lines = {row[0]: dict(zip(found["shapes2d/spiral"].columns, row)) for row in found["shapes2d/spiral"].rows}
    assert lines["KMeans"] | {"seeds": 2, "NMI": 1.0, "ARI": 1.0, "clusters": 2.0, "remark": "-"} == lines["KMeans"]
    assert lines["IPDDP"]["NMI"] == 1.0
    assert lines["Ward"] | {"seeds": 0, "NMI": "-", "remark": "too large"} == lines["Ward"]
    assert lines["HDBSCAN"]["seeds"] == 1
    assert [row[0] for row in found["NMI"].rows] == ["iris", "wine", "shapes2d/spiral"]
    assert found["NMI"].rows[-1][3] == "too large"
    quality.plot(tables, tmp_path / "quality.png")
    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_too_large_too_slow_elsewhere_or_beyond_the_budget_is_not_tried(monkeypatch):
    def measure(end):
        return quality._measurement(queue.SimpleQueue(), {"KMeans": None, "Ward": "gone"}, (0,), 1.0, 1e6, end, None)

    monkeypatch.setattr(quality, "_cell", lambda worker, *rest: Cell(failure=worker))
    assert measure(0.0)("iris", "KMeans", (150, 4, 3)) == Cell(failure="budget")
    assert measure(math.inf)("iris", "Ward", (150, 4, 3)) == Cell(failure="gone")
    assert measure(math.inf)("mnist", "KMeans", (70_000, 784, 10)) == Cell(failure="too large")
    pool = queue.SimpleQueue()
    pool.put("too slow")
    slow = quality._measurement(pool, {"KMeans": None}, (0,), 1.0, 1e6, math.inf, None)
    assert slow("iris", "KMeans", (150, 4, 3)) == Cell(failure="too slow")
    pool.get()
    assert slow("wine", "KMeans", (178, 13, 3)) == Cell(failure="too slow")


def test_a_table_lists_every_peer_that_is_better_than_the_best_of_ours():
    nmi = {
        "HierarchicalMDH": 0.5,
        "HierarchicalKernelMDH": 0.6,
        "DePDDP": 0.9,
        "KMeans": 0.7,
        "Ward": 0.63,
        "HDBSCAN": 0.61,
    }
    cells = cells_of({("iris", method): value for method, value in nmi.items()})
    cells |= cells_of({("wine", method): -1.0 if method == "HierarchicalMDH" else 0.5 for method in nmi})
    *_, losses = summaries(cells)
    assert losses.title.endswith("1 of 2 sets")
    assert losses.rows == [("iris", 0.5, 0.6, pytest.approx(0.1), "KMeans +0.10, Ward +0.03")]
    *_, losses = summaries({key: cell for key, cell in cells.items() if key[0] == "wine"})
    assert losses.rows == [("none", "-", "-", "-", "-")]


def test_a_set_for_which_there_was_no_time_counts_in_no_regret():
    cells = cells_of({("iris", "KMeans"): 0.5, ("iris", "Ward"): 0.4, ("wine", "KMeans"): 0.5})
    cells["wine", "Ward"] = Cell(failure="budget")
    regret, nmi, *_ = summaries(cells)
    assert regret.title == "Regret by NMI, tables (1 sets)"
    assert [row[:2] for row in regret.rows] == [("KMeans", 1), ("Ward", 1)]
    assert [row[0] for row in nmi.rows] == ["iris", "wine"]


def test_a_set_that_none_of_ours_can_do_counts_as_lost():
    cells = cells_of({("iris", "HierarchicalMDH"): -1.0, ("iris", "KMeans"): 0.3})
    *_, losses = summaries(cells)
    assert losses.rows == [("iris", "too slow", 0.3, "KMeans +0.30")]


def test_regret_is_the_distance_to_the_best_and_a_method_without_score_ranks_last():
    scores = np.array([[0.9, 0.5, math.nan], [0.2, 0.2, math.nan]])
    np.testing.assert_allclose(regret(scores), [[0, 0.4, math.nan], [0, 0, math.nan]])
    np.testing.assert_allclose(mean_ranks(scores), [1.25, 1.75, 3])
    assert regret_lines(("a", "b", "c"), scores) == [
        ("a", 2, pytest.approx(0.55), 0.0, 0.0, 0.0, 1.25),
        ("b", 2, pytest.approx(0.35), pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.4), 1.75),
    ]


def test_noise_of_the_truth_is_not_scored_and_noise_that_is_found_is_a_cluster(folder, monkeypatch):
    assert score("KMeans", "shapes2d/spiral", folder, 0)[:3] == (1.0, 1.0, 2)
    labels = load_set("shapes2d/spiral", folder).y.copy()
    labels[5:50] = -1
    monkeypatch.setitem(METHODS, "noisy", SimpleNamespace(labels=lambda X, n_clusters, seed: labels))
    found = score("noisy", "shapes2d/spiral", folder, 0)
    assert 0.5 < found.nmi < 1
    assert found.clusters == 2


def test_the_table_of_methods_names_all_with_their_packages():
    lines = quality._methods_table(dict.fromkeys(METHODS)).rows
    assert [line[0] for line in lines] == list(METHODS)
    assert {line[1] for line in lines} >= {"mdh_dask", "scikit-learn", "HiPart", "genieclust"}


def test_methods_of_ours_are_estimators():
    assert {name for name, method in METHODS.items() if method.ours} <= set(estimators())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.module.startswith("sklearn")])
def test_every_peer_labels_rows_with_what_it_needs(name, folder):
    assert METHODS[name].about()
    assert score(name, "shapes2d/spiral", folder, 0).clusters >= 2


def test_calls_that_take_too_long_or_fail_end_alone():
    with worker_pool(1) as pool:
        worker = pool.get()
        assert worker.call(60, math.sqrt, 4.0) == 2
        with pytest.raises(Failure, match="failed: ValueError: math domain error"):
            worker.call(60, math.sqrt, -1.0)
        process = worker._process
        with pytest.raises(Failure, match="too slow"):
            worker.call(0.01, time.sleep, 60)
        assert not process.is_alive()
        assert worker.call(60, os.getenv, "OMP_NUM_THREADS") == "1"
        with pytest.raises(Failure, match="its process ended"):
            worker.call(60, os._exit, 1)


def test_text_becomes_columns_and_sparse_rows_dense_ones(tmp_path):
    with gzip.open(tmp_path / "voting.csv.gz", "wt") as file:
        file.write("age,vote,label\n3,y,a\n4,,b\n,n,a\n")
    found = load_set("voting", str(tmp_path))
    np.testing.assert_array_equal(found.X, [[3, 0, 0, 1], [4, 1, 0, 0]])
    np.testing.assert_array_equal(found.y, [0, 1])
    np.savez(tmp_path / "bbc_news.npz", data=[5.0], indices=[1], indptr=[0, 1, 1], shape=(2, 3), y=[0, 1])
    np.testing.assert_array_equal(load_set("bbc_news", str(tmp_path)).X, [[0, 5, 0], [0, 0, 0]])


def test_sets_are_downloaded_with_checksums_when_there_is_no_folder(tmp_path, monkeypatch):
    files = {"pendigits.arff": "% a\n@DATA\n1, 2,'x'\n3,?,y\n5,6,y\n", "s1.data": "1 2\n3 4\n", "s1.labels0": "0\n2\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    asked = []

    def retrieve(address, code, path):
        asked.append(code)
        return str(tmp_path / address.rpartition("/")[2].removesuffix(".gz"))

    monkeypatch.delenv("MDH_DASK_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve, os_cache=lambda name: name))
    monkeypatch.setattr(downloads, "_unreachable", lambda: None)
    table, shape = load_set("pendigits"), load_set("shapes2d/s1")
    np.testing.assert_array_equal(table.X, [[1, 2], [5, 6]])
    np.testing.assert_array_equal(table.y, [0, 1])
    np.testing.assert_array_equal(shape.X, [[1, 2], [3, 4]])
    assert (shape.y.tolist(), shape.n_classes, shape.source) == ([-1, 1], 1, "downloaded")
    expected = [*downloads.REGISTRY["pendigits"].values(), *downloads.REGISTRY["shapes2d/s1"].values()]
    assert asked == [f"sha256:{code}" for code in expected]


def test_a_set_that_cannot_be_downloaded_says_why(monkeypatch):
    monkeypatch.delenv("MDH_DASK_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="no public home known with a checksum"):
        load_set("mnist")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match="pooch is not installed: pip install"):
        load_set("pendigits")
    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace())
    monkeypatch.setattr(downloads, "HOME", "http://localhost:1/")
    downloads._unreachable.cache_clear()
    with pytest.raises(FileNotFoundError, match=r"localhost:1/ cannot be reached: .*refused"):
        load_set("pendigits")
    downloads._unreachable.cache_clear()
