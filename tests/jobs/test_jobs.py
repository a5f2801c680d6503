"""Job files: what they may say, and what is said of all else, word for word."""

from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from click.testing import CliRunner

from mdh_dask import HierarchicalMDH, RandomProjectionTree
from mdh_dask._fields import JobError
from mdh_dask.cli import exits, mdh
from mdh_dask.estimators.registry import METHODS, all_methods, options_of
from mdh_dask.jobs.inputs import Clusterable
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
    assert {kind for kind, one in opened.items() if issubclass(one, Clusterable)} == {"rows", "image"}


# What a job file may say


def test_the_least_job_has_the_defaults_of_the_command_line(tmp_path):
    read = job(LEAST, tmp_path)
    assert read.input == {
        "kind": "rows", "path": f"{tmp_path}/x.zarr", "labels": None, "weights": None, "weight_column": None,
        "groups": None,
        "columns": None, "missing_chunks": "error",
    }  # fmt: skip
    assert read.output["labels"] == f"{tmp_path}/l.zarr"
    assert [key for key, place in read.output.items() if place is not None] == ["labels"]
    assert (read.kind, read.work) == ("local", tmp_path / "job.work")
    given = {"on_change": "error", "overwrite": False, "log_json": False}
    assert read.run == {"work": None, **given, "openmetrics": None, "name": None}
    assert read.estimator().get_params() == RandomProjectionTree().get_params()


