"""The benchmarks run and their tables are complete; their figures are for a quiet machine, not for tests."""

import gzip
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import (
    cells,
    density_scale,
    dependence,
    ensembles,
    faults,
    first,
    giant,
    holes,
    honesty,
    hppc,
    images,
    kernels,
    kernels_scale,
    many_trees,
    memory,
    memory_of_estimators,
    mixed,
    mixed_nulls,
    mixed_simulations,
    partitions_scale,
    passes,
    power,
    printed_tables,
    pursuit,
    pursuit_speed,
    random_projections,
    scale_out,
    semi_supervised,
    single_levels,
    speed,
    svc,
    svc_scale,
    tables_scale,
    tails,
    text,
    tree_speed,
)
from benchmarks.__main__ import EVIDENCE, REQUIREMENTS, SUITES, main
from benchmarks.cells import Cell, run_cell
from benchmarks.clusters import apart, cpu_seconds
from benchmarks.cost_model import Costs
from benchmarks.peers import why_missing
from benchmarks.results import write_json, write_markdown
from benchmarks.sets import ALL_SETS, TABLES
from benchmarks.shared import Table, Times, interleaved, ratio_row
from benchmarks.speed_verdicts import COMPARED, against_peers, lost
from click.testing import CliRunner
from distributed import Client, LocalCluster
from scipy.sparse import csr_array

from mdh_dask.io import write_rows

pytestmark = pytest.mark.slow

VERDICTS = {"met", "not met", "-", "not found: skipped", "not installed: skipped"}


def checked(tables):
    """Return the tables of a benchmark, all of whose lines are complete."""
    tables = list(tables)
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert len(table.text().splitlines()) == len(table.rows) + 3
        if "verdict" in table.columns:
            assert {row[-1] for row in table.rows} <= VERDICTS
    return tables


def test_every_suite_has_a_short_form_and_a_line_in_the_help():
    text = CliRunner().invoke(main, ["--help"], terminal_width=200).output
    evidence, requirements = text.split("Evidence")[1].split("Requirements")
    assert all(f"\n  {name} " in evidence for name in EVIDENCE)
    assert all(f"\n  {name} " in requirements for name in REQUIREMENTS)
    assert all(set(module.SHORT) <= set(module.run.__annotations__) for module in SUITES.values())


