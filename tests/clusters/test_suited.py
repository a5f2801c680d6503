"""Commands without options for a cluster: threads for few rows, workers for others."""

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
