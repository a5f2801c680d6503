"""Schedulers that talk to those alone who have their certificates, which Dask's configuration names."""

from functools import partial

import dask
import pytest
from distributed import LocalCluster
from distributed.security import Security
from disturbed import make_job, outputs, store_rows
from helpers import run as command

from mdh_dask.cli import exits


@pytest.fixture(scope="module")
def secured():
    """A cluster in this process with certificates of its own."""
    security = Security.temporary()
    with LocalCluster(
        processes=False, n_workers=1, threads_per_worker=2, security=security, protocol="tls://",
        dashboard_address=None, scheduler_kwargs={"dashboard_address": ":0"},
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address, security


@pytest.fixture
def certificates(secured, tmp_path):
    return settings_of(secured[1], tmp_path)


def settings_of(security, folder):
    """Return settings of Dask that name the certificates of a client."""
    settings = {"distributed.comm.require-encryption": True}
    for key, text in security.get_tls_config_for_role("client").items():
        if key != "ciphers":
            (folder / key).write_text(text)
            name = "ca-file" if key == "ca_file" else f"client.{key}"
            settings[f"distributed.comm.tls.{name}"] = str(folder / key)
    return settings


@pytest.fixture
def job(secured, tmp_path):
    store_rows(tmp_path / "rows.zarr", 4000)
    return make_job(tmp_path / "job", tmp_path / "rows.zarr", f'kind = "scheduler"\naddress = "{secured[0]}"')


run = partial(command, "run")


@pytest.mark.slow
def test_a_job_runs_on_an_encrypted_scheduler_by_the_certificates_of_dasks_configuration(job, certificates, secured):
    assert secured[0].startswith("tls://")
    with dask.config.set(certificates):
        result = run(job)
    assert result.exit_code == 0, result.output
    assert outputs(job)
    key = secured[1].tls_client_key.splitlines()[1]
    assert not any(key.encode() in data for data in outputs(job).values())
    assert key not in result.output + (job.parent / "manifest.json").read_text()


def test_without_certificates_it_is_refused_with_the_remedy(job):
    result = run(job, code=exits.BAD_JOB)
    assert "expected certificates for tls://" in result.stderr
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in result.stderr


def test_where_encryption_is_required_plain_addresses_are_refused(job, certificates):
    with dask.config.set(certificates):
        result = run(job, "--scheduler", "tcp://127.0.0.1:8786")
    assert result.exit_code == exits.USAGE
    assert "expected an address as tls://host:8786" in result.stderr


def test_a_scheduler_without_encryption_is_told_from_none(job, certificates, reachable):
    address = reachable.scheduler_address.replace("tcp://", "tls://")
    with dask.config.set(certificates):
        result = run(job, "--scheduler", address)
    assert result.exit_code == exits.USAGE
    assert f"expected a scheduler with TLS at {address}; it answers without" in result.stderr


def test_a_scheduler_with_encryption_is_told_from_none(job, secured):
    plain = secured[0].replace("tls://", "tcp://")
    result = run(job, "--scheduler", plain, code=exits.TRY_AGAIN)
    assert f"at {plain} closed the connection at once: if it is one with TLS, name it {secured[0]}" in result.stderr


def test_certificates_of_another_authority_are_told(job, secured, tmp_path):
    with dask.config.set(settings_of(Security.temporary(), tmp_path)):
        result = run(job)
    assert result.exit_code == exits.NOT_PERMITTED
    assert "do not accept each other's certificates: they must be of the same authority" in result.stderr
