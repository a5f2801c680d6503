"""Commands without options for a cluster: threads for few rows, workers for others."""

import os
import subprocess
import sys
from contextlib import nullcontext

import dask
import pytest

from mdh_dask.cli.options import CLUSTER_SETTINGS, cluster_of
from mdh_dask.clusters import current as module
from mdh_dask.clusters.current import SMALL, AutoCluster, cluster_for

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