def test_an_image_has_keys_of_its_own_and_a_preview(tmp_path):
    keys = 'axes = "tcyx"\nindex = {t = 2}\nwindow = 5\ncoordinates = 0.5\nsample = 1000\nfeatures = ["lab"]\n'
    read = job(IMAGE.replace("[output]", keys + "[output]"), tmp_path)
    assert read.input == {
        "kind": "image", "path": f"{tmp_path}/x.tif", "axes": "tcyx", "index": {"t": 2}, "window": 5,
        "coordinates": 0.5, "sample": 1000, "features": ["lab"], "missing_chunks": "error", "nodata": None,
        "mask": None, "sieve": None, "bands": None, "dependence": None,
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
    rows = np.random.default_rng(0).normal(size=(500, 2))
    assert table.fit(rows).feature_map_.get_params() == named.fit(rows).feature_map_.get_params()
    assert table.tree_ == named.tree_
    assert (table.feature_map.scale, table.feature_map.progress) == (False, False)
    assert (own.feature_map.scale, own.feature_map.random_state) == (True, 3)


@pytest.mark.parametrize("method", METHODS)
def test_every_default_that_toml_can_hold_may_be_given(method):
    for name, default in options_of(METHODS[method]).items():
        field = field_of(METHODS[method]._parameter_constraints[name])
        given = "none" if default is None else default
        assert field.accepts(given), name
        assert field.read(given) == default


def test_every_kind_of_cluster_is_made(tmp_path):
    tables = {
        "local": "workers = 2\nthreads_per_worker = 1\nmemory_limit = '2GB'\n",
        "threads": "",
        "scheduler": "address = 'tcp://host:8786'\ntimeout = 5\n",
        "scheduler-file": "file = 's.json'\ntimeout = 0.5\n",
        "slurm": "cores = 4\nmemory = '8GB'\nwalltime = '1-12:00'\ninterface = 'ib0'\nmaximum = 9\n",
        "kubernetes": "image = 'a/b:1'\nminimum = 1\nmaximum = 9\nsecrets = ['object-store']\n",
        "synchronous": "",
    }
    assert tables.keys() == CLUSTERS.keys()
    for kind, table in tables.items():
        read = job(f"{LEAST}[cluster]\nkind = '{kind}'\n{table}", tmp_path)
        assert hasattr(read.start_cluster(), "__enter__")


# What is said of all else

SLURM = "[cluster]\nkind = 'slurm'\ncores = 1\nmemory = '2GB'\ninterface = 'ib0'\n"

METHOD_KEYS = ", ".join(["name", *options_of(METHODS["rp"])])

ERRORS = {
    "not TOML": ("[input", "job.toml is not TOML: Expected ']' at the end of a table declaration (at end of document)"),
    "unknown section": (
        LEAST + "[outputs]\n",
        "a job file has no key 'outputs' (did you mean 'output'?); its keys are input, method, cluster, output, run",
    ),
    "section is no table": ("input = 3\n", "[input] must be a table; got 3, an integer"),
    "method is no table": ('method = "rp"\n' + LEAST, "[method] must be a table; got 'rp', a string"),
    "cluster is no table": ("cluster = true\n" + LEAST, "[cluster] must be a table; got true, a boolean"),
    "no input": ("[output]\nlabels = 'l'\n", "input.path is missing; give a path or URL"),
    "unknown key": (
        LEAST.replace("path", "pth"),
        "[input] with kind = 'rows' has no key 'pth' (did you mean 'path'?); its keys are kind, path, labels, "
        "weights, weight_column, groups, columns, missing_chunks",
    ),
    "no text": (LEAST.replace('"x.zarr"', "['x']"), "input.path must be a path or URL; got ['x'], an array"),
    "empty text": (LEAST.replace("x.zarr", ""), "input.path must be a path or URL; got '', a string"),
    "time": (
        LEAST.replace('"x.zarr"', "07:32:00"),
        "input.path must be a path or URL; got 07:32:00, a date or time",
    ),
    "columns of two kinds": (
        LEAST.replace("[output]", "columns = ['a', 1.5]\n[output]"),
        "input.columns must be an array of names, or of numbers from 0, or a table of such arrays with the keys use, "
        "continuous, ordinal and categorical; got ['a', 1.5], an array",
    ),
    "no columns": (
        LEAST.replace("[output]", "columns = []\n[output]"),
        "input.columns must be an array of names, or of numbers from 0, or a table of such arrays with the keys use, "
        "continuous, ordinal and categorical; got [], an array",
    ),
    "word": (
        LEAST.replace("[output]", "missing_chunks = 'fil'\n[output]"),
        "input.missing_chunks must be 'error' or 'fill'; got 'fil', a string (did you mean 'fill'?)",
    ),
    "no output": (
        '[input]\npath = "x.zarr"\n[output]\nmetrics = "m.json"\n',
        "[output] must name labels, model or report; got none of them: nothing would be kept",
    ),
    "unknown output": (
        LEAST + 'preview = "p.png"\n',
        "[output] of input.kind = 'rows' has no key 'preview'; its keys are labels, confidence, model, report, "
        "metrics, manifest, performance_report",
    ),
    "output is no table": ("output = 3\n" + LEAST.split("[output]")[0], "[output] must be a table; got 3, an integer"),
    "unknown kind of input": (
        IMAGE.replace("image", "images"),
        "input.kind must be 'rows', 'image' or 'scenes'; got 'images', a string (did you mean 'image'?)",
    ),
    "image without its kind": (
        IMAGE.replace('kind = "image"\n', "").replace("preview", "labels"),
        "input.path is an image, x.tif: say so with kind = 'image' in [input]",
    ),
    "columns of an image": (
        IMAGE.replace("[output]", "columns = [0]\n[output]"),
        "[input] with kind = 'image' has no key 'columns'; its keys are kind, path, axes, index, window, coordinates, "
        "sample, features, missing_chunks, nodata, mask, sieve, bands, dependence",
    ),
    "nothing to sieve": (
        IMAGE.replace("[output]", "sieve = 5\n[output]"),
        "[output] must name labels, connected or regions with input.sieve; got none: leave it out",
    ),
    "features of an image": (
        IMAGE.replace("[output]", "features = 'lab'\n[output]"),
        "input.features must be an array of some of lab, smooth, texture, gradient; got 'lab', a string",
    ),
    "sample of rows": (
        LEAST.replace("[output]", "sample = 3\n[output]"),
        "[input] with kind = 'rows' has no key 'sample'; its keys are kind, path, labels, weights, weight_column, "
        "groups, "
        "columns, missing_chunks",
    ),
    "no path of an image": (IMAGE.replace('path = "x.tif"', ""), "input.path is missing; give a path or URL"),
    "axes": (
        IMAGE.replace("[output]", "axes = ['y', 'x']\n[output]"),
        "input.axes must be a letter for every axis, as 'yxc'; got ['y', 'x'], an array",
    ),
    "index": (
        IMAGE.replace("[output]", "index = {t = -1}\n[output]"),
        "input.index must be a table of indices from 0 by axis, as {t = 0}; got {'t': -1}, a table",
    ),
    "even window": (
        IMAGE.replace("[output]", "window = 4\n[output]"),
        "input.window must be an odd integer of 3 or more; got 4, an integer",
    ),
    "weight": (
        IMAGE.replace("[output]", "coordinates = true\n[output]"),
        "input.coordinates must be a number above 0; got true, a boolean",
    ),
    "sample": (
        IMAGE.replace("[output]", "sample = 1\n[output]"),
        "input.sample must be an integer of 2 or more; got 1, an integer",
    ),
    "chunks of an image": (
        IMAGE.replace("[output]", "missing_chunks = 0\n[output]"),
        "input.missing_chunks must be 'error' or 'fill'; got 0, an integer",
    ),
    "preview": (IMAGE.replace('"p.png"', "1"), "output.preview must be a path or URL; got 1, an integer"),
    "no output of an image": (
        IMAGE.replace("preview", "metrics"),
        "[output] must name labels, model, preview, connected, regions or report; got none of them: "
        "nothing would be kept",
    ),
    "unknown output of an image": (
        IMAGE.replace("preview", "previews"),
        "[output] of input.kind = 'image' has no key 'previews' (did you mean 'preview'?); its keys are labels, model, "
        "preview, connected, regions, report, metrics, manifest, performance_report",
    ),
    "flag": (LEAST + "[run]\noverwrite = 'yes'\n", "run.overwrite must be true or false; got 'yes', a string"),
    "word for a change": (
        LEAST + "[run]\non_change = 'restrat'\n",
        "run.on_change must be 'error' or 'restart'; got 'restrat', a string (did you mean 'restart'?)",
    ),
    "number for a flag": (LEAST + "[run]\nlog_json = 1\n", "run.log_json must be true or false; got 1, an integer"),
    "unknown cluster": (
        LEAST + "[cluster]\nkind = 'slrm'\n",
        f"cluster.kind must be {', '.join(map(repr, list(CLUSTERS)[:-1]))} or {list(CLUSTERS)[-1]!r}; got 'slrm', a "
        "string (did you mean 'slurm'?)",
    ),
    "key of another cluster": (
        LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'tcp://h:1'\nworkers = 2\n",
        "[cluster] with kind = 'scheduler' has no key 'workers'; its keys are kind, address, timeout",
    ),
    "no workers": (
        LEAST + "[cluster]\nworkers = 0\n",
        "cluster.workers must be an integer of 1 or more; got 0, an integer",
    ),
    "true workers": (
        LEAST + "[cluster]\nworkers = true\n",
        "cluster.workers must be an integer of 1 or more; got true, a boolean",
    ),
    "little memory": (
        LEAST + "[cluster]\nmemory_limit = '2'\n",
        "cluster.memory_limit must be 'auto' or an amount of 100 MB or more, as '2GB'; got '2', a string",
    ),
    "no memory": (
        LEAST + "[cluster]\nmemory_limit = 'much'\n",
        "cluster.memory_limit must be 'auto' or an amount of 100 MB or more, as '2GB'; got 'much', a string",
    ),
    "no address": (
        LEAST + "[cluster]\nkind = 'scheduler'\n",
        "cluster.address is missing; give an address, as 'tcp://host:8786'",
    ),
    "bad address": (
        LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'host'\n",
        "[cluster]: expected an address, as tcp://host:8786, or 'threads'; got 'host'",
    ),
    "no cores": (
        LEAST + "[cluster]\nkind = 'slurm'\n",
        "[cluster]: cores is missing; give an integer of 1 or more",
    ),
    "no interface": (
        LEAST + "[cluster]\nkind = 'slurm'\ncores = 1\nmemory = '2GB'\n",
        "[cluster]: interface is missing; give the network interface that the nodes share, as 'ib0' ('ip -brief "
        "address' lists them)",
    ),
    "no time": (
        LEAST + "[cluster]\nkind = 'slurm'\nwalltime = '1 hour'\n",
        "cluster.walltime must be a time, as '04:00:00' or '1-12:00:00'; got '1 hour', a string",
    ),
    "little memory of a job": (
        LEAST + "[cluster]\nkind = 'slurm'\nmemory = '16'\n",
        "cluster.memory must be an amount of 100 MB or more, as '16GB'; got '16', a string",
    ),
    "lines that are none": (
        LEAST + "[cluster]\nkind = 'slurm'\nprologue = 'module load python'\n",
        "cluster.prologue must be an array of lines of shell; got 'module load python', a string",
    ),
    "maximum below minimum": (
        LEAST + SLURM + "minimum = 3\nmaximum = 2\n",
        "[cluster]: expected a maximum of 3 or more, the minimum; got 2",
    ),
    "logs with a space": (
        LEAST + SLURM + "log_directory = '/my logs'\n",
        "[cluster]: expected a log_directory without spaces; got '/my logs': jobs cannot write there, name another",
    ),
    "no file": (
        LEAST + "[cluster]\nkind = 'scheduler-file'\n",
        "cluster.file is missing; give the path of a scheduler's file",
    ),
    "endless timeout": (
        LEAST + "[cluster]\nkind = 'scheduler'\naddress = 'tcp://h:1'\ntimeout = inf\n",
        "cluster.timeout must be a number above 0; got inf, a float",
    ),
    "unknown method": (
        LEAST + "[method]\nname = 'pddb'\n",
        f"method.name must be {', '.join(map(repr, list(all_methods())[:-1]))} or {list(all_methods())[-1]!r}; got "
        "'pddb', a string (did you mean 'pddp'?)",
    ),
    "unknown parameter": (
        LEAST + "[method]\nquantle = 0.9\n",
        f"[method] with name = 'rp' has no key 'quantle' (did you mean 'quantile'?); its keys are {METHOD_KEYS}",
    ),
    "number of clusters": (
        LEAST + "[method]\nname = 'svc'\nn_clusters = 3\n",
        "[method] with name = 'svc' has no key 'n_clusters' (did you mean 'max_clusters'?); its keys are "
        + ", ".join(["name", *options_of(METHODS["svc"])]),
    ),
    "parameter of another method": (
        LEAST + "[method]\nname = 'depddp'\nn_projections = 9\n",
        "[method] with name = 'depddp' has no key 'n_projections': write name = 'divisive', min_cluster_size = 1, "
        "min_relative_depth = 0.0, projection = 'pca', threshold_rule = 'minimum_density', stop_rule = 'none', "
        "n_candidates = 1 with n_projections",
    ),
    "option of a projection": (
        LEAST + "[method]\nname = 'mdh'\nalpha_max = 1.0\n",
        "[method] with name = 'mdh' has no key 'alpha_max': write name = 'divisive', projection = 'mdh' with "
        "projection_params.alpha_max",
    ),
    "option that a projection does not have": (
        LEAST + "[method]\nname = 'divisive'\nprojection = 'mdh'\nprojection_params = {start = 'pca2'}\n",
        "method.projection_params: 'mdh' has starts, alpha_max, max_components, subspace; got 'start' (did you mean "
        "'starts'?)",
    ),
    "parameter out of range": (
        LEAST + "[method]\nquantile = 2.0\n",
        "method.quantile must be a float in the range (0.0, 1.0); got 2.0, a float",
    ),
    "parameter that is not finite": (
        LEAST + "[method]\nname = 'divisive'\nalpha = inf\n",
        "method.alpha must be a float in the range (0.0, inf) or 'none'; got inf, a float",
    ),
    "word for a parameter": (
        LEAST + "[method]\nname = 'divisive'\ncriterion = 'dipp'\n",
        "method.criterion must be 'clusterability', 'dip', 'eigenvalue', 'kurtosis', 'minimum_error', "
        "'minimum_error_corrected', 'normalised_cut', 'relative_depth', 'sse' or 'variance'; got "
        "'dipp', a string (did you mean 'dip'?)",
    ),
    "boolean for a number": (
        LEAST + "[method]\nname = 'divisive'\nmax_levels = true\n",
        "method.max_levels must be an int in the range [0, inf) or 'none'; got true, a boolean",
    ),
    "two kinds of number": (
        LEAST + "[method]\nmin_cluster_size = 2.5\n",
        "method.min_cluster_size must be an int in the range [1, inf), a float in the range (0.0, 1.0) or 'none'; got "
        "2.5, a float",
    ),
    "no seed": (
        LEAST + "[method]\nrandom_state = 'none'\n",
        "method.random_state must be an integer from 0 to 4294967295; got 'none', a string",
    ),
    "switch": (LEAST + "[method]\nmerge = 'yes'\n", "method.merge must be true or false; got 'yes', a string"),
    "unknown key of a map": (
        LEAST + "[method.feature_map]\nlandmarks = 9\n",
        "[method.feature_map] has no key 'landmarks' (did you mean 'n_landmarks'?); its keys are kernel, n_landmarks, "
        "variance, n_components, landmark_method, scale, random_state",
    ),
    "value in a map": (
        LEAST + "[method.feature_map]\nn_landmarks = 1\n",
        "method.feature_map.n_landmarks must be an int in the range [2, inf); got 1, an integer",
    ),
    "kernel without a name": (
        LEAST + "[method.feature_map.kernel]\nwidth = 1\n",
        "method.feature_map.kernel.name is missing; give 'rbf', 'local_scaling', 'polynomial', 'quadratic', 'cosine', "
        "'nearest_neighbors', 'heat', 'isomap', 'connectivity', 'gower' or 'precomputed'",
    ),
    "unknown key of a kernel": (
        LEAST + "[method.feature_map.kernel]\nname = 'rbf'\nwith = 1\n",
        "[method.feature_map.kernel] with name = 'rbf' has no key 'with' (did you mean 'width'?); its keys are "
        "name, width",
    ),
    "value in a kernel": (
        LEAST + "[method.feature_map.kernel]\nname = 'rbf'\nwidth = -1\n",
        "method.feature_map.kernel: width must be a finite number greater than 0, got -1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_first_thing_that_is_wrong_is_told_word_for_word(name, tmp_path):
    text, message = ERRORS[name]
    with pytest.raises(JobError) as caught:
        job(text, tmp_path)
    where = f"{tmp_path}/job.toml: "
    assert str(caught.value) == (f"{tmp_path}/{message}" if name == "not TOML" else where + message)


def test_a_file_that_is_no_text_is_not_toml(tmp_path):
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(JobError, match=r"job\.toml is not TOML: 'utf-8' codec can't decode byte 0xff"):
        read_job(tmp_path / "job.toml")


def test_exit_codes_tell_a_wrong_job_from_a_missing_one(tmp_path):
    (tmp_path / "job.toml").write_text("[input]\n")
    wrong = CliRunner().invoke(mdh, ["run", f"{tmp_path}/job.toml"])
    assert wrong.exit_code == exits.BAD_JOB
    assert wrong.stderr.endswith("job.toml: input.path is missing; give a path or URL\n")
    missing = CliRunner().invoke(mdh, ["run", f"{tmp_path}/no.toml"])
    assert missing.exit_code == exits.NO_INPUT
    assert missing.stderr.endswith(f"there is no job file {tmp_path}/no.toml; check the path\n")
