"""Spans: every pass has a name in the dashboard, and OpenTelemetry counts what jobs, fits and passes did."""

import dask.array as da
import numpy as np
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from mdh_dask import RandomProjectionTree, jobs
from mdh_dask._journal import traced

ROWS = np.random.default_rng(0).normal(size=(900, 3)) + np.repeat([[0], [9], [18]], 300, axis=0)


@pytest.fixture(scope="module")
def exporter():
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter):
    """Return what returns the spans that have ended."""
    exporter.clear()
    return exporter.get_finished_spans


def counts(span):
    return {name.removeprefix("mdh_dask."): value for name, value in span.attributes.items()}


@pytest.mark.parametrize("rows", [ROWS, da.from_array(ROWS, chunks=(200, 3))], ids=["array", "dask"])
def test_a_fit_is_a_span_with_counts_and_one_for_each_pass_below_it(spans, rows):
    model = RandomProjectionTree(n_projections=20).fit(rows)
    *passes, fit = spans()
    assert fit.name == "fit RandomProjectionTree"
    assert counts(fit) == {"rows": 900, "columns": 3, "clusters": 3, "passes": model.n_passes_}
    assert passes[0].name.startswith("pass 1: ")
    assert counts(passes[0]) == {"rows": 900, "chunks": 1}
    assert {one.parent.span_id for one in passes} == {fit.context.span_id}


def test_a_job_is_the_span_of_its_fit_and_a_failure_is_told_by_its_class(spans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ROWS)
    text = '[input]\npath = "x.npy"\n[output]\nmodel = "m.zarr"\n[cluster]\nkind = "threads"\n[run]\nname = "night"\n'
    (tmp_path / "job.toml").write_text(text)
    jobs.run("job.toml")
    found = {one.name: one for one in spans()}
    assert found["fit HierarchicalMDH"].parent.span_id == found["job night"].context.span_id
    with pytest.raises(OSError, match="secret"), traced("writing"):
        raise OSError("s3://key:secret@bucket")
    (*_, failed) = spans()
    assert (failed.status.status_code, failed.status.description, failed.events) == (
        trace.StatusCode.ERROR, "OSError", (),
    )  # fmt: skip


def test_passes_have_their_names_in_the_dashboard_of_a_cluster(client):
    RandomProjectionTree(n_projections=20).fit(da.from_array(ROWS, chunks=(200, 3)))
    names = client.run_on_scheduler(
        lambda dask_scheduler: {span.name for span in dask_scheduler.extensions["spans"].spans.values()}
    )
    passes = {name for name in names if name[0] == "fit RandomProjectionTree" and len(name) == 2}
    assert any(name[1].startswith("pass 1: ") for name in passes)