def store_two_clusters(folder, n_rows):
    """Store one set, of two clusters far apart, with a column that is constant and a row that is not complete."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = (rng.normal(size=(n_rows, 3)) + 9 * y[:, None]).astype(np.float32)
    X[:, 2] = 1
    X[0, 0] = np.nan
    np.savez(folder / "pendigits.npz", X=X, y=y)
    return str(folder)


@pytest.fixture
def two_clusters(tmp_path):
    """A folder with one set of two clusters."""
    return store_two_clusters(tmp_path, 600)


@pytest.fixture
def two_small_clusters(tmp_path):
    """A folder with one set of two clusters with few rows, all of which are landmarks."""
    return store_two_clusters(tmp_path, 200)


def lines_of(table, **where):
    lines = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [line for line in lines if all(line[name] == value for name, value in where.items())]


def test_pursuit_scores_hyperplanes_and_trees_beside_what_was_published(two_clusters):
    paper, default, trees, mixtures = checked(
        pursuit.run(seeds=(0,), mixture_seeds=(0,), mixtures=((5, 10),), folder=two_clusters)
    )
    (line,) = lines_of(paper, set="pendigits")
    assert line | {"rows": 599, "columns": 2, "SR": 1.0, "published V": 0.39, "verdict": "met"} == line
    assert [row[0] for row in paper.rows] == list(pursuit.HYPERPLANES)
    (line,) = lines_of(default, set="mean of 1")
    assert line["depth"] >= 0.999 * line['depth from "pca2"'] > 1
    assert list(line.values())[-2:] == [pytest.approx(0.26), pytest.approx(0.61)]
    (line,) = lines_of(trees, set="pendigits", method="HierarchicalMDH")
    assert line | {"NMI": 1.0, "clusters": 2.0, "verdict": "met"} == line
    assert {line["verdict"] for line in lines_of(trees, set="pendigits")} == {"met", "-"}
    (line,) = lines_of(mixtures)
    assert line | {"components": 5, "columns": 10, "rows": 500, "published NMI": 0.353} == line


def test_pursuit_goes_on_without_any_set(monkeypatch):
    monkeypatch.delenv(pursuit.FOLDER, raising=False)
    *tables, mixtures = checked(pursuit.run(seeds=(0,), mixture_seeds=(0,), mixtures=((5, 10),)))
    assert {row[-1] for table in tables for row in table.rows} == {"not found: skipped"}
    assert len(mixtures.rows) == 1


def test_pursuit_speed_compares_with_half_the_authors_time_k_means_and_other_projections(
    two_clusters, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "HiPart.clustering", None)
    sizes = {"repeats": 1, "n_rows": 1500, "wide_rows": 300, "wide_columns": (5, 10), "folder": two_clusters}
    tables = checked(pursuit_speed.run(**sizes))
    assert tables[0].rows[0][-1] == "not found: skipped"
    (line,) = lines_of(tables[0], set="pendigits")
    assert line | {"NMI": 1.0, "clusters": 2.0} == line
    assert tables[1].rows[0][-1] == "not installed: skipped"
    assert [row[0] for table in tables for row in table.rows if "ratio" in table.columns] == [
        "pendigits", *2 * ["HierarchicalMDH / k-means", "RandomProjectionTree / k-means"]
    ]  # fmt: skip
    assert [(row[0], row[-1]) for row in tables[-1].rows] == [(5, 1.0), (10, 1.0)]
    pursuit_speed.plot(tables, tmp_path / "times.png")
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


def test_pursuit_speed_times_another_implementation_if_it_is_there(two_clusters, monkeypatch):
    class MDH:
        def __init__(self, max_clusters_number, random_state):
            pass

        def fit(self, X):
            self.labels_ = (X[:, 0] > 4.5).astype(float)
            return self

    monkeypatch.setitem(sys.modules, "HiPart.clustering", SimpleNamespace(MDH=MDH))
    monkeypatch.setattr(pursuit_speed, "version", lambda name: "1")
    (line,) = lines_of(pursuit_speed._against_hipart(pursuit_speed.labelled_set("pendigits", two_clusters), 300))
    assert line | {"set": "pendigits, 300 rows", "NMI": 1.0, "HiPart's NMI": 1.0} == line


def test_ensembles_are_scored_beside_single_trees_and_what_was_published(two_clusters, monkeypatch):
    for module in (ensembles, many_trees):
        monkeypatch.setattr(module, "N_TREES", 3)
    sizes = {"n_seeds": 1, "mixture_seeds": (0,), "mixtures": ((5, 10),), "n_rows": 1000, "clouds": 1}
    sizes |= {"generated": ("core-400",)}
    sets, above, drawn, times, mixtures, hyperplanes, clouds = checked(ensembles.run(**sizes, folder=two_clusters))
    assert [row[:2] for row in drawn.rows] == [("core-400", 400)]
    (line,) = lines_of(sets, set="pendigits")
    assert (
        line
        | {"rows": 599, "median tree": 1.0, "votes": 1.0, "mixture of leaves": 1.0, "votes above the median": "0 of 1"}
        == line
    )
    assert above.rows[0][-1] == "-"
    assert times.rows[1][-1] == "met"
    (line,) = lines_of(mixtures)
    assert line | {"components": 5, "columns": 10, "published NMI": 0.663, "verdict": "-"} == line
    (line,) = lines_of(hyperplanes, set="pendigits")
    assert line["NMI by default"] > 0.9
    assert len(clouds.rows) == 20


def test_few_labels_are_scored_beside_other_classifiers_and_drawn(two_clusters, tmp_path):
    sizes = {"n_draws": 2, "numbers": (4, 20), "sets": ("pendigits", "no such set")}
    errors, verdicts = tables = checked(semi_supervised.run(**sizes, folder=two_clusters))
    assert len(errors.rows) == 8
    assert {line["median error"] for line in lines_of(errors, method="SemiSupervisedMDH")} == {"0.000"}
    assert verdicts.rows == [("pendigits", 0.0, 0.0, "<= 0.050", "met", "met")]
    semi_supervised.plot(tables, tmp_path / "few.png")
    assert (tmp_path / "few.png").stat().st_size > 5000


def test_texts_are_clustered_beside_spherical_k_means_and_their_memory_is_measured(tmp_path):
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(3) * 400, 100)[:, None]
    words = csr_array((np.ones(6000), (own + rng.integers(400, size=(300, 20))).ravel(), np.arange(0, 6001, 20)))
    words.sum_duplicates()
    np.savez(
        tmp_path / "bbc_news.npz", data=words.data, indices=words.indices, indptr=words.indptr, shape=(300, 1200),
        y=np.repeat([0, 1, 2], 100),
    )  # fmt: skip
    (news,) = checked([next(text.run(n_seeds=1, folder=str(tmp_path)))])
    assert {line["method"] for line in lines_of(news, weights="tf-idf")} == {
        "spherical k-means, 3 given", "RandomProjectionTree", "HierarchicalMDH",
    }  # fmt: skip
    stored, _, seconds = text.cost("RandomProjectionTree", 1000, 2000, 0.01)
    assert 0.2 < stored < 0.3
    assert seconds > 0


def test_random_projections_are_scored_on_the_sets_that_are_there_and_names_the_others(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = (rng.normal(size=(600, 3)) + 9 * y[:, None]).astype(np.float32)
    X[0, 0] = np.nan
    np.savez(tmp_path / "pendigits.npz", X=X, y=y)
    real, simulated = checked(random_projections.run(seeds=(0,), n_rows=3000, folder=str(tmp_path)))
    found = {row[0]: dict(zip(real.columns, row, strict=True)) for row in real.rows}
    assert set(found) == set(random_projections.SETS)
    assert found["pendigits"] | {"rows": 599, "NMI": 1.0, "clusters": 2} == found["pendigits"]
    assert found["pendigits"]["verdict"] == "not met"  # two clusters are too few for that set
    assert found["usps"]["verdict"] == "not found: skipped"
    assert [row[1:5] for row in simulated.rows] == [(3000, 50, 20, 0)]


def test_images_are_compared_with_label_maps_and_k_means_if_they_are_there(tmp_path):
    truth = np.repeat([0, 1, 2], 20)[:, None].repeat(50, axis=1).astype("u2")
    pixels = (np.array([[20, 60, 90], [210, 180, 120], [90, 150, 220]])[truth]).astype("u1")
    pixels += np.random.default_rng(0).integers(0, 20, pixels.shape, dtype="u1")
    (tmp_path / "images").mkdir()
    np.savez(tmp_path / "images" / "a.npz", image=pixels, segmentations=np.stack([truth, truth]))
    np.savez(tmp_path / "images" / "b.npz", image=pixels)
    *tables, on_tiles = checked(images.run(names=("a", "b", "c"), folder=str(tmp_path)))
    assert [row[0] for row in on_tiles.rows] == ["a", "b", "mean of 1"]
    assert on_tiles.rows[0][2] == 3
    for table, columns in zip(tables, (3, 9, 6, 9), strict=True):
        drawn, other, missing, mean = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
        assert (drawn["pixels"], drawn["columns"]) == ("50 x 60", columns)
        assert drawn["k-means: ARI"] > 0.5
        assert (other["ARI"], other["boundary F"]) == ("-", "-")
        assert missing["k-means: boundary F"] == "not found: skipped"
        assert (mean["image"], mean["ARI"]) == ("mean of 1", drawn["ARI"])
    bands = tables[0].rows[0]
    assert bands[3:8] == (3, bands[4], 0.0, 1.0, 1.0)


def test_speckle_is_the_share_of_pixels_in_small_connected_regions():
    labels = np.zeros((10, 20), int)
    labels[2:4, 3:8] = labels[9, 19] = 1
    assert images.speckle(labels) == 11 / 200


def test_boundaries_agree_where_they_are_near():
    left, right = (np.arange(400)[None].repeat(300, axis=0) >= at for at in (100, 103))
    assert images.boundary_f(left, right) == images.boundary_f(left, left) == 1
    assert images.boundary_f(left[:, :300], left[:, :300].T) < 0.1
    assert images.boundary_f(left * 0, right) == 0
    assert images.boundary_f(left * 0, right * 0) == 1


def test_honesty_has_a_line_for_every_cloud():
    kinds, clouds, _ = checked(honesty.run(n_seeds=1, shapes=((100, 2),), methods=("RandomProjectionTree",), n_jobs=1))
    assert [row[0] for row in kinds.rows] == list(honesty.OF_ANY_WIDTH)
    assert [row[1] for row in clouds.rows] == [cloud for kind in honesty.OF_ANY_WIDTH for cloud in honesty.CLOUDS[kind]]
    assert sum(row[1] for row in kinds.rows) == len(clouds.rows)
    sizes = {"n_seeds": 1, "shapes": ((60, 51),), "methods": ("RandomProjectionTree",), "n_jobs": 1}
    _, wide, _ = checked(honesty.run(**sizes, kinds=(honesty.MANY_COLUMNS,)))
    assert [row[1] for row in wide.rows] == list(honesty.CLOUDS[honesty.MANY_COLUMNS])
    sizes["shapes"] = ((60, 1),)
    _, narrow, _ = checked(honesty.run(**sizes))
    assert [row[1] for row in narrow.rows] == [row[1] for row in clouds.rows if row[1] != "banana"]
    with pytest.raises(ValueError, match=r"in one column none of banana.*; got bent with all their clouds"):
        next(honesty.run(**sizes, kinds=("bent",)))


def test_cells_in_the_file_are_not_run_again(tmp_path, monkeypatch):
    sizes = {"n_seeds": 1, "shapes": ((100, 2),), "methods": ("RandomProjectionTree",), "kinds": ("bent", "bounded")}
    sizes |= {"cells": tmp_path / "new" / "cells", "n_jobs": 1}
    _, clouds, _ = checked(honesty.run(**sizes | {"kinds": ("bent",)}))
    monkeypatch.setattr(honesty, "_clusters", lambda *_: 7)
    _, more, of_size = checked(honesty.run(**sizes))
    assert [row[-1] for row in more.rows] == [clouds.rows[0][-1], 7, 7, 7]
    assert of_size.rows == [("100 x 2", 4, sum(row[-1] > 1 for row in more.rows))]
    monkeypatch.setattr(honesty, "_clusters", None)
    assert checked(honesty.run(**sizes))[1].rows == more.rows


def test_power_has_a_line_for_every_size_and_a_share_for_every_method():
    sizes = {"n_seeds": 1, "sizes": (100,), "columns": (2,), "separations": (5.0, 9.0), "n_jobs": 1}
    methods = ("RandomProjectionTree", "mixture, full", "HDBSCAN")
    (table,) = checked(power.run(**sizes, methods=methods, kinds=("apart",)))
    assert [row[:3] for row in table.rows] == [(100, 2, 5.0), (100, 2, 9.0)]
    assert all(cell == "1, 1.00" for cell in table.rows[1][3:6])


def test_power_has_a_line_for_every_kind_of_unrelated_columns():
    (table,) = checked(
        power.run(1, methods=("RandomProjectionTree", "HDBSCAN"), kinds=("tails",), n_rows=2000, n_jobs=1)
    )
    assert table.columns == ("columns", "number", "RandomProjectionTree", "required", "verdict")
    assert {row[:2] for row in table.rows} == {(kind, d) for kind in power.UNRELATED for d in (2, 5, 20)}
    assert all(row[2] == "1 of 1" for row in table.rows if row[0] == "lognormal")


def test_tree_speed_compares_fitting_measuring_and_growth():
    tables = checked(tree_speed.run(n_rows=1500, n_columns=5, repeats=1, growth_rows=(1000, 2000), growth_repeats=1))
    assert [row[0] for table in tables for row in table.rows if "ratio" in table.columns] == [
        "tree / k-means", "measuring / reading", "2000 / 1000 rows"
    ]  # fmt: skip


@contextmanager
def workers_here(n_workers=2):
    """Workers in this process, where the loops are compiled."""
    options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    options |= {"scheduler_kwargs": {"dashboard_address": ":0"}}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def cells_here(monkeypatch):
    """Measure in this process."""

    def run_cell(work, seconds, memory=0.0, **parameters):
        value = work(lambda **parts: None, **parameters)
        sizes = {"cell": 10**6, "scheduler": 2 * 10**6, "worker 0": 3 * 10**6}
        return Cell(value, peaks=sizes, before=sizes)

    @contextmanager
    def apart(n_workers):
        with workers_here(n_workers) as client:
            yield client, dict.fromkeys(["scheduler", *(f"worker {i}" for i in range(n_workers))], os.getpid())

    for module in (speed, scale_out, memory_of_estimators):
        monkeypatch.setattr(module, "run_cell", run_cell)
    for module in (scale_out, memory_of_estimators):
        monkeypatch.setattr(module, "apart", apart)


def test_speed_tells_who_is_faster_as_good_and_what_was_not_run(cells_here, tmp_path):
    methods = ("RandomProjectionTree", "RandomProjectionTree, store", "KMeans", "HDBSCAN")
    sizes = {"n_rows": 3000, "columns": (3, 4, 10**6), "clusters": (3,), "repeats": 2, "gigabytes": 0.001}
    tables = checked(speed.run(**sizes, contestants=methods))
    found, seconds, _, _, nmi, memory, not_run, compared, _ = tables
    assert {line["in the comparison"] for line in lines_of(found)} == {"yes"}
    assert (lines_of(seconds, columns=10**6), not_run.rows) == ([], [(3000, 10**6, 3, "12 GB")])
    for line in lines_of(seconds)[:2]:
        assert line["RandomProjectionTree, store"] == "-"
        assert line["KMeans"] > 0
    assert lines_of(nmi, columns=3)[0]["KMeans"] > 0.5
    assert lines_of(memory, columns=3)[0]["KMeans"] == 6
    assert [line["ours"] for line in lines_of(compared)] == 2 * ["RandomProjectionTree"]
    speed.plot(tables, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_small_data_leaves_time_for_the_cells_of_large_data(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(speed.time, "monotonic", lambda: clock[0])

    def run_cell(work, seconds, memory=0.0, **parameters):
        clock[0] += 10.0 * ("data" in str(parameters["folder"]))
        return Cell({"seconds": [1.0], "cpu": [1.0], "NMI": [1.0]}, peaks={"cell": 1})

    monkeypatch.setattr(speed, "run_cell", run_cell)
    methods = ("KMeans", "MiniBatchKMeans", "BisectingKMeans")
    _, seconds, *_ = speed.run(100_000, (1,), (1,), budget=29.0, contestants=methods)
    assert [row[3:] for row in seconds.rows] == [(1.0, 1.0, "budget"), (1.0, "budget", "budget")]


def test_cells_along_the_axes_come_first_and_those_that_would_take_too_long_are_left_out(monkeypatch):
    begun = []

    def run_cell(work, seconds, memory=0.0, **parameters):
        if "data" in str(parameters["folder"]):
            begun.append(len(np.load(parameters["folder"] / "y.npy")))
        return Cell({"seconds": [30.0], "cpu": [60.0], "NMI": [1.0]}, peaks={"cell": 1})

    monkeypatch.setattr(speed, "run_cell", run_cell)
    _, seconds, *_ = speed.run(n_rows=100_000, columns=(1,), clusters=(1,), contestants=("KMeans",), limit=60.0)
    assert [row[-1] for row in seconds.rows] == [30.0, "> 60 s expected"]
    assert begun == [10_000]
    smaller = [(speed.Case(1, 1, 1), 2.0), (speed.Case(10, 1, 1), 3.0)]
    measured = speed.Cells(60.0, seconds={"KMeans": smaller})
    assert measured.reason_against(speed.Case(400, 1, 1), "KMeans") is None
    assert measured.reason_against(speed.Case(500, 1, 1), "KMeans") == "> 60 s expected"
    smaller.append((speed.Case(10, 2, 2), np.inf))
    assert measured.reason_against(speed.Case(100, 1, 1), "KMeans") is None
    assert measured.reason_against(speed.Case(100, 2, 3), "KMeans") == "> 60 s expected"
    grid = [speed.Case(*sizes) for sizes in [(1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, 2)]]
    assert [speed._off_axis(case, grid) for case in grid] == [0, 1, 2, 2]
    assert speed._off_axis(speed.Case(2, 1, 1), [*grid, speed.Case(2, 1, 1)]) == 0


def test_a_peer_leads_if_it_is_as_good_and_faster_or_better():
    case = (10, 2, 3)

    def leader(ours, **peers):
        scores = {"HierarchicalMDH": ours} | peers
        values = {(case, name): {"seconds": s, "least": s, "cpu": s, "NMI": nmi} for name, (s, nmi) in scores.items()}
        (line,) = against_peers(case, values, list(scores))
        assert len(line) == len(COMPARED)
        return line[6], line[9], line[-1], bool(lost([line]))

    assert leader((1.0, 0.9), a=(2.0, 0.89), b=(0.1, 0.8)) == ("a", 0.5, "ours", False)
    assert leader((1.0, 0.9), a=(0.5, 0.89), b=(0.1, 0.8)) == ("a", 2.0, "a peer, faster", True)
    assert leader((1.0, 0.9), a=(2.0, 0.93)) == ("a", 0.5, "a peer, better", True)
    assert leader((1.0, 0.9), b=(0.1, 0.8)) == ("-", "-", "ours: no peer as good in the time", False)


def test_a_cell_tells_its_value_its_memory_or_why_there_is_none(tmp_path, monkeypatch):
    (tmp_path / "work_of_cells.py").write_text(
        "import os, time\n"
        "def double(begin, number):\n    begin(other=os.getppid())\n"
        "    while not os.path.exists(os.environ['WATCHED']):\n        time.sleep(0.01)\n"
        "    return 2 * number\n"
        "def wait(begin):\n    begin()\n    time.sleep(600)\n"
        "def fail(begin):\n    raise ValueError('of this')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("WATCHED", str(tmp_path / "watched"))
    import work_of_cells

    def resident(parts, original=cells._resident):
        sizes = original(parts)
        if "other" in parts:
            (tmp_path / "watched").touch()
        return sizes

    monkeypatch.setattr(cells, "_resident", resident)
    cell = run_cell(work_of_cells.double, 300.0, number=4)
    assert (cell.value, cell.failure) == (8, "")
    assert set(cell.before) == set(cell.peaks) == {"cell", "other"}
    assert all(0 < size <= cell.peaks[part] for part, size in cell.before.items())
    assert run_cell(work_of_cells.wait, 0.1).failure == "> 0.1 s"
    assert run_cell(work_of_cells.wait, 300.0, memory=1e4).failure == "memory"
    assert run_cell(work_of_cells.fail, 300.0).failure == "failed: ValueError: of this"


def test_the_measured_leaves_get_all_rows_once():
    rows = np.random.default_rng(0).normal(size=(3000, 5))
    statistic = tree_speed.measuring_pass(rows)
    counts = statistic.chunk(0, rows)
    assert counts.counts.shape == (8 * 16, 2, 1024)
    assert (counts.counts.sum(axis=(1, 2)).reshape(8, 16).sum(axis=0) == 3000).all()
    assert (counts.arrivals[7:] > 0).all()
    assert counts.arrivals.sum() == counts.arrivals[7:].sum() == 3000


def test_an_image_is_segmented_on_workers_and_compared_with_reading_it(monkeypatch):
    monkeypatch.setattr(giant, "workers", workers_here)
    work, peaks, events = checked(giant.run(side=1500))
    assert [line["times reading"] > 0 for line in lines_of(work)] == [True, True, True]
    assert [int(line["segments"]) > 1 for line in lines_of(work)[1:]] == [True, True]
    assert "client, with the scheduler" in {line["process"] for line in lines_of(peaks)}
    assert lines_of(events, event="labels complete")[0]["verdict"] == "met"


def test_a_scene_with_holes_is_compared_with_one_without(monkeypatch):
    monkeypatch.setattr(holes, "workers", workers_here)
    scenes, ratios = checked(holes.run(side=1200))
    assert "without data" in lines_of(scenes)[1]["counts"]
    assert {line["verdict"] for line in lines_of(ratios) if "complete" in line["what"]} == {"met"}


def test_first_fits_and_commands_are_timed_with_an_empty_and_a_filled_cache(monkeypatch):
    program = "import json, os; folder = os.environ['MDH_DASK_CACHE']; new = not os.listdir(folder); "
    program += "open(folder + '/loop', 'w'); print(json.dumps([9.0 if new else 1.2, 1.0]))"
    monkeypatch.setattr(first, "PROGRAM", program)
    monkeypatch.setattr(first, "COMMANDS", {"--help": ("--help", 60.0)})
    monkeypatch.setattr(first, "PLACES", {"threads of the process": "--help"})
    fits, commands, starts = checked(first.run(repeats=1, n=40, methods=("HierarchicalMDH", "RandomProjectionTree")))
    assert [row[1:4] for row in fits.rows] == [(9.0, 1.2, 1.0)] * 2
    assert [row[-1] for row in fits.rows] == ["not met", "not met"]
    assert commands.rows[0][-1] == "met"
    assert min(starts.rows[0][1:]) > 0


def test_passes_are_counted_block_by_block():
    (table,) = checked(passes.run(n_rows=4000, exact_projections=5, seeds=(0,)))
    lines = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [line["mode"] for line in lines] == ["sample", "exact, 5 directions"]
    assert all(line["counted loads"] == line["fit + labels"] for line in lines)


def test_memory_watches_every_estimator_and_every_process(cells_here, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "workers", workers_here)
    sizes = {"estimators": ("PDDP",), "estimator_rows": 40_000, "chunk_sizes": (1, 2)}
    tables = checked(memory.run(n_rows=20_000, n_columns=5, **sizes))
    estimators, stages, peaks, events = tables
    assert [row[:2] for row in estimators.rows] == [("PDDP", 1), ("PDDP", 2)]
    assert [row[3:] for row in estimators.rows] == 2 * [(3, 3, 0.0, 2, 1)]
    assert [row[0] for row in stages.rows] == ["fit", "labels"]
    assert [row[0] for row in peaks.rows] == ["worker 0", "worker 1", "client, with the scheduler"]
    assert all(0 < before <= peak for _, before, peak, *_ in peaks.rows)
    assert {row[0] for row in events.rows} >= {"paused", "removed", "restarted", "labels complete"}
    memory.plot(tables, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.cluster
def test_scaling_is_measured_on_two_workers_and_modelled_for_more(cells_here, tmp_path):
    tables = checked(scale_out.run(n_rows=4000, n_columns=5, chunks=(10, 20), repeats=1))
    _, scaling, passes, empty, constants, model = tables
    assert [row[0].split(":")[0] for row in scaling.rows] == ["strong", "weak"]
    assert [row[0].partition(". ")[2] for row in passes.rows] == ["FirstPass", "Together"]
    assert all(line["results combined, bytes"] > 0 for line in lines_of(passes))
    assert [row[0] for row in empty.rows] == [10, 20]
    assert all(n_tasks > 9 / 8 * n_chunks for n_chunks, n_tasks, *_ in empty.rows)
    assert {row[3].partition(":")[0] for row in constants.rows[1:]} == {"measured", "fitted", "assumed"}
    assert [row[:2] for row in model.rows[-4:]] == [("1e+10", workers) for workers in scale_out.MODELLED_WORKERS]
    scale_out.plot(tables, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes().startswith(b"\x89PNG")


def test_the_model_of_the_cost_adds_up():
    costs = Costs(
        driver=2.0, work=(1e-6, 2e-6), client=1e-3, scheduler=1e-2, handling=0.0, largest=(1000, 0),
        row_bytes=100, block_bytes=1e6, bandwidth=1e6,
    )  # fmt: skip
    assert costs.chunks(10**6) == 100
    parts = costs.parts(10**6, 1)
    assert list(parts.values()) == pytest.approx([2.0, 0.2, 2.0, 3.0, 0.024, 2.224 + 1.0 + 2.0, 2.224 + 2.0 + 3.0])
    assert costs.parts(10**6, 10**6)["total, at the same time"] == pytest.approx(2.224 + 2.0)


@pytest.mark.cluster
def test_the_parts_of_a_cluster_are_processes_of_their_own():
    with apart(1) as (client, parts):
        assert list(parts) == ["scheduler", "worker 0"]
        assert len({os.getpid(), *parts.values()}) == 3
        watched = memory.Peaks(client).processes
        assert {name: process.pid for name, process in watched.items()} == {
            "worker 0": parts["worker 0"],
            "client, with the scheduler": os.getpid(),
        }
        assert client.submit(os.getpid).result() == parts["worker 0"]
        assert all(seconds > 0 for seconds in cpu_seconds(parts).values())


def test_memory_asks_for_room_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setattr(memory.shutil, "disk_usage", lambda folder: memory.shutil._ntuple_diskusage(1, 1, 0))
    with pytest.raises(OSError, match=r"expected 6\.0 GB free.*TMPDIR"):
        next(memory.run())
    with pytest.raises(OSError, match="set TMPDIR to a folder with more room"):
        next(giant.run())


def test_repeats_take_turns():
    order = []
    times = interleaved(2, {"a": lambda: order.append("a"), "b": lambda: order.append("b")})
    assert order == ["a", "b", "a", "b"]
    assert all(t.wall.shape == t.cpu.shape == (2,) for t in times.values())


def test_a_ratio_is_the_median_within_the_turns():
    a, b = Times(np.array([1.0, 9.0, 4.0]), np.ones(3)), Times(np.array([1.0, 3.0, 2.0]), np.full(3, 2.0))
    assert ratio_row("a / b", a, b, 1.5) == ("a / b", 2.0, 1.0, 0.5, "<= 1.5", "not met")


def test_tables_are_written_with_the_machine(tmp_path):
    table = Table("Title", ("name", "figure"), [("x", np.float64(0.5)), ("y", 12_345.6)])
    write_json(tmp_path / "new" / "x.json", [table], {"n_rows": 5})
    content = json.loads((tmp_path / "new" / "x.json").read_text())
    assert content["tables"][0]["rows"] == [["x", 0.5], ["y", 12345.6]]
    assert {"python", "numpy", "zarr", "HiPart", "processors"} <= set(content["machine"])
    assert table.text().splitlines() == ["Title", "-----", "name  figure", "x     0.5", "y     12346"]


def test_a_page_shows_the_plots_of_its_suite_and_no_other(tmp_path):
    for name in ("x.png", "x-b.png", "x_speed.png"):
        (tmp_path / name).touch()
    table = Table("Title", ("name", "a|b"), [("x", 0.51234)])
    write_markdown(tmp_path / "x.md", "What for?", [table], {"n_rows": 5})
    head, about, *plots, title, rows = (tmp_path / "x.md").read_text().strip().split("\n\n")
    assert head == "# x: What for?"
    assert "n_rows 5" in about
    assert "numpy" in about
    assert plots == ["![x-b](x-b.png)", "![x](x.png)"]
    assert (title, rows) == ("## Title", "| name | a/b |\n| --- | --- |\n| x | 0.512 |")


def test_a_peer_that_cannot_be_used_says_why(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise AttributeError('np.Inf is gone')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert why_missing("sklearn.cluster") is None
    assert why_missing("no_such_peer.cluster") == 'not installed: no module no_such_peer; pip install -e ".[bench]"'
    assert why_missing("broken_peer") == "does not import: AttributeError: np.Inf is gone"


def test_the_command_prints_tables_and_writes_them(tmp_path, monkeypatch):
    monkeypatch.delenv(random_projections.FOLDER, raising=False)
    result = CliRunner().invoke(main, ["random_projections", "--short", "--rows", "2000", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.output.count("not found: skipped") == len(random_projections.SETS)
    assert json.loads((tmp_path / "random_projections.json").read_text())["sizes"] == {"seeds": [0], "n_rows": 2000}
    assert "## Simulated mixture" in (tmp_path / "random_projections.md").read_text()
    for option in (["--rows", "2000"], ["--set", "iris"]):
        refused = CliRunner().invoke(main, ["honesty", *option])
        assert refused.exit_code == 2
        assert f"takes no {option[0]}" in refused.output


def test_the_sets_of_a_suite_are_chosen_by_name(monkeypatch):
    chosen = []

    def suite(sets=ALL_SETS, **sizes):
        chosen.append(sets)
        return iter(())

    monkeypatch.setitem(SUITES, "quality", SimpleNamespace(run=suite))
    for named in ([], ["iris", "wine"], ["tables", "iris"]):
        result = CliRunner().invoke(main, ["quality", *(word for name in named for word in ("--set", name))])
        assert result.exit_code == 0, result.output
    assert chosen == [ALL_SETS, ("iris", "wine"), TABLES]
    unknown = CliRunner().invoke(main, ["quality", "--set", "irises"])
    assert unknown.exit_code == 2
    assert "'irises' is not one of 'auto_mpg'" in unknown.output


def test_every_suite_of_evidence_runs_if_none_is_named(tmp_path, monkeypatch):
    def suite(**sizes):
        yield Table("Title", tuple(sizes), [tuple(sizes.values())])

    for module in EVIDENCE.values():
        monkeypatch.setattr(module, "run", suite)
        monkeypatch.setattr(module, "plot", lambda tables, path: path.touch(), raising=False)
        monkeypatch.setattr(module, "SHORT", {"n": 1})
    result = CliRunner().invoke(main, ["--short", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    kinds = {f"{name}{kind}" for name in EVIDENCE for kind in (".json", ".md", ".png")}
    assert {path.name for path in tmp_path.iterdir()} == kinds


def test_kernel_features_are_scored_beside_what_was_published_and_beside_spectral_clustering(
    two_small_clusters, monkeypatch
):
    monkeypatch.setattr(kernels, "load_digits", lambda **_: kernels.labelled_set("pendigits", two_small_clusters))
    monkeypatch.setattr(kernels, "SHAPES", ("spiral",))
    hyperplanes, trees, digits, shapes = checked(kernels.run(seeds=(0,), folder=two_small_clusters))
    assert {row[0] for row in hyperplanes.rows} == set(kernels.BI_PARTITIONS)
    (line,) = lines_of(trees, set="pendigits", method="local scaling")
    assert line | {"classes": 2, "published": 0.707, "required": ">= published - 0.01"} == line
    assert lines_of(trees, set="wine")[0]["verdict"] == "not found: skipped"
    assert len(lines_of(digits, set="digits")) == 2
    assert shapes.rows == [("spiral", "-", "-", "not found: skipped")]


def test_text_in_a_table_becomes_a_column_for_every_value(tmp_path):
    with gzip.open(tmp_path / "votes.csv.gz", "wt") as file:
        file.write("age,vote,label\n3,y,a\n4,,b\n,n,a\n")
    X, y = kernels.any_set("votes", str(tmp_path))
    np.testing.assert_array_equal(X, [[3, 0, 0, 1], [4, 1, 0, 0]])
    np.testing.assert_array_equal(y, [0, 1])


def test_what_feature_spaces_cost_is_measured_beside_nystroem_and_k_means(two_clusters, monkeypatch):
    monkeypatch.setattr(kernels_scale, "SETS", ("pendigits", "mnist"))
    monkeypatch.setattr(kernels_scale, "KERNELS", ("rbf",))
    monkeypatch.setattr(kernels_scale, "workers", lambda limit: workers_here())
    labels, mapping, growth = checked(
        kernels_scale.run(n_landmarks=40, widths=(3,), sizes=(300, 600), folder=two_clusters)
    )
    assert [row[2] for row in labels.rows] == ["Nystroem + KMeans, 2 given", "rbf", "-"]
    assert lines_of(labels, what="rbf")[0]["NMI"] > 0.9
    assert [row[:2] for row in mapping.rows] == [("rbf", 3)]
    assert [row[0] for row in growth.rows] == [300, 600]


def test_a_table_of_numbers_and_texts_is_clustered_with_and_without_its_texts(tmp_path, monkeypatch):
    (skipped,) = checked(tables_scale.run(folder=str(tmp_path)))
    assert skipped.rows[0][-1] == "not found: skipped"
    side = np.repeat([0, 1], 300)
    numbers = np.random.default_rng(0).normal(size=600) + 9 * side
    lines = [f"{x},{x + 1},t{k},s{k},{k},kind{k}" for x, k in zip(numbers, side)]
    text = "\n".join(["a,b,protocol_type,service,flag,label", *lines])
    (tmp_path / tables_scale.FILE).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(tables_scale, "workers", lambda limit: Client(processes=False, dashboard_address=None))
    (found,) = checked(tables_scale.run(n_landmarks=60, folder=str(tmp_path)))
    assert [line["passes"] for line in lines_of(found)] == [2, 3, 4]
    assert min(line["NMI"] for line in lines_of(found)) > 0.5


@pytest.mark.cluster
def test_a_job_that_is_killed_resumes_to_the_same_bits(monkeypatch):
    mapped = faults.JOB.partition("[method.feature_map]")[2].partition("[cluster]")[0]
    monkeypatch.setattr(faults, "JOB", faults.JOB.replace(f"[method.feature_map]{mapped}", ""))
    monkeypatch.setattr(faults, "N_WORKERS", 1)
    monkeypatch.setattr(faults, "compile_loops", lambda *_: None)  # the tests keep them compiled
    kills, summary = checked(faults.run(n_rows=5000, n_kills=1))
    assert [line["same bits"] for line in lines_of(kills)] == ["met"]
    assert [line["killed"] for line in lines_of(summary, verdict="met")] == ["process"]


def test_mixed_columns_stand_beside_what_was_published(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    values = np.column_stack([rng.normal(9 * y).round(3), *(y ^ (rng.random(200) < 0.02) for _ in range(3)), y])
    lines = "\n".join(",".join(map(str, row)) for row in values)
    (tmp_path / "voting.csv.gz").write_bytes(gzip.compress(f"a,b,c,d,label\n{lines}\n,1,,0,1\n".encode()))
    kinds = {"continuous": ["a"], "ordinal": ["b"], "categorical": ["c", "d"], "label": "label"}
    (tmp_path / "column_types.json").write_text(json.dumps({"voting.csv.gz": kinds}))
    monkeypatch.setattr(single_levels, "N_ROWS", 150)
    monkeypatch.setattr(mixed, "OURS", {name: mixed.OURS[name] for name in ("MDH_hier", "dePDDP")})
    monkeypatch.setattr(mixed, "OTHERS", {"DBSCAN": mixed.OTHERS["DBSCAN"]})
    sizes = {"seeds": (0,), "embeddings": ("CSE",), "level_sizes": ((5, 5),)}
    tables = checked(mixed.run(**sizes, folder=str(tmp_path)))
    (line,) = lines_of(tables[3], embedding="CSE", method="dePDDP")
    assert line | {"published": 0.395, "clusters": 2.0, "seeds": 1} == line
    assert line["NMI"] > 0.9
    assert [line["verdict"] for line in lines_of(tables[4])] == [*["not found: skipped"] * 3, "met"]
    assert [line["verdict"] for line in lines_of(tables[5])] == ["-", "-", *["met"] * 4]


def test_simulated_mixtures_of_mixed_columns_stand_beside_what_was_published(tmp_path):
    cells = tmp_path / "cells.jsonl"
    methods = ("MDH_hier on CSE", "dePDDP on CSE", "DBSCAN on CSE")
    of_trees = [(name, methods[0], 5, 5, seed) for name in mixed_simulations.SIMULATIONS for seed in (0, 1)]
    kept = [[*key, [0.6 + key[-1] / 10, 4]] for key in of_trees]
    cells.write_text("".join(json.dumps(line) + "\n" for line in kept))
    (table,) = checked(mixed_simulations.run(2, ((5, 5),), methods, cells, n_jobs=1))
    (line,) = lines_of(table, simulator="MixGen2", method="MDH_hier on CSE")
    assert line | {"NMI": pytest.approx(0.65), "standard error": pytest.approx(0.05), "difference": "+0.064"} == line
    published = {(line["simulator"], line["method"]): line["published"] for line in lines_of(table)}
    assert published["MixGen2", "dePDDP on CSE"] == 0.639
    assert published["MixGen1", "DBSCAN on CSE"] == "-"
    with pytest.raises(ValueError, match="expected methods among MDH_hier on MDS, "):
        next(mixed_simulations.run(methods=["none"]))


def test_tables_without_clusters_are_fitted_complete_and_with_missing_values(monkeypatch):
    monkeypatch.setattr(mixed_nulls, "TABLES", {"some": mixed_nulls.TABLES["3 of each kind"]})
    methods = [f"RandomProjectionTree on {name}" for name in mixed_nulls.MAPS]
    table, sums = checked(mixed_nulls.run(1, methods, (0.0, 0.3), 100, n_jobs=1))
    of_lines = [(line["missing"], line["method"].split(" on ")[1]) for line in lines_of(table)]
    complete = [(0.0, name) for name in ("pairs", "MDS", "mPPCA")]
    assert of_lines == [*complete, *((0.3, name) for name in mixed_nulls.MAPS)]
    assert {line["verdict"] for line in lines_of(table)} == {"met"}
    assert {line["split"] for line in lines_of(sums)} == {0}
    assert [line["tables"] for line in lines_of(sums)] == [2, 2, 2, 1, 1]
    with pytest.raises(ValueError, match="expected methods among HierarchicalMDH on pairs, "):
        next(mixed_nulls.run(methods=["none"]))


def test_dependent_rows_are_fitted_by_rows_and_by_groups(monkeypatch):
    monkeypatch.setattr(
        dependence, "CLOUDS", {"donors": dependence._donors(4, n=100), "tiles": dependence._smooth(48, 4)}
    )
    monkeypatch.setattr(dependence, "CLUSTERS", {"mosaic": dependence._mosaic(64, 100, 9.0)})
    nulls, power = checked(dependence.run(1, ["RandomProjectionTree"], n_jobs=1))
    assert [(line["cloud"], line["by groups"]) for line in lines_of(nulls)] == [("donors", 0), ("tiles", 0)]
    assert lines_of(power)[0]["NMI by rows"] > 0.8
    with pytest.raises(ValueError, match="expected methods among RandomProjectionTree, HierarchicalMDH; got none"):
        next(dependence.run(methods=["none"]))


def test_prototypes_of_ordinal_columns_are_those_of_k_means():
    y = np.repeat([0, 1], 20)
    found = mixed.MixedSet(np.column_stack([9.0 * y, np.where(y, 5.0, np.nan)]), y, {"ordinal": [0, 1]})
    assert len({*zip(y.tolist(), mixed.labels_of_prototypes(found).tolist())}) == 2


def test_projection_pursuit_stands_beside_its_source(two_clusters, tmp_path, monkeypatch):
    monkeypatch.setattr("mdh_dask.splits.search_null.SEARCHES", 4)
    monkeypatch.setattr(hppc, "DRAWN", 2)
    sizes = {"n_seeds": 1, "n_clouds": 1, "sets": ("bolton_2", "glass"), "sample_sizes": (200,)}
    tables = checked(hppc.run(**sizes, folder=two_clusters))
    found, levels, peers, bounds, clouds, nulls, samples = tables
    (line,) = lines_of(found, data="bolton_2", search="combined", **{"stop rule": "hold-out"})
    assert line["accuracy"] > 0.99
    assert line | {"published": 0.9915, "clusters": 2.0, "required": ">= 0.99", "verdict": "met"} == line
    assert [row[-1] for row in found.rows if row[0] == "glass"] == ["not found: skipped"]
    assert {line["published"] for line in lines_of(levels)} == {0.998}
    assert {line["published"] for line in lines_of(peers, data="bolton_2")} == {1.0, 0.9862}
    assert bounds.rows[0][1] > 0.99
    assert [line["split"] for line in lines_of(clouds, cloud="normal")] == [0, 0, 1]
    assert all(line["above single .995"] == 1 for line in lines_of(nulls))
    assert [line["sample"] for line in lines_of(samples)] == [200]
    hppc.plot(tables, tmp_path / "null.png")
    assert (tmp_path / "null.png").stat().st_size > 1000


def test_support_vector_clustering_stands_beside_its_source(two_clusters, monkeypatch):
    monkeypatch.setattr(svc_scale, "workers", workers_here)
    sizes = {"n_rows": 1000, "sets": ("pendigits", "shuttle"), "many": 1000, "few": 300}
    iris, crabs, landmarks, shapes, many, speed = checked(svc.run(**sizes, folder=two_clusters))
    assert [row[-1] for row in iris.rows] == ["met"] * 3
    assert [table.rows[0][0] for table in (crabs, landmarks)] == ["not found: skipped"] * 2
    assert lines_of(shapes, set="pendigits")[0]["NMI"] > 0.9
    assert lines_of(many, what="passes with labels")[0]["verdict"] == "met"
    assert speed.rows[0][2] > 0


def test_every_method_stands_beside_its_printed_tables(two_small_clusters, monkeypatch):
    for makers in ("BI_PARTITIONS", "HYPERPLANES", "TREES"):
        some = dict(list(getattr(printed_tables, makers).items())[-1:])
        monkeypatch.setattr(printed_tables, makers, some)
    monkeypatch.setattr(printed_tables, "OF_MIXTURES", {"mdh": printed_tables.HierarchicalMDH})
    sizes = {"n_seeds": 1, "mixtures": ((5, 10),), "sets": ("pendigits", "wine"), "folder": two_small_clusters}
    mixtures, *tables = checked(printed_tables.run(**sizes))
    assert mixtures.rows[0][5] == 0.353
    assert [len(table.rows) for table in tables] == [1] * 9
    assert sum(table.rows == [("not found: skipped",)] for table in tables) == 3
    (line,) = lines_of(next(t for t in tables if t.title.startswith("Trees, thesis table 5.2: pendigits")))
    assert line | {"NMI": 1.0, "clusters": 2.0, "published NMI": "-"} == line


def test_bounds_on_tails_are_counted(two_small_clusters):
    (table,) = checked(tails.run(n_seeds=1, n_projections=20, sets=("pendigits", "wine"), folder=two_small_clusters))
    *found, skipped = table.rows
    assert [row[1] for row in found] == list(tails.BOUNDS)
    assert all(0 <= small < clusters for *_, clusters, small in found)
    assert skipped[-1] == "not found: skipped"


def test_the_cost_of_partitions_and_density_trees_is_measured_in_a_process_each():
    methods = ["ClusterabilityTree", "DensityTree on moons"]
    *_, table = checked(partitions_scale.run(n_rows=3000, methods=methods, peers=[]))
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [
        ("ClusterabilityTree", 2, 20),
        ("DensityTree on moons", 2, 4),
    ]
    assert min(row[-2] for row in table.rows) > 0.9


def test_peers_of_density_trees_get_more_rows_until_they_take_too_long(monkeypatch):
    def measured(work, seconds, memory, n_rows, **_):
        cell = Cell(before={"cell": 10**8}, peaks={"cell": 3 * 10**8}, value=(1.0, 2.0, 0.9, 4))
        return cell if n_rows < 100_000 else Cell(failure="memory")

    monkeypatch.setattr(partitions_scale, "run_cell", measured)
    lines = partitions_scale._peer_lines("HDBSCAN", "moons", Path(), 10**6)
    assert lines[1] == ("HDBSCAN", "moons", 30_000, 1.0, 2.0, 300, 200, 0.9, 4)
    assert lines[2:] == [("HDBSCAN", "moons", 100_000, "memory", *["-"] * 5)]


def test_a_peer_clusters_rows_of_a_store(tmp_path):
    X, y = partitions_scale.moons_in_noise(2000)
    write_rows(X, tmp_path / "moons.zarr", chunk_rows=500)
    np.save(tmp_path / "moons.npy", y)
    *_, nmi, n_clusters = partitions_scale.fitted_peer(lambda: None, "HDBSCAN", tmp_path / "moons.zarr", 1000)
    assert nmi > 0.3
    assert n_clusters >= 2


def test_a_density_tree_on_two_workers_of_a_gigabyte_is_measured():
    found, sets = checked(density_scale.run(n_rows=20_000))
    values = {row[0]: row[1] for row in found.rows}
    assert values["clusters"] == 4
    assert values["NMI"] > 0.95
    assert values["passes with labels"] <= 4
    assert len(sets.rows) == 3
