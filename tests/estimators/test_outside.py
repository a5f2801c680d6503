"""What other packages add in one place is known everywhere. Models are in test_kinds, feature maps in test_maps."""

import contextlib
from dataclasses import dataclass

import numpy as np
import pytest
import zarr
from helpers import at_night, run, single_columns

from mdh_dask import (
    DivisiveClustering,
    HierarchicalSpectral,
    KernelPCAFeatures,
    MultidimensionalScaling,
    PCATree,
    RandomProjectionTree,
    SpectralClustering,
    jobs,
    load_model,
)
from mdh_dask._fields import whole
from mdh_dask.clusters.kinds import CLUSTERS, ClusterKind
from mdh_dask.density.kde import BANDWIDTHS, Bandwidth
from mdh_dask.growth.order import ORDERS
from mdh_dask.jobs.inputs import RowsInput, open_rows_input
from mdh_dask.jobs.job import INPUTS
from mdh_dask.jobs.outputs import JobOutputs
from mdh_dask.jobs.tables import FIELDS, OUTPUT, PATH
from mdh_dask.kernels import KERNELS, LANDMARKS, RBF, Kernel
from mdh_dask.projections import PROJECTIONS
from mdh_dask.splits.rules import CRITERIA, Criterion
from mdh_dask.splits.stopping import STOP_RULES, HoldOut
from mdh_dask.splits.thresholds import THRESHOLD_RULES, RelativeDepth


@dataclass(frozen=True)
class Cube(Kernel):
    """A kernel: ``(1 + x.y)^2``, scaled."""

    scale: float = 1.0

    def bind(self, landmarks):
        def fill(rows, out):
            np.dot(rows, landmarks.T, out=out)
            out += 1
            out *= out * self.scale

        return fill

    def diagonal(self, rows, landmarks):
        return self.scale * (1 + (rows**2).sum(axis=1)) ** 2


@dataclass(frozen=True)
class Step(RBF):
    """A kernel without negative values."""


def whole_depth(histograms, admissible):
    """Score a direction by the depth that counts half."""
    return histograms.depth.max(axis=1, where=admissible, initial=0.0) / 2


class Deepest(RelativeDepth):
    """A threshold rule."""


@dataclass(frozen=True)
class Eager(HoldOut):
    """A stop rule."""


def one_split(root, max_clusters, standardise, look):
    """Split the root only."""
    look(root)
    return {root} if root.children else set()


def first_rows(rows, n_landmarks, kernel, rng):
    """Choose landmarks."""
    return np.arange(min(n_landmarks, len(rows)))


@dataclass(frozen=True)
class Half(RowsInput):
    """An input: every other row of an array."""

    @property
    def rows(self):
        return self.table.rows[::2]


def open_half(given):
    """Open it."""
    opened = open_rows_input({"path": given["path"], "missing_chunks": "error", "columns": None})
    return Half(opened.path, opened.table._replace(rows=opened.table.rows[:: given["step"] or 2]))


@contextlib.contextmanager
def nowhere(n_threads=1):
    """Be a cluster."""
    yield f"{n_threads} threads of another package"


ADDED = [
    (KERNELS, "cube", Cube),
    (KERNELS, "step", Step),
    (PROJECTIONS, "columns", single_columns),
    (CRITERIA, "whole_depth", Criterion(whole_depth)),
    (THRESHOLD_RULES, "deepest", Deepest()),
    (STOP_RULES, "eager", Eager),
    (BANDWIDTHS, "wide", Bandwidth(1.2)),
    (ORDERS, "one_split", one_split),
    (LANDMARKS, "first", first_rows),
]


@pytest.fixture(autouse=True)
def _added(monkeypatch):
    for registry, name, value in ADDED:
        monkeypatch.setitem(registry, name, value)
    monkeypatch.setitem(FIELDS, "half", ({"path": PATH, "step": whole(1)}, OUTPUT))
    monkeypatch.setitem(INPUTS, "half", (open_half, JobOutputs))
    monkeypatch.setitem(CLUSTERS, "nowhere", ClusterKind({"n_threads": whole()}, nowhere))


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 3)) + np.repeat([[0.0, 0, 0], [9.0, 0, 0]], 300, axis=0)


CHOICES = {
    "projection": "columns",
    "criterion": "whole_depth",
    "threshold_rule": "deepest",
    "stop_rule": "eager",
    "bandwidth": "wide",
    "order": "one_split",
}


