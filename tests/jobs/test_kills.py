"""Jobs that are killed before any of their steps and run again: one state machine over rows, images, scenes and S3.

A step is whatever lasts: a file that is opened to be written, renamed or removed, a request that changes a bucket.
Nothing that comes after the step of a kill is done either, as by a process that has ended.
"""

import os
import re
import shutil
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import dask
import pytest
import s3fs
import zarr
from disturbed import Killed, contents
from helpers import at_night, job_text, rows_of_blobs
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from test_images import beach
from test_scenes import scene

from mdh_dask import jobs
from mdh_dask.io import write_rows
from tests.s3 import s3_in_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    ),  # what ends while nothing can be done
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

FILES = {"report": "{out}/r.html", "manifest": "{out}/manifest.json"}

JOB = job_text(
    input={"kind": "{kind}", "path": "{path}"},
    method={"name": "rp", "n_projections": 20, "sample_size": 100},
    cluster={"kind": "synchronous"},
    output={"labels": "{out}/{labels}", "model": "{out}/{model}", **FILES},
    run={"{change}": "{to}"},
)

WRITING = {"put_object", "copy_object", "delete_object", "delete_objects", "create_multipart_upload"}
"""Requests that change a bucket."""


class Steps:
    """Keeps the kinds of the steps below a folder, and in buckets; from the last that is allowed on, all of them fail.

    Of one kind are the same calls for one output, or for what is staged of it, whatever the files and numbers there.
    """

    def __init__(self):
        self.folder, self.allowed, self.made = None, 0, []

    def step(self, call, path):
        if len(self.made) >= self.allowed:
            raise Killed
        self.made.append((call, *re.sub(r"[0-9a-f]{8,}|[0-9]+", "", path).split("/")[:3]))

    def audit(self, event, args):
        if self.folder is None or event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & 3):  # for reading alone
            return
        paths = [str(Path(path).absolute()) for path in args[:2] if isinstance(path, str | Path)]
        # The system frees the locks of a process that has ended.
        if mine := [path for path in paths if path.startswith(self.folder) and not path.endswith("lock")]:
            self.step(event, mine[-1].removeprefix(f"{self.folder}/"))


STEPS = Steps()


@cache
def listening():
    """Count steps from now on; Python has no way to end this."""
    sys.addaudithook(STEPS.audit)

    async def request(self, method, *args, **kwargs):
        if STEPS.folder is not None and method in WRITING:
            try:
                STEPS.step(method, f"s3/{kwargs.get('Bucket')}/{kwargs.get('Key')}")
            except Killed as error:
                raise RuntimeError("the process has ended") from error  # fsspec's thread knows no other errors
        return await original(self, method, *args, **kwargs)

    original = s3fs.S3FileSystem._call_s3
    s3fs.S3FileSystem._call_s3 = request


@contextmanager
def killed_after(n, folder):
    """Allow so many steps in a folder, and no more."""
    listening()
    STEPS.folder, STEPS.allowed, STEPS.made = str(folder), n, []
    try:
        yield
    except Exception:  # follows from a kill
        assert len(STEPS.made) == STEPS.allowed
    except Killed:
        pass
    finally:
        STEPS.folder = None


class Rows:
    """A job on rows, other ones every night, whose clusters keep the ids of the model that it replaces."""

    text = JOB.format(
        kind="rows", path="x.zarr", out="out", labels="l.zarr", model="m.zarr", change="on_change", to="restart"
    ).replace("[method]", 'previous = "out/m.zarr"\nids = true\n[method]')
    between = ()
    """What may be shown besides yesterday's and tonight's output."""
    examples, nights, steps = 2, 2, 8

    def __init__(self, folder):
        self.folder = folder

    def bring(self, night):
        """Put the input of a night in place, always of the same time."""
        self.make(night)
        for path in (*self.folder.glob("x.zarr/**/*"), *self.folder.glob("scenes/*")):
            os.utime(path, (0, 0))

    def make(self, night):
        shutil.rmtree(self.folder / "x.zarr", ignore_errors=True)
        write_rows(rows_of_blobs(900 - 100 * night), self.folder / "x.zarr", chunk_rows=225)

    def shown(self):
        """Return what everyone can read, by output."""
        found = {}
        for name, content in contents(self.folder / "out").items():
            if not name.startswith("."):
                found.setdefault(name.partition("/")[0], {})[name] = content
        return found


