"""The command line: what it writes, what it tells, how it fails, and what it leaves behind."""

import errno
import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed.client import ClosedClientError, FutureCancelledError, FuturesCancelledError
from disturbed import wait_for
from helpers import at_night, last_line, rows_of_blobs, run
from sklearn.metrics import adjusted_rand_score

from mdh_dask import KernelPCAFeatures, RandomProjectionTree, load_model
from mdh_dask._errors import SettingError
from mdh_dask.cli import exits
from mdh_dask.cli.commands import mdh
from mdh_dask.cli.parameters import PARAMETERS
from mdh_dask.estimators.registry import METHODS, all_methods, options_of
from mdh_dask.io import open_rows, write_rows
from mdh_dask.jobs.methods import description
from mdh_dask.workflows.outputs import Outputs, Taken

THREADS = ("--scheduler", "threads")
QUICK = ("--method", "rp", "--n-projections", "20", *THREADS)


def of_map(**settings):
    return [text for name, value in settings.items() for text in ("-p", f"feature_map.{name}={value}")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder of inputs, with a model of three columns."""
    folder = tmp_path_factory.mktemp("store")
    X = rows_of_blobs(900)
    write_rows(X, folder / "x.zarr", chunk_rows=200)
    write_rows(rows_of_blobs(300), folder / "few.zarr", chunk_rows=90)
    write_rows(X[:, :2].copy(), folder / "two.zarr")
    bad = X.copy()
    bad[333, 1] = np.nan
    write_rows(bad, folder / "nan.zarr", chunk_rows=200)
    (folder / "text.txt").write_text("1,2,3\n")
    assert run("fit", folder / "x.zarr", "--model", folder / "model.zarr", *QUICK).exit_code == 0
    return folder


# What the commands write and tell


@pytest.mark.slow
def test_fit_writes_labels_model_and_report_and_one_line_on_standard_output(here):
    result = run("fit", "../in/x.zarr", "--out", "l.zarr", "--model", "m.zarr", "--report", "r.html", *QUICK, code=0)
    assert re.fullmatch(r"3 clusters of 900 rows in [\d.]+ s: l.zarr, m.zarr, r.html\n", result.stdout)
    X = rows_of_blobs(900)
    labels = open_rows("l.zarr", ndim=1).compute()
    np.testing.assert_array_equal(labels, RandomProjectionTree(n_projections=20).fit(X).labels_)
    assert adjusted_rand_score(np.arange(900) % 3, labels) > 0.95
    assert load_model("m.zarr").n_clusters_ == 3
    assert "../in/x.zarr, 900 rows of 3 float32 features" in Path("r.html").read_text()
    assert sorted(os.listdir()) == ["l.zarr", "m.zarr", "r.html"]


@pytest.mark.parametrize(
    "args",
    [
        ("fit", "", "--out", "l.zarr"), ("segment", "", "--out", "l.zarr"),
        ("predict", "", "--model", "../in/x.zarr", "--out", "l.zarr"),
        ("predict", "../in/x.zarr", "--model", "", "--out", "l.zarr"),
    ],
)  # fmt: skip
def test_an_empty_path_of_an_input_is_refused_at_once(here, args):
    assert "expected the path or URL of an input; got an empty one" in run(*args, code=2).output
    assert os.listdir() == []


def model_with(*options):
    run("fit", "../in/x.zarr", "--model", "m.zarr", "--overwrite", *options, *THREADS, code=0)
    return load_model("m.zarr")


def test_options_of_the_feature_map_reach_it_with_scale_of_the_method(here):
    options = (*of_map(n_landmarks=70, variance=0.5, n_components=2, landmark_method="kmeans++"), "--no-scale")
    feature_map = model_with("--feature-map", "rbf", "--method", "rp", "--n-projections", 20, *options).feature_map
    expected = {"n_landmarks": 70, "variance": 0.5, "n_components": 2, "landmark_method": "kmeans++", "scale": False}
    own = feature_map.get_params() | {"random_state": 0}
    assert own == KernelPCAFeatures(kernel="rbf", **expected).get_params()


def test_the_log_is_lines_with_times_on_standard_error(here):
    result = run("fit", "../in/x.zarr", "--out", "l.zarr", *QUICK)
    lines = result.stderr.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO \S", line) for line in lines), result.stderr
    assert "900 rows of 3 float32 features in 1 block" in lines[0]
    assert logging.getLogger("mdh_dask").handlers == []


def test_the_log_level_silences_the_log_but_no_error(here):
    assert run("--log-level", "error", "fit", "../in/x.zarr", "--out", "l.zarr", *QUICK).stderr == ""
    assert "exists" in run("--log-level", "error", "fit", "../in/x.zarr", "--out", "l.zarr", *QUICK).stderr


def test_one_bar_covers_all_passes_where_asked_for_and_no_other_place(here):
    result = run("fit", "../in/x.zarr", "--out", "l.zarr", *QUICK, "--progress", "--sample-size", 200)
    for step in ("pass 1: reading:", "pass 2: counting:", "all passes: 100%", "writing labels: 100%"):
        assert step in result.stderr
    assert "%" not in run("fit", "../in/x.zarr", "--out", "l.zarr", *QUICK, "--overwrite").stderr


@pytest.mark.parametrize(("options", "shown"), [((), True), (("--no-progress",), False)])
def test_a_terminal_has_bars_unless_they_are_refused(options, shown, here, monkeypatch):
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    assert ("100%" in run("fit", "../in/x.zarr", "--out", "l.zarr", *QUICK, *options).stderr) == shown


# Help


def test_help_names_the_common_parameters_and_the_list_of_all_methods_what_each_takes():
    text = run("fit", "--help").output
    for name in PARAMETERS:
        assert f"--{name.partition('/')[0].replace('_', '-')} " in text
        assert any(name.partition("/")[0] in options_of(cls) for cls in METHODS.values())
    assert len(re.findall("^  -", text, re.MULTILINE)) <= 42
    listed = run("methods").stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(all_methods())
    assert "PCATree: Divisive clustering by low-density separators on principal components" in listed
    result = run("methods", "kernel-kmean", code=exits.USAGE)
    assert "(did you mean 'kernel-kmeans'?)" in result.stderr


@pytest.mark.parametrize("method", all_methods())
def test_the_list_of_parameters_has_defaults_values_and_whole_sentences(method):
    text = run("methods", method).stdout
    found = dict(re.findall(r"^(\w+) = (\S+):", text, re.MULTILINE))
    defaults = {name: str(value) for name, value in options_of(all_methods()[method]).items()}
    assert found == {
        name: text.lower() if text in ("None", "True", "False") else text for name, text in defaults.items()
    }
    for name in found:
        assert re.fullmatch(r"[A-Z].*[^:]\.", description(all_methods()[method], name)), name


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        (["--n-trees", "30"], "n_trees=30"),
        (["--order=depth-first"], "order=depth-first"),
        (["--refine"], "refine=true"),
        (["--no-criterion-first"], "criterion_first=false"),
    ],
)
def test_what_was_an_option_is_named_as_a_parameter_of_the_method(typed, written, here):
    result = run("fit", "../in/x.zarr", *OUT, *typed, code=exits.USAGE)
    assert f"A parameter of the method is written as -p {written}." in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"], ["--version"], ["fit", "gone.zarr", "--out", "l.zarr"],
        ["predict", "gone.npy", "--model", "m.zarr", "--out", "l.zarr"], ["drift", ".", "--model", "gone.zarr"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_commands_themselves_and_a_missing_input_or_model_import_nothing_heavy(arguments):
    # The package's own __init__ is left out: what is measured are the modules of the command line.
    program = (
        "import importlib.util, sys, types\n"
        "package = types.ModuleType('mdh_dask')\n"
        "package.__path__ = list(importlib.util.find_spec('mdh_dask').submodule_search_locations)\n"
        "sys.modules['mdh_dask'] = package\n"
        "from mdh_dask.cli import mdh\n"
        f"mdh.main({arguments!r}, standalone_mode=False)\n"
        "sys.exit(','.join({'numba', 'distributed', 'sklearn', 'scipy', 'zarr'} & set(sys.modules)) or 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


# Errors: one line, the right exit code, nothing half-written

OUT = ("--out", "l.zarr")
MODEL = ("--model", "../in/model.zarr")
ERRORS = {
    "missing input": (("fit", "nope.zarr", *OUT), 66),
    "a file": (("fit", "../in/text.txt", *OUT), 65),
    "NaN": (("fit", "../in/nan.zarr", *OUT), 65),
    "NaN in predict": (("predict", "../in/nan.zarr", *MODEL, *OUT), 65),
    "folder of output": (("fit", "../in/x.zarr", "--out", "no/l.zarr"), 73),
    "folder of report": (("fit", "../in/x.zarr", "--report", "no/r.html"), 73),
    "report is a folder": (("fit", "../in/x.zarr", "--report", "."), 73),
    "no outputs": (("fit", "../in/x.zarr"), 2),
    "labels in a CSV file": (("fit", "../in/x.zarr", "--out", "l.csv"), 2),
    "same outputs": (("fit", "../in/x.zarr", "--out", "a", "--model", "./a"), 2),
    "output in output": (("fit", "../in/x.zarr", "--out", "a/l", "--model", "a"), 2),
    "output is input": (("fit", "../in/x.zarr", "--out", "../in/x.zarr", "--overwrite"), 2),
    "output is model": (("predict", "../in/x.zarr", *MODEL, "--out", "../in/model.zarr"), 2),
    "report on the web": (("fit", "../in/x.zarr", "--report", "https://b/r.html"), 2),
    "labels in a cache": (("fit", "../in/x.zarr", "--out", "simplecache::s3://b/l.zarr"), 2),
    "no model": (("predict", "../in/x.zarr", "--model", "m.zarr", *OUT), 66),
    "other columns": (("predict", "../in/two.zarr", *MODEL, *OUT), 65),
    "model is an array": (("predict", "../in/x.zarr", "--model", "../in/two.zarr", *OUT), 65),
    "option of another method": (("fit", "../in/x.zarr", *OUT, "--method", "depddp", "--n-projections", 1000), 2),
    "option of the trees of a consensus": (
        ("fit", "../in/x.zarr", *OUT, "--method", "consensus", "--min-cluster-size", 5),
        2,
    ),
    "option that no method has": (("fit", "../in/x.zarr", *OUT, "--method", "depddp", "-p", "n_projektions=1000"), 2),
    "landmarks without a map": (("fit", "../in/x.zarr", *OUT, *of_map(n_landmarks=50)), 2),
    "variance without the map of the method": (
        ("fit", "../in/x.zarr", *OUT, "--method", "kernel-mdh", "--feature-map", "none", *of_map(variance=0.5)),
        2,
    ),
    "precomputed without a square": (("fit", "../in/x.zarr", *OUT, "--feature-map", "precomputed"), 65),
    "NaN with a map": (("fit", "../in/nan.zarr", *OUT, "--feature-map", "rbf"), 65),
    "unknown command": (("cluster",), 2),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_told_in_one_line_and_leaves_nothing_behind(name, here, wording):
    args, code = ERRORS[name]
    result = run(*args, *(() if name == "unknown command" else THREADS), code=code)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert os.listdir() == []
    wording({name: last_line(result)}, here.parent)


def test_outputs_that_exist_are_refused_before_any_work(here, monkeypatch):
    monkeypatch.setattr("mdh_dask.workflows.reading.Reading.table", lambda *_: pytest.fail("work was begun"))
    Path("there").mkdir()
    Path("r.html").write_text("mine")
    for option, path in (("--out", "there"), ("--model", "there"), ("--report", "r.html")):
        result = run("fit", "../in/x.zarr", option, path, *THREADS, code=exits.CANNOT_CREATE)
        assert f"{path} exists: name another output, or replace it with --overwrite" in result.stderr
    assert Path("r.html").read_text() == "mine"


@pytest.mark.slow
def test_overwrite_replaces_outputs_of_the_same_kind_only(here):
    fit = ("fit", "../in/x.zarr", "--out", "l.zarr", "--model", "m.zarr", "--report", "r.html", *QUICK)
    assert run(*fit).exit_code == 0
    assert run(*fit, "--overwrite").exit_code == 0
    Path("mine").mkdir()
    for option, path in (("--out", "mine"), ("--out", "m.zarr"), ("--model", "mine"), ("--model", "l.zarr")):
        result = run("fit", "../in/x.zarr", option, path, *QUICK, "--overwrite", code=exits.CANNOT_CREATE)
        assert "nothing else is replaced" in result.stderr
    assert sorted(os.listdir()) == ["l.zarr", "m.zarr", "mine", "r.html"]


def test_a_missing_package_is_named_before_any_work(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("fit", "../in/x.zarr", "--report", "r.html", *THREADS, code=exits.MISSING_PACKAGE)
    assert 'pip install "mdh_dask[report]"' in result.stderr


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--quantile", "2", "a float in the range"),
        ("--n-projections", "0 --method=rp", "an int in the range"),
        ("--min-cluster-size", "2.5", "an int in the range .*, a float in the range"),
        ("-p", "criterion=DIP --method=divisive", "dip|kurtosis"),
        ("-p", "criterion", "NAME=VALUE, as"),
        ("-p", "name=pddp", "--method NAME once"),
        ("--n-clusters", "3 -p n_clusters=3", "n_clusters once"),
        ("--random-state", "-1", "an integer from 0"),
        ("--feature-map", "gaussian", "'cosine'"),
        ("-p", "feature_map.n_landmarks=1 --feature-map=rbf", "an int in the range"),
        ("-p", "feature_map.landmark_method=random --feature-map=rbf", r"kmeans\+\+|leverage|uniform"),
        ("--method", "kmeans", "rp"),
        ("--memory-limit", "2", "an amount of 100 MB or more, as 2GB"),
        ("--scheduler", "here", "an address, as tcp://host:8786, or 'threads'"),
    ],
)
def test_a_bad_value_of_an_option_is_refused_with_what_is_expected(option, value, expected, here):
    result = run("fit", "../in/x.zarr", *OUT, option, *value.split(), code=exits.USAGE)
    assert re.search(expected, result.stderr)
    assert value.partition(" ")[0].rpartition("=")[2] in result.stderr


def test_overlapping_places_are_found_through_links_and_in_urls(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    for one, other in ((f"{tmp_path}/a", f"{tmp_path}/link/a/b"), ("s3://bucket/a", "s3://bucket/a/b")):
        for pair in ((one, other), (other, one), (one, one)):
            with pytest.raises(SettingError, match=f"got {pair[0]} and {pair[1]}, which overlap"):
                Taken(["there", pair[1]]).check("here", pair[0])
    Taken(["s3://bucket/ab", "gs://bucket/a"]).check("s3://bucket/a")
    Outputs(f"{tmp_path}/a").check(f"{tmp_path}/b")


@pytest.mark.parametrize("option", ["--out", "--model", "--report"])
def test_an_output_without_a_name_is_said_to_have_none(option, here):
    result = run("fit", "../in/x.zarr", option, "", code=exits.USAGE)
    assert "expected the path or URL of an output; got an empty one" in result.stderr


@pytest.mark.parametrize(
    ("outputs", "named", "spelt"),
    [
        (Outputs(), "expected labels, model or report;", "expected --out, --model or --report;"),
        (
            Outputs(of_image=True),
            "labels, model, preview, connected, regions or report;",
            "--out, --model, --preview, --connected, --regions or --report;",
        ),
        (Outputs("here"), "replace it with overwrite=True", "replace it with --overwrite"),
    ],
)
def test_an_error_names_parameters_in_python_and_options_on_the_command_line(outputs, named, spelt, here):
    Path("here").mkdir()
    with pytest.raises((SettingError, FileExistsError)) as error:
        outputs.check()
    assert named in str(error.value)
    assert spelt in exits.message_of(error.value, mdh.commands["segment"])


@pytest.mark.parametrize(
    ("command", "text", "spelt"),
    [
        ("fit", "with feature_map='gower' or missing='drop'", "with --feature-map gower or --missing drop"),
        ("predict", "with feature_map='gower'", "with feature_map='gower'"),
        ("segment", "name them by axes=..., as axes='yxc'", "name them by --axes, as --axes yxc"),
        ("fit", "from features=...", "from features=..."),  # an argument
        ("run", "use missing_chunks='fill'", "use missing_chunks = 'fill' in [input]"),
        ("fit", "give it as categorical or ordinal in column_types", "give it with --categorical or --ordinal"),
        ("run", "got sparse ones: leave out column_types", "got sparse ones: leave out columns of [input]"),
    ],
)
def test_settings_in_messages_are_options_of_a_command_that_has_them(command, text, spelt):
    assert exits.message_of(ValueError(text), mdh.commands[command]) == spelt


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingError(), exits.USAGE),
        (TimeoutError(), exits.TRY_AGAIN),
        (ConnectionRefusedError(), exits.TRY_AGAIN),
        (type("KilledWorker", (Exception,), {})(), exits.NO_MEMORY),
        (MemoryError(), exits.NO_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), exits.NO_MEMORY),
        (FutureCancelledError("x", "lost dependencies"), exits.TRY_AGAIN),
        (FuturesCancelledError([]), exits.TRY_AGAIN),
        (ClosedClientError("closed"), exits.TRY_AGAIN),
        (type("DNSError", (type("ClientConnectorError", (OSError,), {}),), {})(), exits.TRY_AGAIN),  # of aiohttp
        (type("ServiceRequestError", (Exception,), {})(), exits.TRY_AGAIN),  # of Azure's client
        (type("ClientAuthenticationError", (Exception,), {})(), exits.NOT_PERMITTED),
        (type("DefaultCredentialsError", (Exception,), {})(), exits.NOT_PERMITTED),  # of GCS's client
        (PermissionError(), exits.NOT_PERMITTED),
        (OSError(28, "No space left on device"), exits.NOT_READ_OR_WRITTEN),
        (KeyboardInterrupt(), exits.INTERRUPTED),
        (exits.Terminated(), exits.TERMINATED),
        (click.Abort(), exits.INTERRUPTED),
        (ImportError(), exits.MISSING_PACKAGE),
        (AssertionError(), exits.FAILED),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error, code):
    assert exits.exit_code(error) == code


def test_a_scheduler_that_came_back_without_what_it_knew_is_a_cluster_that_was_lost():
    error = FutureCancelledError("_combine_states-1", "lost dependencies")
    assert exits.message_of(error) == (
        "the cluster was lost (_combine_states-1 cancelled for reason: lost dependencies): the same command may "
        "succeed later"
    )


# Clusters


@pytest.fixture(scope="module")
def tcp_cluster():
    from distributed import LocalCluster

    with LocalCluster(
        processes=False, protocol="tcp://", n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.mark.slow
def test_work_runs_on_a_scheduler_named_by_address_or_file(here, tcp_cluster):
    Path("scheduler.json").write_text(json.dumps({"address": tcp_cluster.scheduler_address}))
    named = [("--scheduler", tcp_cluster.scheduler_address), ("--scheduler-file", "scheduler.json")]
    for i, where in enumerate(named):
        options = ("--out", f"l{i}.zarr", "--report", f"r{i}.html", *QUICK[:4], "--progress")
        result = run("fit", "../in/x.zarr", *options, *where, code=0)
        assert f"scheduler at {tcp_cluster.scheduler_address}" in Path(f"r{i}.html").read_text()
        assert "writing labels: 100%" in result.stderr
    assert run("predict", "../in/nan.zarr", *MODEL, *OUT, *named[0]).exit_code == exits.BAD_DATA
    np.testing.assert_array_equal(open_rows("l0.zarr", ndim=1), open_rows("l1.zarr", ndim=1))


def test_a_scheduler_that_does_not_answer_is_given_up(here):
    result = run("fit", "../in/x.zarr", *OUT, "--scheduler", "tcp://127.0.0.1:9", "--scheduler-timeout", 0.5)
    assert (result.exit_code, os.listdir()) == (exits.TRY_AGAIN, [])
    assert "no scheduler at tcp://127.0.0.1:9 in 0.5 s: check that it runs" in result.stderr


# Whole processes


HELD = """
import time
from mdh_dask.io import blocks

def store_and_wait(target, folder, where, block, store=blocks.store):
    store(target, folder, where, block)
    while (folder / "zarr.json").exists():
        time.sleep(0.01)

blocks.store = store_and_wait
"""
"""Here and in workers: nothing ends before its unfinished output has been removed, so that no signal comes too late."""


def start_held(*args):
    Path("../held.py").write_text(HELD)
    main = "import runpy; runpy.run_path('../held.py'); from mdh_dask.cli import main; main()"
    # What a script starts in its background ignores interrupts, what nohup starts ignores SIGHUP, and so does what
    # these start.
    before = [(kind, signal.signal(kind, signal.SIG_DFL)) for kind in (signal.SIGINT, signal.SIGHUP)]
    try:
        return subprocess.Popen(
            [sys.executable, "-c", main, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env=os.environ | {"DASK_DISTRIBUTED__WORKER__PRELOAD": "../held.py"},
        )  # fmt: skip
    finally:
        for kind, handler in before:
            signal.signal(kind, handler)


def wait_for_writing(process, folder):
    def begun():
        assert process.poll() is None, process.communicate()
        return list(folder.glob(".l.zarr.partial-*/zarr.json"))

    wait_for(begun, "writing")


def assert_cleanly_stopped(process, code, folder, worker_processes=False):
    output, log = process.communicate(timeout=300)
    assert process.returncode == code, log
    assert output == ""
    assert "interrupted; unfinished outputs are removed" in log.splitlines()[-1]
    # A worker process that is stopped in the middle of a heartbeat says so itself.
    assert worker_processes or "Traceback" not in log
    assert os.listdir(folder) == []


def has_processes(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.parametrize(
    ("number", "code"), at_night([(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
)
def test_an_interrupted_command_removes_what_it_was_writing(number, code, here):
    process = start_held("predict", "../in/x.zarr", *MODEL, *OUT, *THREADS)
    wait_for_writing(process, here)
    process.send_signal(number)
    assert_cleanly_stopped(process, code, here)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_an_interrupt_from_a_terminal_stops_the_worker_processes_too(here):
    process = start_held("predict", "../in/x.zarr", *MODEL, *OUT, "--workers", 1)
    wait_for_writing(process, here)
    os.killpg(process.pid, signal.SIGINT)
    assert_cleanly_stopped(process, 130, here, worker_processes=True)
    wait_for(lambda: not has_processes(process.pid), "the end of all processes")


HOSTILE = "a\x1b[31m\n2026-11-25 03:00:00 ERROR forged", "b\u202e\0"


@pytest.mark.slow
def test_no_name_of_a_column_a_level_or_a_file_sends_control_characters_or_forges_lines_of_a_log(tmp_path):
    rows = rows_of_blobs(900)
    levels = np.array([f"{name}\x1b]0;title\a" for name in "xyz"])[np.arange(900) % 3]
    table = pa.table({HOSTILE[0]: rows[:, 0], HOSTILE[1]: rows[:, 1], "c": levels})
    path, report = tmp_path / "x\x1b[2J.parquet", tmp_path / "r.html"
    pq.write_table(table, path)
    options = ("--feature-map", "gower", "--out", str(tmp_path / "l\u2028\x1b.zarr"), "--report", str(report), *QUICK)
    shown = [
        run(*command)
        for command in (
            ["fit", str(path), *options],
            ["fit", str(path), *options],
            ["fit", str(path), "--columns", "z", "--overwrite", *options],
            ["fit", f"{path}\x1b", *options],
            ["predict", str(path), str(path), "--out", "x.zarr"],
        )
    ]
    assert [one.exit_code for one in shown] == [0, 73, 65, 66, 2]
    text = "".join(one.output for one in shown)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert not [line for line in text.splitlines() if "forged" in line and line.startswith("2026-11-25 03:00:00")]
    assert not re.search("[\0-\x08\x0b-\x1f\x7f]", report.read_text())