@pytest.mark.slow
@pytest.mark.parametrize("parameter", CHOICES)
def test_what_is_added_to_splits_is_a_choice_that_is_fitted_and_saved(parameter, rows, tmp_path):
    choice = {parameter: CHOICES[parameter]}
    model = DivisiveClustering(n_projections=30, **choice).fit(rows)
    assert model.n_clusters_ == 2
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert loaded.get_params()[parameter] == CHOICES[parameter]
    np.testing.assert_array_equal(loaded.predict(rows), model.labels_)
    with pytest.raises(
        ValueError, match=f"'{parameter}' parameter of DivisiveClustering must be .*{choice[parameter]}"
    ):
        DivisiveClustering(**{parameter: "none of them"}).fit(rows)


@pytest.mark.slow
@pytest.mark.parametrize("parameter", at_night(CHOICES))
def test_it_is_a_choice_of_the_command_line_and_of_jobs(parameter, beside_rows):
    given = f"--method divisive --n-projections 30 -p {parameter}={CHOICES[parameter].replace('_', '-')}"
    run(*f"fit x.zarr {given} --model m.zarr --scheduler threads".split(), code=0)
    assert load_model("m.zarr").get_params()[parameter] == CHOICES[parameter]
    (beside_rows / "job.toml").write_text(
        f'[input]\npath = "x.zarr"\n[method]\nname = "divisive"\nn_projections = 30\n'
        f'{parameter} = "{CHOICES[parameter]}"\n'
        '[output]\nmodel = "n.zarr"\n[cluster]\nkind = "threads"\n'
    )
    assert jobs.run("job.toml").startswith("2 clusters")


@pytest.mark.parametrize("feature_map", ["cube", KernelPCAFeatures(kernel=Cube(scale=0.5), landmark_method="first")])
def test_a_kernel_is_a_feature_map_that_is_saved(feature_map, rows, tmp_path):
    model = PCATree(feature_map=feature_map, max_clusters=2).fit(rows)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert isinstance(loaded.feature_map_.map_.kernel, Cube)
    np.testing.assert_array_equal(loaded.predict(rows), model.labels_)


@pytest.mark.parametrize(
    "model",
    [
        SpectralClustering(n_clusters=2, kernel="step"),
        HierarchicalSpectral(max_clusters=2, feature_map="step"),
        MultidimensionalScaling(dissimilarity="step", n_components=2),
    ],
)
def test_a_kernel_without_negative_values_is_a_choice_wherever_there_are_names(model, rows):
    fitted = model.fit(rows)
    feature_map = fitted if isinstance(fitted, MultidimensionalScaling) else fitted.feature_map_
    assert np.isfinite(feature_map.transform(rows)).all()


@pytest.mark.parametrize("model", [SpectralClustering(kernel="cube"), HierarchicalSpectral(feature_map="cube")])
def test_a_kernel_with_negative_values_is_no_affinity(model, rows):
    with pytest.raises(ValueError, match=r"must be .*'step'.* Got 'cube' instead"):
        model.fit(rows)


def test_a_kernel_is_described_in_job_files(beside_rows, rows):
    (beside_rows / "job.toml").write_text(
        '[input]\npath = "x.zarr"\n[method]\nname = "rp"\n[method.feature_map.kernel]\nname = "cube"\nscale = 2.0\n'
        '[output]\nmodel = "m.zarr"\n[cluster]\nkind = "threads"\n'
    )
    jobs.run("job.toml")
    assert load_model("m.zarr").feature_map.kernel == Cube(scale=2.0)


def test_a_kind_of_input_and_a_kind_of_cluster_are_named_in_job_files(beside_rows, rows):
    (beside_rows / "job.toml").write_text(
        '[input]\nkind = "half"\npath = "x.zarr"\nstep = 3\n[output]\nlabels = "l.zarr"\nmetrics = "metrics.json"\n'
        '[cluster]\nkind = "nowhere"\nn_threads = 3\n'
    )
    assert "nowhere, n_threads 3" in jobs.check("job.toml")
    assert jobs.run("job.toml").startswith("2 clusters of 200 rows")
    expected = RandomProjectionTree().fit(rows[::3]).labels_
    np.testing.assert_array_equal(zarr.open_array("l.zarr")[:], expected)
    (beside_rows / "bad.toml").write_text((beside_rows / "job.toml").read_text().replace("step = 3", "step = 0"))
    with pytest.raises(ValueError, match=r"input.step must be an integer of 1 or more; got 0"):
        jobs.run("bad.toml")
