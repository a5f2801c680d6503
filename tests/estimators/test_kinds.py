"""What other packages add: a model that is no tree goes everywhere where the package's own go."""

import re
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import ClassVar

import dask.array as da
import numpy as np
import pytest
import zarr
from helpers import run as command
from helpers import run_on_threads as run
from sklearn.base import clone

from mdh_dask import jobs, load_model
from mdh_dask._state import State, checked_array
from mdh_dask._storable import checked_value, stored_name
from mdh_dask.chunks import Pass
from mdh_dask.estimators.base import ClusterEstimator
from mdh_dask.estimators.parameters import Interval, StrOptions, check_first_look
from mdh_dask.estimators.registry import METHODS
from mdh_dask.growth.passes import FirstPass, sample_limit


@dataclass(frozen=True)
class Points(State):
    """Some rows; a row is in the cluster of the nearest, or in none if all are far."""

    noise = True
    points: np.ndarray
    reach: float

    @property
    def n_clusters(self):
        return len(self.points)

    @property
    def n_features(self):
        return self.points.shape[1]

    def labels(self, rows):
        distance = np.sqrt(((rows[:, None].astype(float) - self.points) ** 2).sum(axis=2))
        return np.where(distance.min(axis=1) <= self.reach, distance.argmin(axis=1), -1)

    def check(self):
        checked_array("points", self.points, (len(self.points), self.points[0].size))
        if not isinstance(self.reach, float) or not self.reach > 0:
            raise ValueError(f"expected a reach above 0, got {self.reach!r}")


@dataclass(kw_only=True, eq=False, repr=False)
class NearestPoints(ClusterEstimator):
    """Clusters about points.

    Parameters
    ----------
    n_points : int
        Points.
    starts : {"first", "spread"}
        Which rows are points.
    reach : float
        Rows further away are in no cluster.
    """

    state_type = Points
    _parameter_constraints: ClassVar[dict] = {
        "n_points": [Interval(Integral, 1, None, closed="left")],
        "starts": [StrOptions({"first", "spread"})],
        "reach": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "progress": ["boolean"],
    }

    n_points: int = 2
    starts: str = "spread"
    reach: float = 20.0
    random_state: object = 0
    progress: bool = False

    def _plan(self, seed, shape):
        look = yield Pass("reading", FirstPass(seed, sample_limit(50, shape[0])))
        check_first_look(look)
        rows = look.sample.first(50).rows.astype(float)
        chosen = [rows[0]]
        while len(chosen) < self.n_points:
            distances = np.min([((rows - point) ** 2).sum(axis=1) for point in chosen], axis=0)
            chosen.append(rows[int(distances.argmax())])
        return Points(np.array(chosen), float(self.reach))


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(METHODS, "nearest", NearestPoints)


@pytest.fixture(scope="module")
def rows():
    """Two groups; the last three rows are far from both."""
    rows = np.random.default_rng(0).normal(size=(403, 2)) + np.repeat([[0.0, 0.0], [30.0, 0.0]], [200, 203], axis=0)
    rows[-3:] += 1000
    return rows


@pytest.fixture
def model(rows):
    return NearestPoints(reach=15.0).fit(rows[:400])


def test_a_model_that_is_no_tree_fits_and_predicts_rows_of_any_kind(model, rows):
    assert (model.n_clusters_, model.n_passes_, model.n_features_in_) == (2, 1, 2)
    assert len(np.unique(model.labels_)) == 2
    assert (model.predict(rows)[-3:] == -1).all()
    lazy = clone(model).fit(da.from_array(rows[:400], chunks=(90, 2)))
    assert isinstance(lazy.labels_, da.Array)
    np.testing.assert_array_equal(lazy.labels_.compute(), model.labels_)
    np.testing.assert_array_equal(lazy.state_.points, model.state_.points)
    np.testing.assert_array_equal(model._block_labels()(rows), model.predict(rows))
    with pytest.raises(ValueError, match="The 'n_points' parameter of NearestPoints must be an int"):
        NearestPoints(n_points=0).fit(rows)
    with pytest.raises(ValueError, match="expected finite values; got 1 NaN"):
        model.predict([[np.nan, 0.0]])


def test_why_says_what_the_label_for_no_cluster_means_whatever_leaves_rows_there(model):
    assert "cluster -1: rows in no cluster, where few others are near" in model.why()


