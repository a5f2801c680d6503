"""Errors that are not of the data: places where nothing can be, full disks, workers that die, and the log of it all."""

import json
import logging
import os
import ssl
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import s3fs
from distributed.security import Security
from disturbed import COMMAND
from helpers import run

from mdh_dask.cli import exits
from mdh_dask.io import write_rows
from tests.helpers import at_night, job_text, serving
from tests.s3 import ENVIRONMENT

ROWS = np.random.default_rng(0).normal(size=(400, 3)).astype("f4")

JOB = job_text(
    input={"path": "{input}"},
    method={"name": "rp", "n_projections": 20},
    output={"labels": "{labels}"},
    run={"work": "{work}"},
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(ROWS, "x.zarr")
    Path("loop").symlink_to("loop")
    return tmp_path


def run_job(**places):
    Path("job.toml").write_text(JOB.format(**{"input": "x.zarr", "labels": "l.zarr", "work": "w"} | places))
    return run("run", "job.toml")


LOOP = "Too many levels of symbolic links"
PLACES = {
    "input of no user": ({"input": "~nosuchuser/x.zarr"}, exits.BAD_JOB, "input.path is ~nosuchuser/x.zarr, but there"),
    "output of no user": ({"labels": "~nosuchuser/l.zarr"}, exits.BAD_JOB, "output.labels is ~nosuchuser/l.zarr, but"),
    "work of no user": ({"work": "~nosuchuser/w"}, exits.BAD_JOB, "run.work is ~nosuchuser/w, but there is no such"),
    "input in a circle": ({"input": "loop"}, exits.NOT_READ_OR_WRITTEN, LOOP),
    "output in a circle": ({"labels": "loop/l.zarr"}, exits.CANNOT_CREATE, f"loop/l.zarr cannot be made: {LOOP}"),
    "work in a circle": ({"work": "loop"}, exits.CANNOT_CREATE, f"loop cannot be made: {LOOP}"),
    "input with a null": ({"input": "x\\u0000.zarr"}, exits.BAD_JOB, "input.path must be a path or URL"),
    "output with a null": ({"labels": "l\\u0000.zarr"}, exits.BAD_JOB, "output.labels must be a path or URL"),
    "work with a null": ({"work": "w\\u0000"}, exits.BAD_JOB, "run.work must be the path of a folder"),
    "output with a long name": ({"labels": "l" * 300}, exits.CANNOT_CREATE, "cannot be made: File name too long"),
    "output in a cache": ({"labels": "simplecache::s3://b/l"}, exits.BAD_JOB, "URL of a store that can be written to"),
    "output on the web": ({"labels": "https://b/l.zarr"}, exits.BAD_JOB, "URL of a store that can be written to"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="other messages of the system")
@pytest.mark.parametrize("name", PLACES)
def test_a_place_of_a_job_where_nothing_can_be_is_named_in_one_line(here, name):
    places, code, message = PLACES[name]
    result = run_job(**places)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir()) == ["job.toml", "loop", "x.zarr"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
def test_what_is_no_job_file_or_may_never_end_is_refused_at_once(here):
    os.mkfifo("pipe.toml")
    with open("large.toml", "wb") as file:
        file.truncate(2**21)
    Path("deep.toml").write_text("a = " + "[" * 5000 + "]" * 5000)
    for path, code, message in (
        (".", exits.NO_INPUT, ". is a folder; give the path of a job file"),
        ("loop", exits.NOT_READ_OR_WRITTEN, LOOP),
        ("deep.toml", exits.BAD_JOB, "deep.toml is not TOML: maximum recursion depth exceeded"),
        ("pipe.toml", exits.BAD_JOB, "pipe.toml is a pipe, a socket or a device, which may never end: write the job"),
        ("/dev/zero", exits.BAD_JOB, "/dev/zero is a pipe, a socket or a device"),
        ("large.toml", exits.BAD_JOB, "expected a job file of at most 1,048,576 bytes; got 2,097,152: check the path"),
    ):
        result = run("run", path, code=code)
        assert message in result.stderr


@pytest.fixture
def untrusted(here):
    """A server of the current folder with a certificate of an authority that nobody knows."""
    security = Security.temporary()
    Path("pair.pem").write_text(security.tls_scheduler_cert + security.tls_scheduler_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("pair.pem")
    with serving(here, context=context) as (url, _):
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("place", ["{}/x.npy", "{}/x.parquet", "{}/x.zarr", "s3://bucket/x.zarr", "s3://bucket/x.npy"])
def test_a_certificate_that_is_not_trusted_will_not_be_so_later(untrusted, monkeypatch, place):
    for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": untrusted, "AWS_MAX_ATTEMPTS": "1"}).items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    result = run("fit", place.format(untrusted), "--out", "l.zarr", "--scheduler", "threads")
    s3fs.S3FileSystem.clear_instance_cache()
    assert result.exit_code == exits.NOT_PERMITTED, result.output
    assert "certificate" in result.stderr.splitlines()[-1].lower()


@contextmanager
def files_of_at_most(n_bytes):
    """Make longer files fail as a full disk does: without a word of where."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def raised(line, module, within, folder):
    """Return the error of a line of a module, called by another module if that is given."""
    (folder / "inner.py").write_text(f"def call(*_):\n    {line}")
    (folder / "outer.py").write_text("def call(inner):\n    inner()")
    inner, outer = {"__name__": module, "np": np}, {"__name__": within or module}
    for name, there in (("inner", inner), ("outer", outer)):
        exec(compile((folder / f"{name}.py").read_text(), str(folder / f"{name}.py"), "exec"), there)
    with pytest.raises((ValueError, TypeError)) as found:
        outer["call"](inner["call"])
    return found.value


@pytest.mark.parametrize(
    ("line", "module", "within", "expected"),
    [
        ("raise ValueError('expected rows')", "mdh_dask.growth.growth", None, exits.BAD_DATA),
        ("raise TypeError('expected rows')", "mdh_dask.growth.growth", None, exits.BAD_DATA),
        ("one, two = [1]", "mdh_dask.growth.growth", None, exits.FAILED),
        ("np.zeros(3) + np.zeros(2)", "mdh_dask.growth.growth", None, exits.FAILED),
        ("np.quantile([1.0], 2)", "mdh_dask.growth.growth", None, exits.FAILED),
        ("len(3)", "mdh_dask.jobs.night", None, exits.FAILED),
        ("int('x')", "mdh_dask.io.csv", None, exits.BAD_DATA),
        ("np.frombuffer(b'1')", "mdh_dask.images.opening", "mdh_dask.jobs.night", exits.BAD_DATA),
        ("int('x')", "zarr.core", "mdh_dask.chunks.reduction", exits.BAD_DATA),
        ("int('x')", "another.package", None, exits.BAD_DATA),
    ],
)
def test_what_no_statement_of_the_package_raises_and_no_reader_is_its_own_fault(
    line, module, within, expected, tmp_path
):
    assert exits.exit_code(raised(line, module, within, tmp_path)) == expected


def test_a_fault_of_the_package_has_an_exit_code_of_its_own_and_a_traceback_in_the_log(here, monkeypatch):
    monkeypatch.setattr("mdh_dask.growth.growth.sample_limit", [].index)
    for result in (run("fit", "x.zarr", "--model", "m.zarr"), run_job()):
        assert result.exit_code == exits.FAILED
        assert "Traceback (most recent call last):" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("option", "name"), [("--out", "l.zarr"), ("--model", "m.zarr"), ("--report", "r.html")])
def test_a_full_disk_is_named_by_what_was_being_written(here, option, name):
    fit = ("fit", "x.zarr", "--method", "rp", "--n-projections", 20, "--scheduler", "threads", option)
    assert run(*fit, "before").exit_code == 0  # so that all loops are compiled, and kept where that is asked for
    with files_of_at_most(500):
        result = run(*fit, name)
    assert result.exit_code == exits.NOT_READ_OR_WRITTEN, result.output
    assert f"File too large: '{name}': make room, or name another place" in result.stderr.replace(f"{here}/", "")
    assert not [path for path in os.listdir() if name in path]


def test_lack_of_memory_is_told_with_a_remedy(here, monkeypatch):
    def fail(*args, **others):
        raise MemoryError("Unable to allocate 1.00 TiB")

    monkeypatch.setattr("mdh_dask.workflows._fit.fit_rows", fail)
    result = run("fit", "x.zarr", "--out", "l.zarr", "--scheduler", "threads")
    assert result.exit_code == exits.NO_MEMORY == 70
    assert "ERROR out of memory (Unable to allocate 1.00 TiB): give workers more memory" in result.stderr


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize(("ends", "code", "message"), at_night([
    ("os.kill(os.getpid(), 9)", exits.TRY_AGAIN, "a worker ended while it was being started"),
    ("raise ImportError('no numbers')", exits.MISSING_PACKAGE, "no numbers"),
]))  # fmt: skip
def test_a_worker_that_ends_while_it_is_started_ends_the_command_in_one_line(here, ends, code, message):
    Path("preload.py").write_text(f"import os\n{ends}\n")
    environment = os.environ | {"DASK_DISTRIBUTED__WORKER__PRELOAD": str(here / "preload.py")}
    fit = [*COMMAND, "fit", "x.zarr", "--out", "l.zarr", "--workers", "1"]
    done = subprocess.run(fit, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert message in [line for line in done.stderr.splitlines() if " ERROR " in line][-1]


# The log as JSON


def lines_of(result):
    return [json.loads(line) for line in result.stderr.splitlines()]


def noisy(*args, **others):
    def broken():
        raise ValueError("in a\nthread")

    warnings.warn("beware\nof this", UserWarning, stacklevel=2)
    logging.getLogger("some.library").error("two\nlines")
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
    raise AssertionError("never\nforeseen")


@pytest.mark.filterwarnings("always:beware")
def test_every_line_of_a_json_log_is_json_whoever_writes_it(here, monkeypatch):
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning
    monkeypatch.setattr("mdh_dask.workflows._fit.fit_rows", noisy)
    result = run("--log-json", "fit", "x.zarr", "--out", "l.zarr", "--scheduler", "threads", code=exits.FAILED)
    lines = {line["message"]: line for line in lines_of(result)}
    assert any("UserWarning: beware\nof this" in message for message in lines)
    assert lines["two\nlines"]["level"] == "error"
    assert 'raise ValueError("in a\\nthread")' in lines["ValueError: in a\nthread"]["traceback"]
    assert "AssertionError: never\nforeseen" in lines["never foreseen"]["traceback"]
    assert (sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning) == hooks


@pytest.mark.slow
@pytest.mark.cluster
def test_workers_write_json_too_and_so_does_the_end_of_the_process(here):
    program = (
        "import atexit, logging\n"
        "from distributed import get_client\n"
        "from mdh_dask.cli import main\n"
        "from mdh_dask.workflows import _fit\n"
        "def fail(name, table, estimator, outputs, cluster, *others):\n"
        "    def told():\n"
        "        import logging, warnings\n"
        "        logging.getLogger('distributed.worker').error('two\\nlines')\n"
        "        logging.getLogger('mdh_dask').warning('ours')\n"
        "        warnings.warn('beware')\n"
        "    with cluster:\n"
        "        get_client().run(told)\n"
        "        raise AssertionError\n"
        "_fit.fit_rows = fail\n"
        "atexit.register(lambda: logging.getLogger('late').error('the end'))\n"
        "main()\n"
    )
    arguments = ["--log-json", "fit", "x.zarr", "--out", "l.zarr", "--workers", "1"]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert done.returncode == exits.FAILED, done.stderr
    messages = [line["message"] for line in lines_of(done)]
    assert {"two\nlines", "ours", "the end", "AssertionError"} <= set(messages), messages
    assert any("UserWarning: beware" in message for message in messages)
