"""Imports of single estimators and workflows, without all the others."""

import subprocess
import sys
from textwrap import dedent

import pytest

import mdh_dask
from mdh_dask.estimators import MODULES
from mdh_dask.estimators.registry import all_estimators


def test_the_modules_of_single_estimators_are_those_of_the_registry():
    own = {name: cls.__module__ for name, cls in all_estimators().items() if cls.__module__.startswith("mdh_dask.")}
    assert {name: f"mdh_dask.estimators.{module}" for name, module in MODULES.items()} == own


def test_no_estimator_stands_on_more_than_eight_classes_of_this_package():
    for cls in all_estimators().values():
        assert sum(base.__module__.startswith("mdh_dask.") for base in cls.__mro__[1:]) <= 8, cls


@pytest.mark.parametrize(("room", "name"), [("workflows", "predikt"), ("estimators", "PCATre")])
def test_a_misspelt_workflow_or_estimator_is_an_error_that_names_the_right_one(room, name):
    meant = {"predikt": "predict", "PCATre": "PCATree"}[name]
    with pytest.raises(AttributeError, match=rf"no attribute '{name}' \(did you mean '{meant}'\?\)"):
        getattr(getattr(mdh_dask, room), name)


@pytest.mark.slow
def test_a_saved_model_labels_rows_with_few_imports_and_no_workers(tmp_path):
    script = """
    import sys
    import numpy as np
    from mdh_dask import PCATree
    from mdh_dask.cli import mdh

    rows = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    np.save("x.npy", rows)
    PCATree().fit(rows).save("m.zarr")
    mdh(["predict", "x.npy", "--model", "m.zarr", "--out", "l.zarr"], standalone_mode=False)
    late = "mdh_dask.estimators.registry mdh_dask.density_trees mdh_dask.workflows._demo distributed matplotlib "
    late += "opentelemetry PIL tifffile imagecodecs sklearn.cluster sklearn.metrics sklearn.svm"
    assert not {*late.split()} & {*sys.modules}
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(script)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout == "600 rows in 2 of 2 clusters: l.zarr\n"
    assert "small input: computing on threads of this process" in done.stderr