def test_it_is_saved_and_loaded_to_the_last_bit(model, rows, tmp_path):
    model._name_columns(["a", "b"])
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert type(loaded) is NearestPoints
    assert loaded.get_params() == model.get_params()
    assert loaded.feature_names_in_.tolist() == ["a", "b"]
    assert (loaded.n_clusters_, loaded.n_passes_) == (2, 1)
    np.testing.assert_array_equal(loaded.state_.points, model.state_.points)
    np.testing.assert_array_equal(loaded._block_labels()(rows), model._block_labels()(rows))
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "m.zarr")


HARM = {
    "an array of another shape": (lambda state: replace(state, points=np.zeros((2, 2, 2))), r"array points"),
    "NaN": (lambda state: replace(state, points=np.full((2, 2), np.nan)), "finite numbers in the array points"),
    "other columns": (lambda state: replace(state, points=np.zeros((2, 3))), "model of 2 columns, got those of 3"),
    "no points": (lambda state: replace(state, points=np.zeros((0, 2))), "restore it from a copy"),
    "a reach that is none": (lambda state: replace(state, reach=-1.0), "expected a reach above 0, got -1.0"),
    "a reach that is a text": (lambda state: replace(state, reach="far"), "for reach of a .*Points, got 'far'"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_state_that_no_fit_gives_is_refused(harm, model, tmp_path):
    change, message = HARM[harm]
    model._adopt(change(model.state_))
    model.save(tmp_path / "m.zarr")
    with pytest.raises(ValueError, match=f"m.zarr is a damaged model: .*{message}"):
        load_model(tmp_path / "m.zarr")


def test_a_model_of_a_package_that_was_not_imported_is_not_called_damaged(model, tmp_path, monkeypatch):
    model.save(tmp_path / "m.zarr")
    monkeypatch.delitem(METHODS, "nearest")
    with pytest.raises(ImportError, match=r"expected a model of .*; got one of NearestPoints: import the package"):
        load_model(tmp_path / "m.zarr")


def test_a_kind_without_checks_is_not_loaded(model):
    @dataclass(frozen=True)
    class Unchecked(Points):
        check = State.check

    with pytest.raises(TypeError, match=r"abstract class Unchecked .*check"):
        Unchecked(*vars(model.state_).values())
    with pytest.raises(ValueError, match=r"expected points, reach of a \S*Points; got reach"):
        checked_value(stored_name(Points), {"reach": 1.0})


def test_the_command_line_fits_it_and_predicts_with_it(beside_rows, model, rows):
    options = ("--method", "nearest", "-p", "n_points=2", "-p", "reach=15", "-p", "starts=first")
    run("fit", "x.zarr", *options, "--out", "l.zarr", "--model", "m.zarr", "--report", "r.html")
    loaded = load_model("m.zarr")
    assert loaded.get_params() == {**NearestPoints(reach=15.0, starts="first").get_params()}
    labels = zarr.open_array("l.zarr")[:]
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, loaded.predict(rows))
    result = run("predict", "x.zarr", "--model", "m.zarr", "--out", "p.zarr")
    assert re.search(r"403 rows in \d of 2 clusters, \d+ in none: p.zarr", result.output)
    np.testing.assert_array_equal(zarr.open_array("p.zarr")[:], labels)
    unknown = run("fit", "x.zarr", *options, "--quantile", 0.9, code=2).output
    assert "--method nearest has no parameter 'quantile'" in unknown
    assert "--method mdh has no parameter 'reach'" in run("fit", "x.zarr", "-p", "reach=3", "--out", "q", code=2).output
    assert re.search(r"^nearest +NearestPoints: ", command("methods").output, re.MULTILINE)


def test_a_job_runs_it_and_counts_its_clusters(beside_rows, rows):
    (beside_rows / "job.toml").write_text(
        '[input]\npath = "x.zarr"\n[method]\nname = "nearest"\nreach = 15.0\n[cluster]\nkind = "threads"\n'
        '[output]\nlabels = "l.zarr"\nmodel = "m.zarr"\nreport = "r.html"\nmetrics = "metrics.json"\n'
    )
    assert "passes:  2 or more" in jobs.check("job.toml")
    assert jobs.run("job.toml").startswith("2 clusters of 403 rows")
    labels = load_model("m.zarr").predict(rows)
    np.testing.assert_array_equal(zarr.open_array("l.zarr")[:], labels)
    metrics = (beside_rows / "metrics.json").read_text()
    assert f'"n_in_no_cluster": {np.count_nonzero(labels == -1)}' in metrics
    assert "nothing to do" in jobs.run("job.toml")
    (beside_rows / "bad.toml").write_text((beside_rows / "job.toml").read_text().replace("15.0", "-1"))
    with pytest.raises(ValueError, match=r"method.reach must be a float in the range \(0.0, inf\); got -1"):
        jobs.run("bad.toml")
