"""Jobs on a real SLURM of two nodes, which runs on this machine for these tests."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from disturbed import attempts, environment, finish, make_job, outputs, passes_made, start, store_rows, wait_for
from helpers import run

from mdh_dask._fields import JobError
from mdh_dask.cli import exits
from mdh_dask.clusters.slurm import _check_interface
from mdh_dask.jobs.job import read_job

pytestmark = pytest.mark.slow

HERE = Path(__file__).parents[1]
SCRIPT = HERE.parent / "deploy" / "slurm" / "mdh-dask.sbatch"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "openssl")

CLUSTER = """
kind = "slurm"
cores = 1
memory = "1GB"
interface = "lo"
walltime = "00:10:00"
minimum = 2
maximum = 2
local_directory = "{scratch}"
"""


def why_not():
    """Return why SLURM cannot be started here."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "SLURM is not tested: starting it needs root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"SLURM is not tested: no {', '.join(missing)}; apt-get install slurm-wlm munge openssl" if missing else None


class Slurm:
    """A SLURM of two nodes with what its users need: rows, scratch, variables."""

    def __init__(self, folder):
        self.rows, self.scratch = folder / "rows.zarr", folder / "scratch"
        self.scratch.mkdir()
        store_rows(self.rows)
        self.env = environment(
            folder, SLURM_CONF=str(folder / "slurm" / "slurm.conf"), MDH_DASK_SCRATCH=str(self.scratch)
        )

    def call(self, *command):
        done = subprocess.run(list(map(str, command)), env=self.env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def submit(self, folder, *arguments):
        """Submit the script that is deployed; return the number of the job."""
        resources = ("--cpus-per-task=1", "--mem=3G", "--time=20", f"--chdir={folder}")
        return self.call("sbatch", "--parsable", *resources, SCRIPT, *arguments).strip()

    def queue(self):
        return self.call("squeue", "--noheader", "--format=%i").split()

    def wait(self, number):
        """Wait until a job has left the queue; return its state."""
        wait_for(lambda: number not in self.queue(), f"the end of job {number}", seconds=600)
        return dict(part.partition("=")[::2] for part in self.call("scontrol", "-o", "show", "job", number).split())


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    script = ["bash", HERE / "slurm.sh"]
    try:
        subprocess.run([*script, "start", folder / "slurm"], check=True, env=os.environ | {"CPUS": "4"}, timeout=600)
        yield Slurm(folder)
    finally:
        subprocess.run([*script, "stop", folder / "slurm"], check=True, timeout=600)


@pytest.fixture(scope="module")
def undisturbed(slurm, tmp_path_factory):
    """What the job ends with, in one process, if nothing happens."""
    job = make_job(tmp_path_factory.mktemp("undisturbed") / "job", slurm.rows, 'kind = "threads"')
    finish(job, slurm.env)
    return outputs(job)


def log_of(job, number):
    return (job.parent / f"mdh-dask-{number}.log").read_text()


# A job in one allocation


@pytest.fixture(scope="module")
def requeued(slurm, tmp_path_factory):
    """A job that was warned of its time limit in the middle, went back into the queue and on, and its number."""
    job = make_job(tmp_path_factory.mktemp("requeued") / "job", slurm.rows, 'kind = "threads"')
    number = slurm.submit(job.parent, "run", "--restart", "job.toml")
    wait_for(lambda: passes_made(job) >= 1, "a pass")
    slurm.call("scancel", "--batch", "--signal=USR1", number)
    assert slurm.wait(number)["JobState"] == "COMPLETED", log_of(job, number)
    return job, number


@pytest.mark.slurm
def test_a_job_that_is_warned_of_its_time_limit_goes_back_into_the_queue_and_on(requeued, undisturbed):
    job, number = requeued
    log = log_of(job, number)
    assert "the time limit is near" in log
    assert "exit code 143: back into the queue" in log
    assert f"attempt 1 of job {number}" in log
    assert "pass 1 over the data was made before" in log
    assert (outputs(job), attempts(job)) == (undisturbed, 2)


@pytest.mark.slurm
def test_the_logs_of_a_job_tell_which_node_did_what(requeued):
    job, number = requeued
    log = log_of(job, number)
    assert f"attempt 0 of job {number} on n[1-2]: scheduler and command on n1, 2 workers of 1 threads" in log
    assert "tasks done on n" in log
    logs = job.parent / f"mdh-dask-{number}.logs"
    workers = list(logs.glob("worker-*-[01].log"))
    assert (len(workers), len(list(logs.iterdir()))) == (2, 3)
    scheduler = (logs / "scheduler.log").read_text()
    assert "Scheduler at:     tls://127.0.0.1" in scheduler
    assert "name: n1-0" in scheduler
    assert "name: n2-1" in scheduler


@pytest.mark.slurm
def test_a_job_leaves_nothing_but_outputs_and_logs(requeued, slurm):
    job, _ = requeued
    others = {path.name for path in job.parent.iterdir() if not path.name.startswith("mdh-dask-")}
    assert others == {"job.toml", "job.work", "labels.zarr", "model.zarr", "manifest.json"}
    assert list(slurm.scratch.glob("mdh-dask-*")) == []


@pytest.mark.slurm
@pytest.mark.nightly  # a job that is warned goes on in the same way, without a second submission
def test_a_job_that_is_cancelled_and_submitted_again_ends_with_the_same_bits(slurm, undisturbed, tmp_path):
    job = make_job(tmp_path / "job", slurm.rows, 'kind = "threads"')
    number = slurm.submit(job.parent, "run", "job.toml")
    wait_for(lambda: passes_made(job) >= 1, "a pass")
    slurm.call("scancel", number)
    assert slurm.wait(number)["JobState"] == "CANCELLED"
    assert outputs(job) == {}
    again = slurm.submit(job.parent, "run", "job.toml")
    ended = slurm.wait(again)
    assert (ended["JobState"], ended["ExitCode"]) == ("COMPLETED", "0:0"), log_of(job, again)
    assert "pass 1 over the data was made before" in log_of(job, again)
    assert (outputs(job), attempts(job)) == (undisturbed, 2)


@pytest.mark.slurm
@pytest.mark.nightly  # by day, without SLURM
def test_a_job_that_may_not_go_back_into_the_queue_ends_with_its_code(slurm, tmp_path, monkeypatch):
    monkeypatch.setitem(slurm.env, "MDH_DASK_RESTARTS", "0")
    job = make_job(tmp_path / "job", slurm.rows, 'kind = "threads"')
    number = slurm.submit(job.parent, "run", "job.toml")
    wait_for(lambda: passes_made(job) >= 1, "a pass")
    slurm.call("scancel", "--batch", "--signal=USR1", number)
    assert slurm.wait(number)["ExitCode"] == "143:0", log_of(job, number)
    assert "back into the queue" not in log_of(job, number)


# Workers that are jobs


@pytest.mark.slurm
def test_a_job_with_workers_that_are_jobs_ends_with_the_labels_and_no_jobs(slurm, undisturbed, tmp_path):
    job = make_job(tmp_path / "job", slurm.rows, CLUSTER.format(scratch=slurm.scratch))
    finish(job, slurm.env)
    log = job.with_suffix(".log").read_text()
    assert "scheduler at tls://127.0.0.1:" in log
    assert "dashboard at http://127.0.0.1:" in log
    assert outputs(job) == undisturbed
    assert len(list(job.parent.glob("slurm-logs/mdh-dask-worker-*.log"))) == 2
    assert list(job.parent.glob("slurm-logs/.*")) == []  # certificates
    wait_for(lambda: not slurm.queue(), "the end of the workers' jobs")


@pytest.mark.slurm
@pytest.mark.nightly
def test_a_workers_job_that_is_lost_is_replaced(slurm, tmp_path):
    job = make_job(tmp_path / "job", slurm.rows, CLUSTER.format(scratch=slurm.scratch))
    program = """
        import subprocess, sys, time
        from pathlib import Path
        from distributed import default_client
        from mdh_dask.jobs.job import read_job
        jobs = lambda: set(subprocess.check_output(["squeue", "-h", "-o", "%i"], text=True).split())
        with read_job(Path("job.toml")).start_cluster():
            default_client().wait_for_workers(2)
            before = jobs()
            subprocess.check_call(["scancel", min(before)])
            while len(jobs() - before) < 1:
                time.sleep(0.2)
            default_client().wait_for_workers(2)
    """
    env = slurm.env | {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=env, cwd=job.parent, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: not slurm.queue(), "the end of the workers' jobs")


@pytest.mark.slurm
def test_what_slurm_refuses_is_told_in_one_line(slurm, tmp_path):
    job = make_job(tmp_path / "job", slurm.rows, CLUSTER.format(scratch=slurm.scratch) + 'queue = "none"')
    assert start(job, slurm.env).wait(timeout=900) == exits.BAD_JOB
    last = job.with_suffix(".log").read_text().splitlines()[-1]
    assert "ERROR [cluster]: SLURM refuses the job of a worker: invalid partition specified: none" in last
    assert slurm.queue() == []


# Without SLURM


@pytest.fixture
def small_job(tmp_path):
    store_rows(tmp_path / "rows.zarr", 400)
    return make_job(tmp_path / "job", tmp_path / "rows.zarr", CLUSTER.format(scratch=tmp_path))


def script_without_slurm(folder, programs, **about):
    """Run the script where SLURM is a few variables, with lines of shell in place of some programs."""
    there = folder / "bin"
    there.mkdir()
    for name, line in programs.items():
        (there / name).write_text(f"#!/bin/bash\n{line}\n")
        (there / name).chmod(0o755)
    about |= {"SLURM_JOB_NAME": "j", "SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": "n", "SLURMD_NODENAME": "n",
              "SLURM_NTASKS": "1", "MDH_DASK_INTERFACE": "lo", "PATH": f"{there}:{os.environ['PATH']}"}  # fmt: skip
    return subprocess.run(["bash", SCRIPT, "run", "part-%a/job.toml"], check=False, cwd=folder, env=about).returncode


@pytest.mark.parametrize(("task", "job"), [("7", "part-7/job.toml"), (None, "part-%a/job.toml")])
def test_every_task_of_an_array_runs_a_job_of_its_own(task, job, tmp_path):
    # The script stops the scheduler once the command ends, which could be before it has begun.
    python = f'echo "$@" >> {tmp_path}/python; until grep -q dask_scheduler {tmp_path}/python; do sleep 0.01; done'
    programs = {"python": python, "srun": "true", "openssl": "true"}
    assert script_without_slurm(tmp_path, programs, **({} if task is None else {"SLURM_ARRAY_TASK_ID": task})) == 0
    started = (tmp_path / "python").read_text()
    assert f" run {job} --scheduler-file {tmp_path}/" in started
    assert "scheduler --interface lo" in started


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_job_that_is_warned_goes_back_into_the_queue_no_more_often_than_it_may(restarts, tmp_path):
    # The script is warned once it listens.
    warned = "(( 0x$(awk '/SigCgt/ {print $2}' /proc/$PPID/status) & 0x200 ))"
    python = f'[[ " $* " != *" run "* ]] || {{ until {warned}; do sleep 0.01; done; kill -USR1 $PPID; exec sleep 60; }}'
    programs = {"python": python, "srun": "true", "openssl": "true", "scontrol": f"touch {tmp_path}/asked; false"}
    assert script_without_slurm(tmp_path, programs, MDH_DASK_RESTARTS=str(restarts)) == exits.TERMINATED
    assert (tmp_path / "asked").exists() == (restarts > 0)


def test_an_attempt_removes_the_keys_that_earlier_ones_left_on_failed_nodes(tmp_path):
    for name in (".j-1-0", ".j-12-0"):
        (tmp_path / name).mkdir()
    assert script_without_slurm(tmp_path, {"openssl": "exit 1"}, SLURM_RESTART_COUNT="1") == exits.MISSING_PACKAGE
    assert sorted(path.name for path in tmp_path.glob(".j-*")) == [".j-1-1", ".j-12-0"]


def test_the_job_file_that_is_deployed_is_right():
    job = read_job(SCRIPT.with_name("job.toml"))
    assert (job.kind, job.cluster["maximum"]) == ("slurm", 10)


def test_where_there_is_no_slurm_a_job_can_be_checked_but_not_run(small_job, monkeypatch):
    monkeypatch.setattr("mdh_dask.clusters.slurm.which", lambda _: None)
    run("run", "--check", small_job, code=0)
    result = run("run", small_job, code=exits.MISSING_PACKAGE)
    assert result.stderr.endswith("which is missing: run the job on a login node of the cluster\n")


def test_a_network_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(JobError, match=r"\[cluster\]: 'ib9' is not a valid network interface.*'lo'"):
        _check_interface("ib9")
