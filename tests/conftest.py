"""Profiles of hypothesis, and the schedulers that tests run on."""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import dask
import pytest
from hypothesis import HealthCheck, settings

from mdh_dask._loop_cache import base_folder

settings.register_profile(
    "default", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# The same examples every time: more of them find nothing new the next time.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


IDLE = {
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
"""Clusters watch themselves 50 times a second, which takes a tenth of a processor as long as there is one."""


LONG = (
    "clusters/test_slurm.py", "test_notebooks.py", "test_contract.py", "jobs/test_kills.py", "jobs/test_s3.py",
    "ensembles/test_ensembles.py", "jobs/test_run.py", "density_trees/test_density_trees.py", "jobs/test_scenes.py",
    "test_scikit_learn_checks.py", "deploy/test_entry_points.py", "cli/test_cli.py", "jobs/test_run_images.py",
    "clusters/test_hosts.py", "growth/test_merging.py", "estimators/test_laws.py",
)  # fmt: skip
"""Files that begin first: they take minutes. Of three that run at the same time one waits while others compute."""


WORDING = Path(__file__).with_name("wording.json")
"""What messages say, word for word, by test and case."""


def pytest_addoption(parser):
    parser.addoption("--wording", action="store_true", help="Keep what messages say now in tests/wording.json.")


@pytest.fixture
def wording(request):
    """Return a function that compares messages, by case, with those that are kept of this test."""

    def compare(said, place=""):
        said = {case: message.replace(str(place), "HERE") if place else message for case, message in said.items()}
        kept, name = json.loads(WORDING.read_text()), request.node.nodeid.partition("[")[0]
        if request.config.getoption("wording"):
            kept.setdefault(name, {}).update(said)
            WORDING.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        assert said == {case: kept.get(name, {}).get(case) for case in said}

    return compare


def pytest_configure(config):
    """Let all that tests start use what is compiled already: loops, even with another home folder, and modules.

    Images often set ``PYTHONDONTWRITEBYTECODE``; then each of some hundred processes would compile 430 modules again.
    """
    os.environ |= IDLE | {"MDH_DASK_CACHE": str(base_folder() or "off"), "PYTHONDONTWRITEBYTECODE": ""}
    sys.dont_write_bytecode = False
    dask.config.refresh()


def pytest_collection_modifyitems(items):
    """Put the tests of long files first, so that no process is left with one of them at the end."""
    places = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.location[0].removeprefix("tests/"), len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Escape what UTF-8 cannot hold in captured output, such as names of files: processes could not report it."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.fixture
def here(store, tmp_path, monkeypatch):
    """An empty current folder; the inputs, which the fixture ``store`` of a module makes, are in ``in`` beside it."""
    (tmp_path / "in").symlink_to(store)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def beside_rows(rows, tmp_path, monkeypatch):
    """The current folder, with the rows of a module, which its fixture ``rows`` makes, in ``x.zarr``."""
    from mdh_dask.io import write_rows

    monkeypatch.chdir(tmp_path)
    write_rows(rows, "x.zarr", chunk_rows=250)
    return tmp_path


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request):
    """Run the test on each of Dask's schedulers in this process."""
    with dask.config.set(scheduler=request.param, num_workers=3):
        yield request.param


@pytest.fixture(scope="session")
def pool():
    """A process that all tests share, because it takes seconds to start."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def other_process(pool):
    """Run the test on Dask's scheduler of processes."""
    with dask.config.set(scheduler="processes", pool=pool):
        yield


def start_cluster(**options):
    """Start a cluster on ports of its own: a port that is taken is a warning, which is an error."""
    from distributed import LocalCluster

    return LocalCluster(dashboard_address=None, scheduler_kwargs={"dashboard_address": ":0"}, **options)


@pytest.fixture(scope="session")
def cluster():
    """A cluster in this process."""
    with start_cluster(processes=False, n_workers=1, threads_per_worker=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster_of_processes():
    """A cluster of two worker processes that all tests share, because they take seconds to start."""
    with start_cluster(n_workers=2, threads_per_worker=1) as cluster:
        yield cluster


@pytest.fixture
def reachable():
    """A cluster in this process with an address that other processes could name."""
    from distributed import LocalCluster

    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=1, protocol="tcp://", dashboard_address=None,
        scheduler_kwargs={"dashboard_address": ":0"},
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster):
    """The current client of a cluster in this process."""
    from distributed import Client

    with Client(cluster) as client:
        yield client


@pytest.fixture
def client_of_processes(cluster_of_processes):
    """The current client of a cluster of worker processes."""
    from distributed import Client

    with Client(cluster_of_processes) as client:
        yield client
