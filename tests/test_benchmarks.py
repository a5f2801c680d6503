"""Every suite of the benchmarks runs at its smallest with complete tables, and what they compute is right."""

import gzip
import json
import os
import re
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import figure_projections, hppc, images, results
from benchmarks.__main__ import GROUP_OF, GROUPS, README, main, suite_of
from benchmarks.cells import Cell
from benchmarks.figure_projections import deepest_split
from benchmarks.honesty import run as honesty
from benchmarks.many import KINDS, Mixture, clusters
from benchmarks.sets import ALL_SETS
from benchmarks.shared import Table, Times, interleaved, ratio_row
from benchmarks.speed_verdicts import COMPARED, against_peers, lost
from click.testing import CliRunner
from distributed import Client, LocalCluster

pytestmark = pytest.mark.slow

VERDICTS = {"met", "not met", "-", "not found: skipped", "not installed: skipped"}

RP = "RandomProjectionTree"

SMALLEST = {
    "quality": {"sets": ("iris",), "methods": (RP, "KMeans"), "n_seeds": 1, "jobs": 1},
    "power": {"n_seeds": 1, "sizes": (100,), "columns": (2,), "separations": (9.0,), "methods": (RP, "HDBSCAN"),
              "n_rows": 2000, "n_jobs": 1},
    "shapes": {"n_seeds": 1, "most_rows": 1000, "sets": ("pendigits",)},
    "many": {"ks": (12,), "columns": (4,), "n_null": 1000, "repeats": 1, "routed": ((12, 4),)},
    "semi_supervised": {"n_draws": 2, "numbers": (4, 20), "sets": ("pendigits", "no such set")},
    "images": {"names": ("a", "b")},
    "mixed": {"seeds": (0,), "embeddings": ("CSE",)},
    "speed": {"n_rows": 3000, "columns": (3, 4, 10**6), "clusters": (3,), "repeats": 2, "gigabytes": 0.001,
              "contestants": (RP, "KMeans")},
    "scale": {"n_rows": 1000, "most_rows": 300, "methods": (RP, "DensityTree"), "widths": (3,)},
    "scale_out": {"n_rows": 4000, "n_columns": 5, "chunks": (10, 20), "repeats": 1},
    "memory": {"n_rows": 20_000, "n_columns": 5, "estimators": ("PDDP",), "estimator_rows": 40_000,
               "chunk_sizes": (1, 2)},
    "first": {"repeats": 1, "n": 40, "methods": (RP, "HierarchicalMDH")},
    "passes": {"n_rows": 4000, "exact_projections": 5, "seeds": (0,)},
    "giant": {"side": 1500},
    "holes": {"side": 1200},
    "costs": {},
    "honesty": {"n_seeds": 1, "shapes": ((100, 2),), "methods": (RP,), "n_jobs": 1},
    "mixed_nulls": {"n_seeds": 1, "methods": (f"{RP} on pairs", f"{RP} on mPPCA"), "missing": (0.0, 0.3),
                    "n_rows": 100, "n_jobs": 1},
    "evidence": {"n_seeds": 1, "shapes": ((200, 2),), "methods": (RP, "DensityTree"), "n_jobs": 1},
    "nights": {"n_seeds": 1, "methods": (RP,), "n_jobs": 1},
    "tails": {"n_seeds": 1, "n_projections": 20, "sets": ("pendigits", "wine")},
    "printed_tables": {"n_seeds": 1, "mixtures": ((5, 10),), "sets": ("pendigits", "wine")},
    "figures": {"rows": (100, 200), "columns": (20, 30), "clusters": (2, 3), "at": (20, 200, 2), "repeats": 1,
                "projected": (20,), "names": ("wine", "usps"), "seeds": (0,), "simulated": ((2, 20),), "counts": (10,)},
    "hppc": {"n_seeds": 1, "n_clouds": 1, "sets": ("bolton_2", "glass"), "sample_sizes": (200,)},
    "svc": {"sets": ("pendigits", "shuttle"), "few": 300},
    "mixed_simulations": {"n_seeds": 1, "shapes": ((5, 5),), "methods": ("dePDDP on CSE",), "n_jobs": 1},
    "dependence": {"n_seeds": 1, "methods": [RP], "n_jobs": 1, "n_rows": 3000},
}  # fmt: skip
"""Sizes with which each suite takes seconds."""

