"""The confidence in labels, written in the pass that writes the labels."""

import dask.array as da
import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from mdh_dask import PCATree, load_model
from mdh_dask.io import verify_rows, write_rows
from mdh_dask.workflows import fit


@pytest.fixture
def here(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, 2)) + np.repeat([[0, 0], [5, 0]], 600, axis=0)
    write_rows(da.from_array(rows, chunks=(500, 2)), tmp_path / "x.zarr")
    monkeypatch.chdir(tmp_path)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("report", [None, "report.html"])
def test_labels_and_confidence_are_written_together_and_can_be_verified(here, report):
    if report:
        pytest.importorskip("jinja2")
    fit("x.zarr", PCATree(), labels="labels.zarr", confidence="sure.zarr", model="model.zarr", report=report)
    model = load_model("model.zarr")
    assert_array_equal(zarr.open_array("labels.zarr")[:], model.predict(here))
    assert_array_equal(zarr.open_array("sure.zarr")[:], model.confidence(here).astype(np.float32))
    assert verify_rows("sure.zarr") == verify_rows("labels.zarr") == []


class Unsure(PCATree):
    """A method of somebody else, which does not know how sure its labels are."""

    @property
    def confidence(self):
        raise AttributeError("confidence")


def test_it_needs_labels_and_a_method_that_knows_it(here):
    with pytest.raises(ValueError, match="expected labels beside the confidence"):
        fit("x.zarr", PCATree(), confidence="sure.zarr", model="model.zarr")
    with pytest.raises(ValueError, match="Unsure has none"):
        fit("x.zarr", Unsure(), labels="labels.zarr", confidence="sure.zarr")
