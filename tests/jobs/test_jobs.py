"""Job files: what they may say, and what is said of all else, word for word."""

from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from mdh_dask import HierarchicalMDH
from mdh_dask._fields import JobError
from mdh_dask.estimators.registry import METHODS, options_of
from mdh_dask.jobs.job import CLUSTERS, INPUTS, read_job
from mdh_dask.jobs.methods import field_of
from mdh_dask.kernels import RBF

LEAST = '[input]\npath = "x.zarr"\n[output]\nlabels = "l.zarr"\n'


IMAGE = '[input]\nkind = "image"\npath = "x.tif"\n[output]\npreview = "p.png"\n'


def job(text, folder):
    path = Path(folder) / "job.toml"
    path.write_text(text)
    return read_job(path)


def test_an_input_has_a_method_that_clusters_it_unless_it_comes_night_by_night():
    opened = {kind: get_type_hints(one[0])["return"] for kind, one in INPUTS.items()}
    assert {kind for kind, one in opened.items() if hasattr(one, "cluster")} == {"rows", "image"}


# What a job file may say


def test_the_least_job_has_the_defaults_of_the_command_line(tmp_path):
    read = job(LEAST, tmp_path)
    assert read.input == {
        "kind": "rows", "path": f"{tmp_path}/x.zarr", "labels": None, "weight_column": None,
        "groups": None, "id_column": None, "text_column": None, "previous": None, "ids": None,
        "columns": None, "missing_chunks": "error",
    }  # fmt: skip
    assert read.output["labels"] == f"{tmp_path}/l.zarr"
    assert [key for key, place in read.output.items() if place is not None] == ["labels"]
    assert (read.kind, read.work) == ("local", tmp_path / "job.work")
    given = {"on_change": "error", "overwrite": False, "log_json": False}
    assert read.run == {"work": None, **given, "openmetrics": None, "name": None}
    assert read.estimator().get_params() == HierarchicalMDH().get_params()


def test_an_image_has_keys_of_its_own_and_a_preview(tmp_path):
    keys = 'axes = "tcyx"\nindex = {t = 2}\nwindow = 5\ncoordinates = 0.5\nsample = 1000\nfeatures = ["lab"]\n'
    read = job(IMAGE.replace("[output]", keys + "[output]"), tmp_path)
    assert read.input == {
        "kind": "image", "path": f"{tmp_path}/x.tif", "axes": "tcyx", "index": {"t": 2}, "window": 5,
        "coordinates": 0.5, "sample": 1000, "features": ["lab"], "missing_chunks": "error", "nodata": None,
        "mask": None, "sieve": None, "bands": None, "dependence": None, "dequantise": None, "reproject": None,
    }  # fmt: skip
    assert read.outputs().places() == {"preview": f"{tmp_path}/p.png"}


def test_paths_are_relative_to_the_job_file_and_urls_stay(tmp_path):
    text = (
        '[input]\npath = "s3://b/x.zarr"\n[output]\nlabels = "/abs/l.zarr"\nmodel = "../m.zarr"\n[run]\nwork = "w"\n'
        '[cluster]\nkind = "scheduler-file"\nfile = "s.json"\n'
    )
    read = job(text, tmp_path)
    assert read.input["path"] == "s3://b/x.zarr"
    assert (read.output["labels"], read.output["model"]) == ("/abs/l.zarr", f"{tmp_path}/../m.zarr")
    assert (read.work, read.cluster["file"]) == (tmp_path / "w", f"{tmp_path}/s.json")


def test_a_job_file_is_utf_8_with_or_without_a_byte_order_mark(tmp_path):
    text = '[input]\npath = "données.npy"\n[output]\nlabels = "l.zarr"\n'
    for mark in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "j.toml").write_bytes(mark + text.encode())
        assert read_job(tmp_path / "j.toml").input["path"] == f"{tmp_path}/données.npy"


def test_parameters_reach_the_estimator(tmp_path):
    method = '[method]\nname = "mdh"\nsample_size = "none"\nscale = false\nmin_cluster_size = 0.1\nrandom_state = 7\n'
    estimator = job(LEAST + method, tmp_path).estimator()
    expected = HierarchicalMDH(sample_size=None, scale=False, min_cluster_size=0.1, random_state=7)
    assert type(estimator) is HierarchicalMDH
    assert estimator.get_params() == expected.get_params()