class Tables(Rows):
    """A job whose labels are Parquet."""

    text = Rows.text.replace("l.zarr", "l.parquet")
    examples = 1


class Images(Rows):
    """A job on an image."""

    text = JOB.format(
        kind="image", path="x.zarr", out="out", labels="l.zarr", model="m.zarr", change="on_change", to="restart"
    ).replace("report", 'preview = "out/p.png"\nreport')

    def make(self, night):
        shutil.rmtree(self.folder / "x.zarr", ignore_errors=True)
        pixels = beach(40, 50)
        zarr.create_array(self.folder / "x.zarr", data=pixels[::-1] if night % 2 else pixels, chunks=(20, 25, 3))


class Scenes(Rows):
    """A job on scenes, to which two come every night; from the second night on they are brighter."""

    text = JOB.format(
        kind="scenes", path="scenes/*.tif", out="out", labels="{scene}.tif", model="m-{version}.zarr",
        change="on_drift", to="refit",
    ).replace("[method]", "ids = true\n[method]")  # fmt: skip
    examples, nights = 2, 3

    def make(self, night):
        (self.folder / "scenes").mkdir(exist_ok=True)
        for number in (2 * night, 2 * night + 1):
            scene(self.folder / f"scenes/{number}.tif", number, height=20 + number, shift=30 * night)


class Objects(Rows):
    """A job on rows, whose input and outputs are in a bucket."""

    text = JOB.format(
        kind="rows", path="s3://kills/x.zarr", out="s3://kills", labels="l.zarr", model="m.zarr", change="on_change",
        to="restart",
    )  # fmt: skip
    between = ({},)  # no store replaces many objects in one step
    examples, steps = 1, 4

    def __init__(self, folder):
        super().__init__(folder)
        self.files = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
        if self.files.exists("kills"):
            self.files.rm("kills", recursive=True)
        self.files.mkdir("kills")

    def make(self, night):
        write_rows(rows_of_blobs(900 - 100 * night), "s3://kills/x.zarr", chunk_rows=225, overwrite=True)

    def shown(self):
        """Return the objects of each output; an array without its metadata cannot be read, so that it is none."""
        self.files.invalidate_cache()
        found = {}
        for place in self.files.find("kills"):
            name = place.removeprefix("kills/")
            output = name.partition("/")[0]
            if (output != "x.zarr" and not name.endswith((".json", ".html"))) or name.endswith(".zarr/zarr.json"):
                found.setdefault(output, {})[name] = self.files.cat_file(place)
        found.pop("x.zarr", None)
        return {
            name: own for name, own in found.items()
            if not name.startswith(".") and (not name.endswith(".zarr") or f"{name}/zarr.json" in own)
        }  # fmt: skip


KINDS = {"rows": Rows, "scenes": Scenes, "S3": Objects, "Parquet": Tables, "images": Images}


@cache
def undisturbed(kind, folder):
    """Return what is shown after each night in which nothing happens, before the first too, and the steps of each."""
    subject, shown, steps = begun(kind, folder), [{}], []
    for night in range(subject.nights):
        subject.bring(night)
        with killed_after(10**9, folder):
            jobs.run("job.toml")
        steps.append(STEPS.made)
        shown.append(subject.shown())
    return shown, steps


