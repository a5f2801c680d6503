"""Credentials in the URLs of inputs: used to open them, and neither shown nor stored anywhere."""

import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import job_text, run
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from mdh_dask._locations import hiding_credentials, redacted, stored
from mdh_dask._log import JsonLines, Lines
from mdh_dask.clusters.plugins import watching
from mdh_dask.io import open_features
from tests.helpers import serving

ROWS = np.random.default_rng(0).normal(size=(400, 2)) + 9 * (np.arange(400) % 2)[:, None]

SECRETS = ("hunter2", "s1gned")  # no hexadecimal digits alone: a hash in a manifest may hold any of those

JOB = job_text(
    input={"path": "{}"},
    method={"name": "rp", "sample_size": 100, "n_projections": 4},
    output={
        "labels": "l.zarr", "model": "m.zarr", "report": "r.html", "metrics": "metrics.json",
        "manifest": "manifest.json",
    },
)  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def url(tmp_path):
    """The same rows in files that are served, of which a name is still to be given."""
    (tmp_path / "served").mkdir()
    np.save(tmp_path / "served/x.npy", ROWS)
    pq.write_table(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), tmp_path / "served/x.parquet")
    pixels = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    for name in ("x.png", "x.tif"):
        Image.fromarray(pixels).save(tmp_path / "served" / name)
    with serving(tmp_path / "served") as (address, _):
        yield address.replace("://", "://me:hunter2@") + "/{}?X-Amz-Date=2026&X-Amz-Signature=s1gned"


def leaks(result, folder, but=()):
    """Return where there is a secret: what a command told, and the files that it wrote."""
    told = {"stdout": result.stdout, "stderr": result.stderr}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in but]
    told |= {str(path): str(path) + path.read_bytes().decode("latin-1") for path in files}
    return [name for name, text in told.items() if any(secret in text for secret in SECRETS)]


OPTIONS = ("--scheduler", "threads", "--sample-size", 100, "--method", "rp", "--n-projections", 4)


@pytest.mark.slow
@pytest.mark.parametrize("log", [(), ("--log-json",)])
def test_nothing_that_fit_predict_and_drift_tell_or_write_holds_the_credentials_of_their_input(here, url, log):
    x = url.format("x.npy")
    written = ("--out", "l.zarr", "--model", "m.zarr", "--report", "r.html")
    results = [run(*log, "fit", x, *written, *OPTIONS)]
    results += [run(*log, "predict", x, "--model", "m.zarr", "--out", "p.zarr", *OPTIONS[:2])]
    results += [run(*log, "drift", x, "--model", "m.zarr", "--report", "d.html", *OPTIONS[:2])]
    assert [result.exit_code for result in results] == [0, 0, 0], results
    assert [leaks(result, here) for result in results] == [[], [], []]
    assert "***@127.0.0.1" in results[0].stderr
    assert "<h1>Clusters of x.npy</h1>" in (here / "r.html").read_text()


@pytest.mark.slow
def test_a_job_keeps_no_credentials_and_goes_on_only_with_the_same(here, url):
    job = here / "job.toml"
    job.write_text(JOB.format(url.format("x.npy")))
    checked, made, again = run("run", "--check", job), run("run", job), run("run", job)
    assert [checked.exit_code, made.exit_code, again.exit_code] == [0, 0, 0], made.output
    assert "nothing to do" in again.stdout
    assert [leaks(result, here, but=["job.toml"]) for result in (checked, made, again)] == [[], [], []]
    assert json.loads((here / "manifest.json").read_text())["job"]["input"]["path"] == stored(url.format("x.npy"))
    job.write_text(JOB.format(url.format("x.npy").replace("s1gned", "s2gned")))
    other = run("run", job, code=78)
    assert "job.input.path was" in other.stderr
    assert "s2gned" not in other.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(("no.npy", "--out", "l.zarr"), 66, id="missing"),
        pytest.param(("x", "--out", "l.zarr"), 65, id="kind"),
        pytest.param(("x.npy", "--columns", "9", "--out", "l.zarr"), 65, id="columns"),
        pytest.param(("x.npy",), 2, id="no output"),
        pytest.param(("x.npy", "--out", "{}"), 2, id="overlap"),
        pytest.param(("x.npy", "--out", "l.zarr", "{}"), 2, id="too many"),
        pytest.param(("y.npy", "--report", "{}"), 2, id="report"),
    ],
)
def test_no_error_of_a_command_holds_credentials(here, url, arguments, code):
    x, *others = arguments
    result = run("fit", url.format(x), *(other.format(url.format("x.npy")) for other in others), *OPTIONS, code=code)
    assert leaks(result, here) == []
    assert result.exit_code != 65 or "***@" in result.stderr


