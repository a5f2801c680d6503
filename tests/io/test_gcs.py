"""Rows, models, labels and reports in Google Cloud Storage, as its emulator has it."""

import logging

import numpy as np
import pytest
import zarr

from mdh_dask import PCATree, load_model, workflows
from mdh_dask.io import write_rows

pytest.importorskip("gcsfs")
emulator = pytest.importorskip("gcp_storage_emulator.server")


@pytest.fixture
def bucket(monkeypatch):
    logging.getLogger("gcp_storage_emulator").setLevel("ERROR")
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="b")
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server._api._httpd.server_port}")
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # asks for credentials
    yield "gs://b"
    server.stop()


@pytest.mark.slow
def test_what_is_fitted_and_predicted_in_google_cloud_storage_is_what_is_fitted_and_predicted_here(bucket):
    X = np.random.default_rng(0).normal(size=(900, 3)) + 9 * (np.arange(900) % 3)[:, None]
    write_rows(X, f"{bucket}/x.zarr", chunk_rows=300)
    workflows.fit(
        f"{bucket}/x.zarr", PCATree(), labels=f"{bucket}/l.zarr", model=f"{bucket}/m.zarr", report=f"{bucket}/r.html"
    )
    expected = PCATree().fit(X)
    np.testing.assert_array_equal(zarr.open_array(f"{bucket}/l.zarr")[:], expected.labels_)
    assert load_model(f"{bucket}/m.zarr").tree_.n_leaves == expected.tree_.n_leaves == 3
    with pytest.raises(FileExistsError, match="exists"):
        workflows.predict(f"{bucket}/x.zarr", f"{bucket}/m.zarr", f"{bucket}/l.zarr")