def test_a_feature_map_is_a_name_or_a_table_and_so_is_its_kernel(tmp_path):
    assert job(LEAST + '[method]\nfeature_map = "rbf"\n', tmp_path).estimator().feature_map == "rbf"
    table = "[method.feature_map]\nn_landmarks = 200\nn_components = 3\n"
    feature_map = job(LEAST + table + 'kernel = "cosine"\n', tmp_path).estimator().feature_map
    assert (feature_map.n_landmarks, feature_map.n_components, feature_map.kernel) == (200, 3, "cosine")
    own = job(LEAST + table + '[method.feature_map.kernel]\nname = "rbf"\nwidth = 2.0\n', tmp_path).estimator()
    assert own.feature_map.kernel == RBF(width=2.0)


@pytest.mark.slow
def test_a_map_takes_scale_and_seed_from_the_method_whether_named_or_a_table(tmp_path):
    method = LEAST + "[method]\nscale = false\nrandom_state = 7\n"
    named = job(method + 'feature_map = "rbf"\n', tmp_path).estimator()
    table = job(method + "[method.feature_map]\nkernel = 'rbf'\n", tmp_path).estimator()
    own = job(method + "[method.feature_map]\nscale = true\nrandom_state = 3\n", tmp_path).estimator()
    rows = np.random.default_rng(0).normal(size=(120, 2))
    assert table.fit(rows).feature_map_.get_params() == named.fit(rows).feature_map_.get_params()
    assert table.tree_ == named.tree_
    assert (table.feature_map.scale, table.feature_map.progress) == (False, False)
    assert (own.feature_map.scale, own.feature_map.random_state) == (True, 3)


def test_every_default_that_toml_can_hold_may_be_given():
    for method, cls in METHODS.items():
        for name, default in options_of(cls).items():
            field = field_of(cls._parameter_constraints[name])
            given = "none" if default is None else default
            assert field.accepts(given), (method, name)
            assert field.read(given) == default


def test_every_kind_of_cluster_is_made(tmp_path):
    tables = {
        "local": "workers = 2\nthreads_per_worker = 1\nmemory_limit = '2GB'\n",
        "threads": "",
        "scheduler": "address = 'tcp://host:8786'\ntimeout = 5\n",
        "scheduler-file": "file = 's.json'\ntimeout = 0.5\n",
        "slurm": "cores = 4\nmemory = '8GB'\nwalltime = '1-12:00'\ninterface = 'ib0'\nmaximum = 9\n",
        "synchronous": "",
    }
    assert tables.keys() == CLUSTERS.keys()
    for kind, table in tables.items():
        read = job(f"{LEAST}[cluster]\nkind = '{kind}'\n{table}", tmp_path)
        assert hasattr(read.start_cluster(), "__enter__")


# What is said of all else

SLURM = "[cluster]\nkind = 'slurm'\ncores = 1\nmemory = '2GB'\ninterface = 'ib0'\n"