@pytest.mark.parametrize("formatter", [Lines(), JsonLines()])
def test_a_traceback_in_the_log_holds_no_credentials(formatter):
    try:
        try:
            raise RuntimeError("http://me:hunter2@host")
        except RuntimeError as error:
            raise KeyError("https://host/x?sig=s1gned") from error
    except KeyError as error:
        about = (KeyError, error, error.__traceback__)
        record = logging.LogRecord("mdh_dask", logging.ERROR, "", 0, "%s", ("s3://me:hunter2@b",), about)
    line = formatter.format(record)
    assert not [secret for secret in SECRETS if secret in line]
    assert "s3://***@b" in line
    assert "https://host/x?***" in line


class AnswerError(Exception):
    """Puts its message together when it is asked for."""

    def __str__(self):
        return "403, url=http://me:hunter2@host/x?sig=s1gned"


def test_errors_in_python_hold_no_credentials_whatever_caused_them(url):
    with pytest.raises(FileNotFoundError, match=r"no file at http://\*\*\*@127.*no.npy\?\*\*\*; check") as caught:
        open_features(url.format("no.npy"))
    told = []
    error = caught.value
    while error is not None:
        told.append(str(error))
        error = error.__cause__ or error.__context__
    assert not [text for text in told if any(secret in text for secret in SECRETS)]
    with pytest.raises(OSError, match=r"^403, url=http://\*\*\*@host/x\?\*\*\*$"), hiding_credentials():
        raise AnswerError
    with pytest.raises(FileNotFoundError, match=r"'http://\*\*\*@host'"), hiding_credentials():
        raise FileNotFoundError(2, "none", "http://me:hunter2@host")


def test_workers_log_no_credentials_of_tasks_that_fail(client):
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("distributed.worker").addHandler(handler)
    try:
        with watching(client), pytest.raises(ValueError, match="invalid literal"):
            client.submit(int, "http://me:hunter2@host/x.zarr?sig=s1gned", pure=False).result(
                timeout=60
            )  # its text has the URL
    finally:
        logging.getLogger("distributed.worker").removeHandler(handler)
    (line,) = (line for line in lines if "Compute Failed" in line)
    assert "http://***@host/x.zarr?***" in line
    assert not [secret for secret in SECRETS if secret in line]


# What is opened is opened with all of the URL


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
def test_presigned_urls_are_of_the_kind_that_their_path_names(url, name):
    rows = open_features(url.format(name)).rows
    np.testing.assert_array_equal(rows.compute(scheduler="synchronous"), ROWS)
    np.testing.assert_array_equal(open_features(url.format(name) + "&as=x.zarr*").rows[:3].compute(), ROWS[:3])


# What is redacted

word = st.text("abz09._~-+/@:?#&=%'", min_size=1, max_size=8)


@given(
    user=word,
    path=st.text("ab/.", max_size=5),
    query=word,
    around=st.sampled_from(["{}", "at '{}': x", "({}).", "{}, y"]),
)
def test_users_and_queries_are_redacted_wherever_a_url_stands(user, path, query, around):
    secret = "S3cr3t"
    for url in (
        f"https://{secret}@host/{path}",
        f"s3://u:{secret}@host/{path}",
        f"s3://u:my {secret}@host/{path}",
        f"s3://u:{secret} mine/@host/{path}",
        f"//u:{secret}@host/{path}",
        f"https://host/{path}?{query}{secret}",
        f"https://host/{path};token={secret}",
        f"https://host/{path}#token={secret}",
    ):
        text = redacted(around.format(url))
        assert secret not in text
        assert redacted(text) == text
        assert text.startswith(around.partition("{}")[0])


@pytest.mark.parametrize(
    "text",
    [
        "/data/a@b?c=d", "s3://bucket/run@5/x.zarr", "http://h:80/a@b", "http://[::1]:80/a@b", "file:///a@b", "C:/a@b",
        "x@y.z", "http://h/x#part", "//h/a@b", "http://h: ask a@b", "http://h:80 by a@b", "a // b: c@d",
    ],
)  # fmt: skip
def test_what_is_no_credential_stays(text):
    assert redacted(f"got {text}: what") == f"got {text}: what"
    assert stored(text) == text
