"""Rows, models, labels and reports in Google Cloud Storage and Azure Blob Storage, as their emulators have them."""

import logging
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest
import zarr

from mdh_dask import PCATree, load_model, workflows
from mdh_dask.io import write_rows

# The account and the key that every Azurite has.
AZURITE = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6"
    "IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
)


@contextmanager
def google(environment):
    pytest.importorskip("gcsfs")
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    logging.getLogger("gcp_storage_emulator").setLevel("ERROR")
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="box")
    server.start()
    environment.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server._api._httpd.server_port}")
    environment.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks for credentials
    yield "gs://box"
    server.stop()


@contextmanager
def azure(environment):
    adlfs, program = pytest.importorskip("adlfs"), shutil.which("azurite-blob")
    if program is None:
        pytest.skip("no Azurite: npm install --global azurite")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent"],
        stdout=subprocess.DEVNULL,
    )
    try:
        until, up = time.monotonic() + 120, False
        while not up and time.monotonic() < until:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                up = True
            time.sleep(0.1)
        environment.setenv("AZURE_STORAGE_CONNECTION_STRING", AZURITE.format(port=port))
        adlfs.AzureBlobFileSystem(connection_string=AZURITE.format(port=port)).mkdir("box")
        yield "az://box"
    finally:
        server.kill()  # it would wait for connections that are kept open
        server.wait()


@pytest.mark.slow
@pytest.mark.parametrize("emulated", [google, azure])
def test_what_is_fitted_and_predicted_in_a_cloud_is_what_is_fitted_and_predicted_here(emulated, monkeypatch):
    X = np.random.default_rng(0).normal(size=(900, 3)) + 9 * (np.arange(900) % 3)[:, None]
    expected = PCATree().fit(X)
    with emulated(monkeypatch) as bucket:
        write_rows(X, f"{bucket}/x.zarr", chunk_rows=300)
        workflows.fit(
            f"{bucket}/x.zarr", PCATree(), labels=f"{bucket}/l.zarr", model=f"{bucket}/m.zarr",
            report=f"{bucket}/r.html",
        )  # fmt: skip
        np.testing.assert_array_equal(zarr.open_array(f"{bucket}/l.zarr")[:], expected.labels_)
        assert load_model(f"{bucket}/m.zarr").tree_.n_leaves == expected.tree_.n_leaves == 3
        with pytest.raises(FileExistsError, match="exists"):
            workflows.predict(f"{bucket}/x.zarr", f"{bucket}/m.zarr", f"{bucket}/l.zarr")
