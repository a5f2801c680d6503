"""What other packages add: a feature map that is no kernel goes everywhere where those of kernels go."""

from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar

import dask.array as da
import numpy as np
import pytest
import zarr
from helpers import in_turns, rings
from helpers import run_on_threads as run
from sklearn.base import clone

from mdh_dask import HierarchicalMDH, KernelPCAFeatures, PCATree, drift, jobs, load_model
from mdh_dask._state import FeatureMap, checked_array
from mdh_dask.chunks import Pass
from mdh_dask.estimators.mapped import FEATURE_MAPS
from mdh_dask.estimators.parameters import Interval
from mdh_dask.estimators.planned import FeatureTransformer
from mdh_dask.growth.passes import FirstPass
from mdh_dask.kernels import NystromMap


@dataclass(frozen=True)
class Polar(FeatureMap):
    """Radius and columns, about a centre; a missing value is the centre's."""

    missing = True
    centre: np.ndarray
    power: float

    @property
    def n_features(self):
        return len(self.centre)

    @property
    def n_components(self):
        return 1 + len(self.centre)

    def __call__(self, rows):
        rows = np.where(np.isnan(rows), 0.0, rows - self.centre)
        radius = np.sqrt((rows**2).sum(axis=1)) ** self.power
        return np.column_stack([10 * radius, rows]).astype(np.float32)

    def check(self):
        checked_array("centre", self.centre, (self.centre.size,))
        if not isinstance(self.power, float) or not 0 < self.power < 9:
            raise ValueError(f"expected a power from 0 to 9, got {self.power!r}")


@dataclass(kw_only=True, eq=False, repr=False)
class PolarFeatures(FeatureTransformer):
    """Radius and columns."""

    map_type = Polar
    _parameter_constraints: ClassVar[dict] = {
        "power": [Interval(Real, 0, 9, closed="neither")],
        "random_state": ["random_state"],
        "progress": ["boolean"],
    }
    power: float = 1.0
    random_state: object = 0
    progress: bool = False

    def _plan(self, seed, shape):
        look = yield Pass("reading", FirstPass(seed, 0))
        columns = look.columns
        return Polar((columns.low + columns.high) / 2.0, float(self.power))


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(FEATURE_MAPS, "polar", PolarFeatures)


@pytest.fixture(scope="module")
def rows():
    """A ring about a ball, which no line separates."""
    return rings(1200, (1.0, 6.0), first=600)[0] + 50


MAPS = {"by name": "polar", "as a transformer": PolarFeatures(power=1.2)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("feature_map", "method"), in_turns(MAPS.values(), [HierarchicalMDH(starts="pca2"), PCATree()])
)
def test_trees_on_a_map_find_what_no_line_separates_and_are_saved(method, feature_map, rows, tmp_path):
    model = clone(method).set_params(feature_map=feature_map, max_clusters=2).fit(rows)
    assert np.bincount(model.labels_).tolist() == [600, 600]
    assert model.tree_.n_features == model.feature_map_.n_components_ == 3
    assert model.n_passes_ == 2
    np.testing.assert_array_equal(model.tree_.labels(model.feature_map_.transform(rows)), model.labels_)
    lazy = clone(model).fit(da.from_array(rows, chunks=(333, 2)))
    np.testing.assert_array_equal(lazy.labels_, model.labels_)
    model.save(tmp_path / "m.zarr")
    loaded = load_model(tmp_path / "m.zarr")
    assert type(loaded.feature_map_) is PolarFeatures
    assert loaded.feature_map_.power == model.feature_map_.power
    np.testing.assert_array_equal(loaded.predict(rows), model.labels_)
    np.testing.assert_array_equal(loaded.feature_map_.transform(rows), model.feature_map_.transform(rows))
    assert not drift(loaded, rows).found
    loaded.partial_fit(rows)
    assert loaded.n_batches_ == 2


def test_a_map_says_whether_values_may_be_missing(rows):
    model = PCATree(feature_map="polar").fit(rows)
    centre = model.state_.feature_map.centre[0]
    np.testing.assert_array_equal(model.predict([[np.nan, 50.0]]), model.predict([[centre, 50.0]]))
    with pytest.raises(ValueError, match="expected finite values; got 1 NaN"):
        PCATree(feature_map="quadratic").fit(rows).predict([[np.nan, 50.0]])