BY_DAY = {"quality", "first", "costs", "honesty", "printed_tables", "dependence"}
"""One suite of each group at least; the others are run at night."""


@contextmanager
def workers_here(n_workers=2):
    """Workers in this process, where the loops are compiled; a number of bytes is no number of workers."""
    options = {"n_workers": min(n_workers, 2), "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    options |= {"scheduler_kwargs": {"dashboard_address": ":0"}}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def apart_here(n_workers):
    with workers_here(n_workers) as client:
        yield client, dict.fromkeys(["scheduler", *(f"worker {i}" for i in range(n_workers))], os.getpid())


def cell_here(work, seconds, memory=0.0, **parameters):
    """Measure in this process."""
    value = work(lambda **parts: None, **parameters)
    sizes = {"cell": 10**6, "scheduler": 2 * 10**6, "worker 0": 3 * 10**6}
    return Cell(value, peaks=sizes, before=sizes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one labelled set of two clusters, with a constant column and a row that is not complete."""
    place = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (rng.normal(size=(200, 3)) + 9 * y[:, None]).astype(np.float32)
    X[:, 2] = 1
    X[0, 0] = np.nan
    np.savez(place / "pendigits.npz", X=X, y=y)
    pixels, truth = rng.integers(0, 20, (60, 50, 3), dtype="u1"), np.repeat([0, 1, 2], 20)[:, None].repeat(50, axis=1)
    pixels += (70 * truth[..., None]).astype("u1")
    (place / "images").mkdir()
    np.savez(place / "images" / "a.npz", image=pixels, segmentations=np.stack([truth, truth]))
    values = np.column_stack([rng.normal(9 * y).round(3), *(y ^ (rng.random(200) < 0.02) for _ in range(3)), y])
    lines = "\n".join(",".join(map(str, row)) for row in values)
    (place / "voting.csv.gz").write_bytes(gzip.compress(f"a,b,c,d,label\n{lines}\n,1,,0,1\n".encode()))
    kinds = {"continuous": ["a"], "ordinal": ["b"], "categorical": ["c", "d"], "label": "label"}
    (place / "column_types.json").write_text(json.dumps({"voting.csv.gz": kinds}))
    return str(place)


@pytest.fixture
def small(monkeypatch):
    """Measure in this process, and leave out what takes long."""

    def few(module, name, *kept):
        every = getattr(import_module(f"benchmarks.{module}"), name)
        monkeypatch.setattr(f"benchmarks.{module}.{name}", {key: every[key] for key in kept or list(every)[-1:]})

    for module in ("speed", "scale_out", "memory_of_estimators"):
        monkeypatch.setattr(f"benchmarks.{module}.run_cell", cell_here)
    for module in ("scale_out", "memory_of_estimators"):
        monkeypatch.setattr(f"benchmarks.{module}.apart", apart_here)
    for module in ("memory", "giant", "holes", "scale"):
        monkeypatch.setattr(f"benchmarks.{module}.workers", workers_here)
    # Workers take the loops that the tests have compiled.
    monkeypatch.setattr("benchmarks.workers.TemporaryDirectory", lambda: nullcontext(os.environ["MDH_DASK_CACHE"]))
    for makers in ("BI_PARTITIONS", "HYPERPLANES", "TREES", "OF_MIXTURES"):
        few("printed_tables", makers)
    few("mixed", "OURS", "dePDDP")
    few("mixed", "OTHERS", "DBSCAN")
    few("mixed_nulls", "TABLES", "3 of each kind")
    few("dependence", "CLOUDS")
    few("dependence", "CLUSTERS")
    few("figure_times", "BI_PARTITIONS", "RP-100", "PCA")
    monkeypatch.setattr("mdh_dask.splits.null.SEARCHES", 4)
    monkeypatch.setattr(hppc, "DRAWN", 2)
    program = "import json, os; folder = os.environ['MDH_DASK_CACHE']; new = not os.listdir(folder); "
    program += "open(folder + '/loop', 'w'); print(json.dumps([9.0 if new else 1.2, 1.0]))"
    monkeypatch.setattr("benchmarks.first.PROGRAM", program)
    monkeypatch.setattr("benchmarks.first.COMMANDS", {"--help": ("--help", 60.0)})
    monkeypatch.setattr("benchmarks.first.PLACES", {"threads of the process": "--help"})


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in BY_DAY)) for name in GROUP_OF]
)
def test_a_suite_runs_at_its_smallest_with_complete_tables_and_its_plots(name, small, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MDH_DASK_DATA", folder)
    suite = suite_of(name)
    tables = list(suite.run(**SMALLEST[name]))
    assert set(suite.SHORT) <= set(suite.run.__annotations__)
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert "verdict" not in table.columns or {row[-1] for row in table.rows} <= VERDICTS
    if hasattr(suite, "plot"):
        suite.plot(tables, tmp_path / f"{name}.png")
        pictures = [*tmp_path.glob("*.png")]
        assert pictures
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)


# The command and its pages


def test_every_suite_is_of_one_group_and_in_the_help():
    assert len(GROUP_OF) == sum(map(len, GROUPS.values())) == len(SMALLEST)
    text = CliRunner().invoke(main, ["--help"], terminal_width=200).output
    assert all(f"Group {group}:" in text for group in GROUPS)
    assert all(f"\n  {name} " in text for name in GROUP_OF)


def run_with(monkeypatch, arguments, **suites):
    """Run the command with suites that note their sizes; return its result and the notes."""
    told = []

    def noting(name):
        def run(sets=ALL_SETS, n_seeds=3, cells=None):
            told.append((name, sets, n_seeds))
            yield Table(f"Of {name}", ("a|b", "c"), [("x", np.float64(0.51234))])

        return SimpleNamespace(run=run, SHORT={"n_seeds": 1}, __doc__=f"What of {name}?\nMore.")

    monkeypatch.setattr("benchmarks.__main__.suite_of", noting)
    return CliRunner().invoke(main, arguments), told


def test_what_is_run_is_kept_on_the_page_of_its_group_with_the_machine_but_no_path_of_it(monkeypatch, tmp_path):
    for name in ("x.png", "honesty-b.png"):
        (tmp_path / name).touch()
    run_with(monkeypatch, ["honesty", "mixed_nulls", "--seeds", "2", "--out", str(tmp_path)])
    run_with(monkeypatch, ["honesty", "--seeds", "4", "--cells", str(tmp_path / "cells"), "--out", str(tmp_path)])
    kept = json.loads((tmp_path / "null.json").read_text())
    assert [(name, own["sizes"]) for name, own in kept.items()] == [
        ("honesty", "n_seeds 4"),
        ("mixed_nulls", "n_seeds 2"),
    ]
    assert all(f"{word} " in kept["honesty"]["machine"] for word in ("python", "numpy", "zarr", "HiPart", "processors"))
    page = (tmp_path / "null.md").read_text()
    assert "## honesty: What of honesty?\n\n`python -m tests.benchmarks honesty`, " in page
    assert page.count("![") == page.count("![honesty-b](honesty-b.png)") == 1
    assert "### Of honesty\n\n| a/b | c |\n| --- | --- |\n| x | 0.512 |" in page


def test_the_tables_of_the_readme_are_those_of_the_results():
    text = README.read_text()
    assert text == results.filled(text, README.parent / "results")
    assert len(results.TABLE.findall(text)) >= 5
    assert len(text.splitlines()) <= 150


# What is computed


def test_the_suites_without_a_published_table_are_those_that_the_readme_names():
    kept = {suite for group in GROUPS for suite in json.loads((README.parent / f"results/{group}.json").read_text())}
    (said,) = re.findall(r"^Without a published table are (.*?):", README.read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", said)) == GROUP_OF.keys() - kept


def test_cells_in_the_file_are_not_run_again(tmp_path, monkeypatch):
    sizes = {"n_seeds": 1, "shapes": ((100, 2),), "methods": (RP,), "cells": tmp_path / "new" / "cells", "n_jobs": 1}
    _, clouds, _ = honesty(**sizes, kinds=("bent",))
    monkeypatch.setattr("benchmarks.honesty._clusters", lambda *_: 7)
    _, more, of_size = honesty(**sizes, kinds=("bent", "bounded"))
    kept, found = [row[-1] for row in clouds.rows], [row[-1] for row in more.rows]
    assert found == [*kept, *[7] * (len(found) - len(kept))]
    assert len(found) > len(kept)
    assert of_size.rows == [("100 x 2", len(found), sum(k > 1 for k in found))]
    monkeypatch.setattr("benchmarks.honesty._clusters", None)
    assert [*honesty(**sizes, kinds=("bent", "bounded"))][1].rows == more.rows
    with pytest.raises(ValueError, match=r"in one column none of banana.*; got bent with all their clouds"):
        next(honesty(**sizes | {"shapes": ((60, 1),)}, kinds=("bent",)))


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


def test_repeats_take_turns():
    order = []
    times = interleaved(2, {"a": lambda: order.append("a"), "b": lambda: order.append("b")})
    assert order == ["a", "b", "a", "b"]
    assert all(t.wall.shape == t.cpu.shape == (2,) for t in times.values())


def test_a_ratio_is_the_median_within_the_turns():
    a, b = Times(np.array([1.0, 9.0, 4.0]), np.ones(3)), Times(np.array([1.0, 3.0, 2.0]), np.full(3, 2.0))
    assert ratio_row("a / b", a, b, 1.5) == ("a / b", 2.0, 1.0, 0.5, "<= 1.5", "not met")


def test_a_split_is_the_deepest_valley_that_leaves_enough_rows_on_both_sides():
    rng = np.random.default_rng(0)
    projected = np.concatenate([rng.normal(0, 1, 400), rng.normal(8, 1, 200), [40.0, 41.0]])
    depth, parts = deepest_split(projected)
    assert depth > 1
    assert (parts == (projected > 4)).mean() > 0.99


def test_the_deepest_of_the_first_projections_is_followed(monkeypatch):
    splits = iter([(1.0, np.array([0, 0, 1, 1])), (3.0, np.array([0, 1, 0, 1])), (2.0, np.array([1, 1, 0, 0]))])
    monkeypatch.setattr(figure_projections, "deepest_split", lambda projected: next(splits))
    monkeypatch.setattr(figure_projections, "COUNTS", (1, 3))
    best, deepest = figure_projections._curves(np.eye(4), np.array([0, 0, 1, 1]), 0)
    np.testing.assert_array_equal(best, [1, 1, 1])
    assert deepest[0] == 1
    assert deepest[1] == deepest[2] < 1


# Many clusters


def test_clusters_two_standard_deviations_apart_have_no_valley_and_far_ones_have_one():
    centres = np.array([[0.0, 0, 0], [2, 0, 0], [0, 6, 0]])
    labels = np.repeat([0, 1, 2], 100)
    mixture = Mixture(centres[labels], labels, centres)
    assert mixture.n_with_valleys == 2
    assert mixture._replace(centres=2 * centres).n_with_valleys == 3
    assert (mixture.likeliest == labels).all()


@pytest.mark.parametrize("kind", KINDS)
def test_all_clusters_of_many_have_at_least_a_hundred_rows_unless_on_average(kind):
    mixture = clusters(30, 5, KINDS[kind])
    n_rows = np.bincount(mixture.labels + 1)[1:]
    assert (n_rows.min() == 100) == (not KINDS[kind].on_average)
    assert np.mean(mixture.labels < 0) == pytest.approx(KINDS[kind].noise, abs=0.001)