def begun(kind, folder):
    """Return a job of a kind in a folder that holds nothing else."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (folder / "out").mkdir()
    (folder / "job.toml").write_text(KINDS[kind].text)
    return KINDS[kind](folder)


def assert_whole(subject, *nights):
    """Every output is that of one of these nights, as a whole."""
    shown, nights = subject.shown(), (*nights, *subject.between)
    assert not shown.keys() - set().union(*nights)
    for name in set().union(*nights):
        assert any(shown.get(name) == night.get(name) for night in nights), name


class KilledJob(RuleBasedStateMachine):
    """Nights that come, and runs of each night of which some are killed."""

    def __init__(self, kind, folder, kills):
        super().__init__()
        self.kills = kills
        self.nights, steps = undisturbed(kind, folder)
        self.steps = max(map(len, steps))
        self.subject, self.folder, self.night, self.done = begun(kind, folder), folder, 0, False
        self.subject.bring(0)

    @initialize(share=st.sampled_from([0.5, 0.75, 0.25, 0.9, 0.1]))
    def kill_first(self, share):
        self.kill(share)  # an only example might have no kill, or one before the first step

    @rule(share=st.floats(0, 1))
    @precondition(lambda self: not self.done)
    def kill(self, share):
        with killed_after(int(share * self.steps), self.folder):
            jobs.run("job.toml")
        assert_whole(self.subject, self.nights[self.night], self.nights[self.night + 1])
        self.kills.append(share)

    @rule()
    @precondition(lambda self: not self.done)
    def run(self):
        jobs.run("job.toml")
        assert self.subject.shown() == self.nights[self.night + 1]
        self.done = True

    @rule()
    @precondition(lambda self: self.done)
    def run_again(self):
        assert "nothing to do" in jobs.run("job.toml")
        assert self.subject.shown() == self.nights[self.night + 1]

    @rule()
    @precondition(lambda self: self.done and self.night < self.subject.nights - 1)
    def bring(self):
        self.night, self.done = self.night + 1, False
        self.subject.bring(self.night)

    def teardown(self):
        if not self.done:
            self.run()
        assert not [*self.folder.rglob("*attempt-*")]


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    with dask.config.set({"mdh-dask.block-size": 2700}), pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdh_dask.chunks.mapping.LEAST_BLOCK_BYTES", 2700)
        yield


@pytest.fixture(scope="module")
def bucket():
    with s3_in_environment():
        yield


@pytest.fixture(params=at_night(KINDS, 3))
def kind(request, tmp_path_factory, monkeypatch):
    """A kind of job and its folder, always the same as outputs name it."""
    if request.param == "S3":
        request.getfixturevalue("bucket")
    folder = tmp_path_factory.getbasetemp() / f"kills-{request.param}"
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    return request.param, folder


def test_wherever_jobs_are_killed_all_that_is_shown_is_of_one_night_and_they_go_on_to_the_same_outputs(kind):
    few = settings(
        max_examples=KINDS[kind[0]].examples, stateful_step_count=KINDS[kind[0]].steps, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    kills = []
    run_state_machine_as_test(lambda: KilledJob(*kind, kills), settings=few)
    assert kills  # each was followed by a look at all outputs, and all runs by one more


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # minutes on a machine that does nothing else
@pytest.mark.parametrize("night", range(2))
def test_a_night_that_is_killed_before_the_first_and_the_last_step_of_each_kind_ends_with_the_same_outputs(kind, night):
    shown, steps = undisturbed(*kind)
    made = steps[night]
    first, last = {step: n for n, step in reversed([*enumerate(made)])}, {step: n for n, step in enumerate(made)}
    for n in sorted({*first.values(), *last.values()}):
        subject = begun(*kind)
        for earlier in range(night + 1):
            subject.bring(earlier)
            if earlier < night:
                jobs.run("job.toml")
        with killed_after(n, kind[1]):
            jobs.run("job.toml")
        assert_whole(subject, shown[night], shown[night + 1])
        jobs.run("job.toml")
        assert subject.shown() == shown[night + 1], (n, made[n])
