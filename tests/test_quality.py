"""The comparison of methods on labelled sets is complete: what cannot be run, and where a peer is better, is said."""

import math
import os
import queue
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import downloads, quality
from benchmarks.methods import METHODS, score
from benchmarks.regret import mean_ranks, regret, regret_lines
from benchmarks.sets import ALL_SETS, GROUPS, load_set
from benchmarks.workers import Failure, worker_pool


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
