"""Jobs on several hosts, of which one is cut off or loses its scheduler: namespaces of the network on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from distributed import Client
from disturbed import attempts, environment, finish, make_job, outputs, passes_made, start, store_rows, wait_for

from mdh_dask.cli import exits

pytestmark = pytest.mark.slow

N_HOSTS = 3

HERE = Path(__file__).parents[1]


class Hosts:
    """Three hosts: a scheduler on the first, workers on the others."""

    def __init__(self, folder):
        self.name = f"mdh{os.getpid() % 10**6}"
        self.subnet = f"10.{200 + os.getpid() // 256 % 50}.{os.getpid() % 256}"
        self.address = f"tcp://{self.subnet}.1:8786"
        self.rows, self.folder = folder / "rows.zarr", folder
        self.env = environment(folder, DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP="11s")
        self.processes = []

    def script(self, action, *arguments):
        command = ["bash", HERE / "hosts.sh", action, self.name, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=600)

    def start(self, host, program, *arguments):
        """Start a program of Dask on a host, in a process group of its own."""
        network = ["nsenter", f"--net=/run/netns/{self.name}-{host}"]
        where = ["--host", f"{self.subnet}.{host}", "--no-dashboard"]
        command = [*network, sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments, *where]
        with open(self.folder / f"{program}-{host}.log", "ab") as log:
            process = subprocess.Popen(command, env=self.env, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def start_scheduler(self):
        self.scheduler = self.start(1, "scheduler", "--port", "8786")

    def start_workers(self):
        options = ("--nthreads", "1", "--local-directory", str(self.folder), "--no-nanny", "--death-timeout", "60")
        for host in range(2, N_HOSTS + 1):
            self.start(host, "worker", self.address, *options)

    def wait(self):
        """Wait until all workers are there, so that a job need not and its time limit can be short."""
        with Client(self.address, timeout=300) as client:
            client.wait_for_workers(N_HOSTS - 1, timeout=300)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("nsenter")):
        pytest.skip("several hosts are not tested: namespaces of the network need root, iproute2 and util-linux")
    hosts = Hosts(tmp_path_factory.mktemp("hosts"))
    try:
        made = hosts.script("up", hosts.subnet, N_HOSTS)
        if made.returncode != 0:
            pytest.skip(f"several hosts are not tested: {made.stderr.strip()}")
        store_rows(hosts.rows)
        yield hosts
    finally:
        hosts.script("down", N_HOSTS)


@pytest.fixture
def hosts(network):
    """The hosts, with the scheduler and the workers running."""
    try:
        network.start_scheduler()
        network.start_workers()
        network.wait()
        yield network
    finally:
        network.stop()


@pytest.fixture(scope="module")
def undisturbed(network):
    """What the job ends with, in one process, if nothing happens."""
    job = make_job(network.folder / "undisturbed", network.rows, 'kind = "threads"')
    finish(job, network.env)
    return outputs(job)


def job_on(hosts, folder):
    return make_job(folder / "job", hosts.rows, f'kind = "scheduler"\naddress = "{hosts.address}"\ntimeout = 20')


def log_of(job):
    return job.with_suffix(".log").read_text()


@pytest.mark.hosts
@pytest.mark.nightly
def test_a_scheduler_that_is_killed_costs_a_run_but_no_bit(hosts, undisturbed, tmp_path):
    job = job_on(hosts, tmp_path)
    process = start(job, hosts.env)
    wait_for(lambda: passes_made(job) >= 1, "a pass")
    hosts.scheduler.kill()
    assert process.wait(timeout=900) == exits.TRY_AGAIN, log_of(job)
    assert outputs(job) == {}
    hosts.stop()
    hosts.start_scheduler()
    hosts.start_workers()
    hosts.wait()
    finish(job, hosts.env)
    assert "pass 1 over the data was made before" in log_of(job)
    assert (outputs(job), attempts(job)) == (undisturbed, 2)


@pytest.mark.hosts
def test_a_host_that_is_cut_off_in_the_middle_costs_time_but_no_bit(hosts, undisturbed, tmp_path):
    job = job_on(hosts, tmp_path)
    process = start(job, hosts.env)
    wait_for(lambda: passes_made(job) >= 1, "a pass")
    assert hosts.script("cut", N_HOSTS).returncode == 0
    try:
        assert process.wait(timeout=900) == 0, log_of(job)
    finally:
        hosts.script("heal", N_HOSTS)
    assert (outputs(job), attempts(job)) == (undisturbed, 1)
    scheduler = (hosts.folder / "scheduler-1.log").read_text()
    assert f"Remove worker addr: tcp://{hosts.subnet}.{N_HOSTS}" in scheduler
