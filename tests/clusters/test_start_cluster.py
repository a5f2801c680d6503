"""A cluster for a notebook, by the keys of a job file, and that of commands without options for one."""

import logging
import os
import subprocess
import sys
from contextlib import ExitStack, nullcontext
from importlib.metadata import version
from time import sleep

import dask
import dask.array as da
import pytest
from distributed import Client, LocalCluster

from mdh_dask import start_cluster
from mdh_dask.cli.options import CLUSTER_SETTINGS, cluster_of
from mdh_dask.clusters import current as module
from mdh_dask.clusters.current import (
    SMALL,
    AutoCluster,
    cluster_for,
    current_client,
    local_cluster,
    quieten,
    running_cluster,
)
from mdh_dask.clusters.plugins import PROFILES, WorkerSetup


@pytest.mark.slow
def test_a_cluster_is_the_current_one_until_the_block_ends(monkeypatch):
    from distributed import default_client

    with start_cluster("local", workers=1, threads_per_worker=1, memory_limit="500MB") as where:
        assert where == "1 worker process, 1 threads"
        client = default_client()
        assert da.ones(4, chunks=2).sum().compute() == 4
    assert client.status == "closed"
    with pytest.raises(ValueError, match="No clients found"):
        default_client()


def test_a_scheduler_with_other_versions_is_told_of_and_one_with_the_same_is_not(reachable, monkeypatch, caplog):
    from distributed.versions import get_versions

    with start_cluster("scheduler", address=reachable.scheduler_address):
        assert "versions differ" not in caplog.text

    def older(packages=None):
        found = get_versions(packages)
        return found | {"packages": found["packages"] | {"mdh_dask": "0.0.9"}}

    monkeypatch.setitem(reachable.scheduler.handlers, "versions", older)
    with start_cluster("scheduler", address=reachable.scheduler_address):
        pass
    here = version("mdh_dask")
    (said,) = [line for line in caplog.messages if line.startswith("versions differ")]
    assert f"(mdh_dask {here} here, 0.0.9 on the scheduler, {here} on workers)" in said
    assert "start the cluster anew" in said


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "cloud"}, "cluster.kind must be 'local', 'threads', 'scheduler', 'scheduler-file', 'slurm' or "),
        ({"workrs": 2}, "has no key 'workrs' (did you mean 'workers'?); its keys are"),
        ({"memory_limit": "2"}, "cluster.memory_limit must be 'auto' or an amount of 100 MB or more, as '2GB'; got"),
        ({"kind": "scheduler"}, "cluster.address is missing"),
        ({"kind": "scheduler", "address": "nowhere"}, "expected an address, as tcp://host:8786"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared below
        start_cluster(**settings)
    assert message in str(error.value)


def test_a_worker_on_a_thread_leaves_the_log_of_the_process_as_it_was():
    log = logging.getLogger("distributed.worker")
    before = list(log.filters)
    with (
        LocalCluster(processes=False, dashboard_address=None, scheduler_kwargs={"dashboard_address": ":0"}) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(WorkerSetup(is_process=False, logs_json=False))
        assert len(log.filters) == len(before) + 1
    assert log.filters == before


@pytest.mark.parametrize("started_here", [True, False])
def test_the_profiles_that_a_worker_keeps_do_not_fill_its_memory(started_here):
    def kept(dask_worker):
        for _ in range(PROFILES + 9):
            dask_worker.cycle_profile()  # what Dask calls every second
        return len(dask_worker.profile_history), len(dask_worker.profile_keys_history)

    with ExitStack() as stack:
        if started_here:
            stack.enter_context(local_cluster(processes=False))
        else:
            local = LocalCluster(processes=False, protocol="tcp://", dashboard_address=":0")
            stack.enter_context(running_cluster(stack.enter_context(local).scheduler_address))
        assert [*current_client().run(kept).values()] == [(PROFILES, PROFILES)]


@pytest.mark.slow
@pytest.mark.cluster
def test_a_client_that_ends_while_it_tries_to_reach_a_lost_scheduler_logs_no_traceback(tmp_path):
    """It did so before the line that says how to go on, where a job was preempted together with its scheduler."""
    file, records = tmp_path / "scheduler.json", []
    handler = logging.Handler()
    handler.emit = records.append
    main = "from distributed.cli.dask_scheduler import main; main()"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with subprocess.Popen([sys.executable, "-c", main, *options, "--scheduler-file", file], stderr=-3) as scheduler:
        logging.getLogger("distributed.client").addHandler(handler)
        try:
            quieten()
            while not file.exists():
                sleep(0.05)
            with Client(scheduler_file=str(file)) as client:
                scheduler.kill()
                scheduler.wait()
                while client.status != "connecting":
                    sleep(0.01)
        finally:
            logging.getLogger("distributed.client").removeHandler(handler)
            scheduler.kill()
    assert [record for record in records if record.exc_info] == []  # one line that it gives up may come first


UNSET = dict.fromkeys(CLUSTER_SETTINGS) | {"scheduler_timeout": 60}


@pytest.fixture
def suiting(monkeypatch):
    """The default cluster, which claims to start workers."""
    monkeypatch.setattr(module, "local_cluster", lambda: nullcontext("workers"))
    return AutoCluster()


def described(cluster):
    with cluster as where:
        return where


@pytest.mark.parametrize(
    ("n_bytes", "where"),
    [(SMALL, "this process (threads)"), (SMALL + 1, "workers"), (float("nan"), "workers")],
    ids=["few", "many", "unknown"],
)
def test_the_size_of_the_rows_chooses_between_threads_and_workers(suiting, n_bytes, where):
    assert described(cluster_for(suiting, n_bytes)) == where


@pytest.mark.parametrize("setting", [{"workers": 2}, {"threads-per-worker": 1}, {"memory-limit": "2GB"}], ids=str)
def test_workers_are_started_where_the_configuration_sets_them(setting, suiting):
    with dask.config.set({f"mdh-dask.cluster.{name}": value for name, value in setting.items()}):
        assert described(cluster_for(suiting, 0)) == "workers"


@pytest.mark.parametrize("options", [{"workers": 1}, {"memory_limit": "2GB"}])
def test_options_for_workers_start_them(options):
    assert isinstance(cluster_of(dict(UNSET)), AutoCluster)
    assert not isinstance(cluster_of(UNSET | options), AutoCluster)


def test_settings_of_workers_may_be_spelt_with_underscores():
    environment = {"DASK_MDH_DASK__CLUSTER__MEMORY_LIMIT": "2GB", "DASK_MDH_DASK__CLUSTER__THREADS_PER_WORKER": "1"}
    program = "from mdh_dask.clusters.current import local_memory; print(local_memory())"
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
    assert found.stdout == "(2000000000, 1)\n"
