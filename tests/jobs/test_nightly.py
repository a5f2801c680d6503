"""Jobs that run night after night: an input that has changed is begun anew, and outputs are always those of a night."""

import shutil
from pathlib import Path

import dask
import pytest
from disturbed import contents
from test_run import JOB, rows_of_blobs, run

from mdh_dask import load_model
from mdh_dask.cli import exits
from mdh_dask.io import open_rows, write_rows

NIGHTLY = JOB + "[run]\non_change = 'restart'\n"

ROWS = (6000, 5500)
"""Of the first and of the second night."""


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    with pytest.MonkeyPatch.context() as patch, dask.config.set({"mdh-dask.block-size": 6000}):
        patch.setenv("DASK_MDH_DASK__BLOCK_SIZE", "6000")  # for processes
        yield


def copy(folder, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to, copy_function=shutil.copy2)


class Nights:
    """A folder, to which the inputs of two nights can be brought, and what is in it when the first night is done."""

    def __init__(self, folder):
        self.folder, self.here = folder, folder / "here"
        for n in ROWS:
            write_rows(rows_of_blobs(n), folder / f"{n}.zarr", chunk_rows=500)

    def bring(self, n):
        """Put the input of a night in place."""
        copy(self.folder / f"{n}.zarr", self.here / "x.zarr")

    def run(self, n):
        """Run the job on the input of a night alone; return what it writes."""
        shutil.rmtree(self.here, ignore_errors=True)
        (self.here / "out").mkdir(parents=True)
        (self.here / "job.toml").write_text(NIGHTLY)
        self.bring(n)
        result = run(self.here / "job.toml")
        assert result.exit_code == 0, result.output
        return contents(self.here / "out")


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    nights = Nights(tmp_path_factory.mktemp("nights"))
    nights.second = nights.run(ROWS[1])
    nights.run(ROWS[0])
    copy(nights.here, nights.folder / "first")
    return nights


@pytest.fixture
def bring(nights):
    return nights.bring


@pytest.fixture
def second(nights, monkeypatch):
    """What a job writes that knows the second night only; the first night is done."""
    copy(nights.folder / "first", nights.here)
    monkeypatch.chdir(nights.here)
    nights.bring(ROWS[1])
    return nights.second


def rows_shown():
    """Return the rows of which there are labels and a model, both complete."""
    assert load_model("out/m.zarr").n_clusters_ == 3
    return len(open_rows("out/l.zarr", ndim=1))


@pytest.mark.slow
def test_an_input_that_changes_while_it_is_read_makes_no_outputs(bring, second, monkeypatch):
    def changing(*args, **kwargs):
        bring(ROWS[0])
        return original(*args, **kwargs)

    from mdh_dask.jobs._run import metrics_of as original

    before = contents(Path("out"))
    with monkeypatch.context() as patch:
        patch.setattr("mdh_dask.jobs._run.metrics_of", changing)
        result = run("job.toml")
    assert result.exit_code == exits.BAD_JOB
    assert "ERROR since the job began, on " in result.stderr
    assert "input.objects was 13 and is 14; " in result.stderr
    assert {name: content for name, content in contents(Path("out")).items() if not name.startswith(".")} == before
    assert run("job.toml").exit_code == 0
    assert rows_shown() == ROWS[0]


@pytest.mark.slow
def test_only_outputs_that_the_job_made_itself_are_replaced(second):
    Path("out/mine.json").write_text("mine")
    Path("job.toml").write_text(NIGHTLY.replace("metrics.json", "mine.json"))
    for _ in range(2):
        result = run("job.toml")
        assert result.exit_code == exits.CANNOT_CREATE
        assert result.stderr.endswith("mine.json exists: name another output, or replace it with --overwrite\n")
    assert Path("out/mine.json").read_text() == "mine"
    assert rows_shown() == ROWS[0]
    assert run("job.toml", "--overwrite").exit_code == 0
    assert rows_shown() == ROWS[1]


@pytest.mark.slow
def test_without_on_change_an_input_that_changed_is_an_error(second):
    Path("job.toml").write_text(JOB)
    result = run("job.toml")
    assert result.exit_code == exits.BAD_JOB
    assert "input.shape was [6000, 3] and is [5500, 3]" in result.stderr
    assert result.stderr.endswith("change it back, or discard its work with --restart\n")
    assert rows_shown() == ROWS[0]


# The files of the folder of work