ERRORS = {
    "not TOML": "[input",
    "unknown section": LEAST + "[outputs]\n",
    "section is no table": "input = 3\n",
    "method is no table": 'method = "rp"\n' + LEAST,
    "cluster is no table": "cluster = true\n" + LEAST,
    "no input": "[output]\nlabels = 'l'\n",
    "unknown key": LEAST.replace("path", "pth"),
    "no text": LEAST.replace('"x.zarr"', "['x']"),
    "empty text": LEAST.replace("x.zarr", ""),
    "time": LEAST.replace('"x.zarr"', "07:32:00"),
    "columns of two kinds": LEAST.replace("[output]", "columns = ['a', 1.5]\n[output]"),
    "no columns": LEAST.replace("[output]", "columns = []\n[output]"),
    "word": LEAST.replace("[output]", "missing_chunks = 'fil'\n[output]"),
    "no output": '[input]\npath = "x.zarr"\n[output]\nmetrics = "m.json"\n',
    "unknown output": LEAST + 'preview = "p.png"\n',
    "output is no table": "output = 3\n" + LEAST.split("[output]")[0],
    "unknown kind of input": IMAGE.replace("image", "images"),
    "image without its kind": IMAGE.replace('kind = "image"\n', "").replace("preview", "labels"),
    "columns of an image": IMAGE.replace("[output]", "columns = [0]\n[output]"),
    "nothing to sieve": IMAGE.replace("[output]", "sieve = 5\n[output]"),
    "features of an image": IMAGE.replace("[output]", "features = 'lab'\n[output]"),
    "sample of rows": LEAST.replace("[output]", "sample = 3\n[output]"),
    "axes": IMAGE.replace("[output]", "axes = ['y', 'x']\n[output]"),
    "index": IMAGE.replace("[output]", "index = {t = -1}\n[output]"),
    "even window": IMAGE.replace("[output]", "window = 4\n[output]"),
    "weight": IMAGE.replace("[output]", "coordinates = true\n[output]"),
    "sample": IMAGE.replace("[output]", "sample = 1\n[output]"),
    "no output of an image": IMAGE.replace("preview", "metrics"),
    "flag": LEAST + "[run]\noverwrite = 'yes'\n",
    "unknown cluster": LEAST + "[cluster]\nkind = 'slrm'\n",
    "key of another cluster": LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'tcp://h:1'\nworkers = 2\n",
    "no workers": LEAST + "[cluster]\nworkers = 0\n",
    "true workers": LEAST + "[cluster]\nworkers = true\n",
    "little memory": LEAST + "[cluster]\nmemory_limit = '2'\n",
    "no memory": LEAST + "[cluster]\nmemory_limit = 'much'\n",
    "no address": LEAST + "[cluster]\nkind = 'scheduler'\n",
    "bad address": LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'host'\n",
    "no cores": LEAST + "[cluster]\nkind = 'slurm'\n",
    "no interface": LEAST + "[cluster]\nkind = 'slurm'\ncores = 1\nmemory = '2GB'\n",
    "no time": LEAST + "[cluster]\nkind = 'slurm'\nwalltime = '1 hour'\n",
    "little memory of a job": LEAST + "[cluster]\nkind = 'slurm'\nmemory = '16'\n",
    "lines that are none": LEAST + "[cluster]\nkind = 'slurm'\nprologue = 'module load python'\n",
    "maximum below minimum": LEAST + SLURM + "minimum = 3\nmaximum = 2\n",
    "logs with a space": LEAST + SLURM + "log_directory = '/my logs'\n",
    "endless timeout": LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'tcp://h:1'\ntimeout = inf\n",
    "unknown method": LEAST + "[method]\nname = 'pddb'\n",
    "unknown parameter": LEAST + "[method]\nquantle = 0.9\n",
    "number of clusters": LEAST + "[method]\nname = 'svc'\nn_clusters = 3\n",
    "parameter of another method": LEAST + "[method]\nname = 'depddp'\nn_projections = 9\n",
    "option of a projection": LEAST + "[method]\nname = 'mdh'\nalpha_max = 1.0\n",
    "option that a projection does not have": LEAST
    + "[method]\nname = 'divisive'\nprojection = 'mdh'\nprojection_params = {start = 'pca2'}\n",
    "parameter out of range": LEAST + "[method]\nquantile = 2.0\n",
    "parameter that is not finite": LEAST + "[method]\nname = 'divisive'\nalpha = inf\n",
    "word for a parameter": LEAST + "[method]\nname = 'divisive'\ncriterion = 'dipp'\n",
    "boolean for a number": LEAST + "[method]\nname = 'divisive'\nmax_levels = true\n",
    "two kinds of number": LEAST + "[method]\nmin_cluster_size = 2.5\n",
    "no seed": LEAST + "[method]\nrandom_state = 'none'\n",
    "switch": LEAST + "[method]\nmerge = 'yes'\n",
    "unknown key of a map": LEAST + "[method.feature_map]\nlandmarks = 9\n",
    "value in a map": LEAST + "[method.feature_map]\nn_landmarks = 1\n",
    "kernel as the name of a map": LEAST + "[method.feature_map]\nname = 'local-scaling'\nn_landmarks = 9\n",
    "kernel without a name": LEAST + "[method.feature_map.kernel]\nwidth = 1\n",
    "unknown key of a kernel": LEAST + "[method.feature_map.kernel]\nname = 'rbf'\nwith = 1\n",
    "value in a kernel": LEAST + "[method.feature_map.kernel]\nname = 'rbf'\nwidth = -1\n",
}


def test_the_first_thing_that_is_wrong_is_told_word_for_word(tmp_path, wording):
    said = {}
    for name, text in ERRORS.items():
        with pytest.raises(JobError) as caught:
            job(text, tmp_path)
        said[name] = str(caught.value)
    wording(said, tmp_path)
