"""Workflows and jobs as functions of Python: the same as the commands, where Dask computes already."""

import inspect
from pathlib import Path

import dask
import numpy as np
import pytest
import zarr
from numpydoc.docscrape import NumpyDocString

from mdh_dask import PCATree, RandomProjectionTree, jobs, load_model, start_cluster, workflows
from mdh_dask._errors import SettingError
from mdh_dask.io import open_rows, verify_rows, write_rows

FACES = [getattr(room, name) for room in (jobs, workflows) for name in room.__all__] + [start_cluster]

JOB = '[input]\npath = "x.npy"\n[method]\nname = "rp"\nn_projections = 10\n[output]\nlabels = "job.zarr"\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with three blobs of 300 rows each."""
    monkeypatch.chdir(tmp_path)
    centres = np.repeat([[0, 0], [0, 12], [12, 0]], 300, axis=0)
    np.save("x.npy", np.random.default_rng(0).normal(centres))
    Path("job.toml").write_text(JOB)
    return tmp_path


def tree():
    return RandomProjectionTree(n_projections=10)


def test_an_estimator_keeps_its_parameters_where_coordinates_are_weighted(here):
    zarr.create_array("image.zarr", data=np.random.default_rng(0).normal(size=(40, 50, 2)).astype("f4"))
    estimator = tree()
    workflows.segment("image.zarr", estimator, labels="l.zarr", coordinates=0.5)
    assert estimator.get_params() == tree().get_params()


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__qualname__)
def test_every_parameter_of_a_function_is_described_in_order(face):
    described = NumpyDocString(inspect.getdoc(face))
    names = [name for p in described["Parameters"] for name in p.name.lstrip("*").split(", ")]
    assert names == list(inspect.signature(face).parameters)
    assert all(described[section] for section in ("Summary", "Returns", "Raises", "Examples"))


@pytest.mark.slow
def test_rows_are_fitted_labelled_and_compared_where_dask_computes(here):
    with dask.config.set(scheduler="synchronous"):
        said = workflows.fit("x.npy", tree(), labels="l.zarr", model="m.zarr", report="r.html")
        assert workflows.predict("x.npy", "m.zarr", "again.zarr") == "900 rows in 3 of 3 clusters: again.zarr"
        assert not workflows.drift("x.npy", "m.zarr").found
    assert said.endswith("l.zarr, m.zarr, r.html")
    assert "this process (synchronous)" in Path("r.html").read_text()
    np.testing.assert_array_equal(open_rows("l.zarr", ndim=1), open_rows("again.zarr", ndim=1))


def test_a_cluster_that_is_given_is_entered(here):
    workflows.fit("x.npy", tree(), report="r.html", cluster=start_cluster("threads"))
    assert "this process (threads)" in Path("r.html").read_text()


@pytest.mark.slow
def test_a_job_gives_the_labels_of_the_workflow_with_another_cluster_than_its_own(here):
    needs = jobs.check("job.toml", cluster={"kind": "threads"})
    assert "cluster: threads" in needs
    assert jobs.run("job.toml", cluster={"kind": "threads"}).startswith("3 clusters of 900 rows")
    assert "nothing to do" in jobs.run("job.toml")
    workflows.fit("x.npy", tree(), labels="l.zarr")
    np.testing.assert_array_equal(open_rows("job.zarr", ndim=1), open_rows("l.zarr", ndim=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: workflows.fit("x.npy", tree()), "expected labels, model or report; got none of them"),
        (lambda: workflows.fit("x.npy", tree(), model="x.npy"), "expected separate paths; got x.npy and x.npy"),
        (
            lambda: workflows.fit("x.npy", tree(), confidence="c.zarr", model="m.zarr"),
            "expected labels beside the confidence",
        ),
        (lambda: jobs.run("job.toml", cluster={"kind": "cloud"}), "cluster.kind must be 'local', 'threads'"),
        (lambda: start_cluster("scheduler", address="host"), "expected an address, as tcp://host:8786"),
    ],
)
def test_what_contradicts_is_named_as_in_python_before_anything_is_written(call, message, here):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        call()
    assert message in str(error.value)
    assert "--" not in str(error.value)
    assert sorted(path.name for path in here.iterdir()) == ["job.toml", "x.npy"]


def test_outputs_are_named_by_paths_of_python_too(here):
    said = workflows.fit(Path("x.npy"), tree(), labels=Path("l.zarr"), model=Path("m.zarr"), report=Path("r.html"))
    assert said.endswith(": l.zarr, m.zarr, r.html")
    workflows.predict(Path("x.npy"), Path("m.zarr"), Path("new.zarr"))
    np.testing.assert_array_equal(open_rows("new.zarr", ndim=1), open_rows("l.zarr", ndim=1))


def test_what_a_model_of_rows_cannot_take_is_named_as_in_python(here):
    tree().fit(np.load("x.npy")).save("m.zarr")
    with pytest.raises(SettingError, match=r"leave out preview=\.\.\."):
        workflows.predict("x.npy", "m.zarr", "l.zarr", preview="p.png")
    with pytest.raises(SettingError, match=r"leave out axes=\.\.\. and index=\.\.\."):
        workflows.drift("x.npy", "m.zarr", axes="yx")


@pytest.mark.slow
@pytest.mark.parametrize("report", [None, "report.html"])
def test_labels_and_confidence_are_written_together_and_can_be_verified(here, report):
    rows = np.load("x.npy")
    write_rows(rows, "x.zarr", chunk_rows=400)
    outputs = {"labels": "labels.zarr", "confidence": "sure.zarr", "model": "model.zarr", "report": report}
    workflows.fit("x.zarr", PCATree(), **outputs)
    model = load_model("model.zarr")
    np.testing.assert_array_equal(zarr.open_array("labels.zarr")[:], model.predict(rows))
    np.testing.assert_array_equal(zarr.open_array("sure.zarr")[:], model.confidence(rows).astype(np.float32))
    assert verify_rows("sure.zarr") == verify_rows("labels.zarr") == []


class Unsure(PCATree):
    """A method of somebody else, which does not know how sure its labels are."""

    @property
    def confidence(self):
        raise AttributeError("confidence")


def test_confidence_needs_a_method_that_knows_it(here):
    with pytest.raises(SettingError, match="Unsure has none"):
        workflows.fit("x.npy", Unsure(), labels="labels.zarr", confidence="sure.zarr")