@pytest.mark.slow
def test_rows_on_a_threshold_are_labelled_by_the_features_that_were_counted(rows):
    model = PCATree(feature_map=KernelPCAFeatures(n_components=20), n_clusters=2).fit(rows)
    tree, features = model.tree_, model.feature_map_.transform(rows)
    assert model.n_clusters_ == 2
    assert features.shape[1] == 20
    for i in range(20):
        threshold = float(features[i].astype(float) @ tree.planes[0])
        model.tree_ = replace(tree, thresholds=np.array([threshold, *tree.thresholds[1:]]))
        assert model.predict(rows)[i] == model.tree_.labels(features)[i]


HARM = {
    "another centre": (lambda made: replace(made, centre=np.zeros(3)), "expected 4 columns in the array planes, got 3"),
    "no numbers": (lambda made: replace(made, centre=np.full(2, np.inf)), "expected finite numbers in the array"),
    "another power": (lambda made: replace(made, power=-1.0), "expected a power from 0 to 9, got -1.0"),
}


@pytest.mark.slow
@pytest.mark.parametrize("harm", HARM)
def test_a_map_that_no_fit_gives_is_refused(harm, rows, tmp_path):
    model = PCATree(feature_map="polar").fit(rows)
    change, message = HARM[harm]
    model.feature_map_._adopt(change(model.feature_map_.map_))
    model.save(tmp_path / "m.zarr")
    with pytest.raises(ValueError, match=f"m.zarr is a damaged model: {message}"):
        load_model(tmp_path / "m.zarr")


def test_a_map_of_another_kind_than_its_parameter_is_refused(rows, tmp_path, monkeypatch):
    PCATree(feature_map=PolarFeatures()).fit(rows).save(tmp_path / "m.zarr")
    monkeypatch.setattr(PolarFeatures, "map_type", NystromMap)
    with pytest.raises(ValueError, match="expected a NystromMap, got a Polar"):
        load_model(tmp_path / "m.zarr")
    monkeypatch.delitem(FEATURE_MAPS, "polar")
    with pytest.raises(ValueError, match=r"expected a feature map among .*KernelPCAFeatures.*; got PolarFeatures"):
        load_model(tmp_path / "m.zarr")


def test_the_command_line_and_reports_know_it(beside_rows, rows):
    options = ("--method", "pca", "--max-clusters", 2, "--feature-map", "polar")
    run("fit", "x.zarr", *options, "--model", "m.zarr", "--report", "r.html")
    model = load_model("m.zarr")
    assert np.bincount(model.predict(rows)).tolist() == [600, 600]
    html = (beside_rows / "r.html").read_text()
    assert "<dt>Map</dt><dd>Polar</dd>" in html
    run("predict", "x.zarr", "--model", "m.zarr", "--out", "p.zarr")
    np.testing.assert_array_equal(zarr.open_array("p.zarr")[:], model.predict(rows))
    result = run("fit", "x.zarr", *options, "-p", "feature_map.n_landmarks=9", "--out", "q.zarr", code=2)
    assert "the feature map PolarFeatures has no key 'n_landmarks'" in result.output


def test_a_job_gives_it_parameters(beside_rows, rows):
    job = '[input]\npath = "x.zarr"\n[method]\nname = "pca"\nmax_clusters = 2\n'
    job += '[method.feature_map]\nname = "polar"\npower = 1.2\n'
    (beside_rows / "job.toml").write_text(job + '[cluster]\nkind = "threads"\n[output]\nmodel = "m.zarr"\n')
    assert jobs.run("job.toml").startswith("2 clusters of 1,200 rows")
    assert load_model("m.zarr").feature_map.power == 1.2
    (beside_rows / "bad.toml").write_text((beside_rows / "job.toml").read_text().replace("power", "pover"))
    with pytest.raises(ValueError, match=r"\[method.feature_map\] with name = 'polar'.*'pover'"):
        jobs.run("bad.toml")
