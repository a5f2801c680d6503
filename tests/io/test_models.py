"""Saved models: the same to the last bit when they are read, and refused when they are anything else."""

import json
import os
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import zarr
from fsspec.implementations.memory import MemoryFileSystem
from helpers import at_night
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import four_groups, random_tree

import mdh_dask
from mdh_dask import KernelPCAFeatures, PCATree, RandomProjectionTree, load_model
from mdh_dask.images import Features, PixelColumns
from mdh_dask.io import codec, models, write_rows
from mdh_dask.io.models import MODEL_MARK, checksum_of, read_model, save_model
from mdh_dask.tree.routing import FIELDS

TREE = random_tree(5, 6, 3)


def save_tree(path, tree, *, parameters, **options):
    save_model(path, {"tree": tree, "parameters": parameters}, **options)


def load_tree(path):
    """Return the tree and the parameters that were saved."""
    return read_model(path, lambda value: (value["tree"], value["parameters"]))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.zarr"


@pytest.fixture
def saved(path):
    save_tree(path, TREE, parameters={"seed": 3})
    return path


def read_mark(path):
    return zarr.open_group(path, mode="r").attrs[MODEL_MARK]


def write_mark(path, mark):
    zarr.open_group(path, mode="r+").update_attributes({MODEL_MARK: mark})


def sum_up(path, mark):
    """Give a model the mark and the checksum that fits it."""
    group = zarr.open_group(path, mode="r+")
    checksum = checksum_of(mark, {name: group[name][...] for name in mark["arrays"]})
    group.attrs.put({MODEL_MARK: mark | {"checksum": checksum}})


def forge(path, tree, **arrays):
    """Save arrays that no tree has, with the checksum that fits them."""
    save_tree(path, tree, parameters={}, overwrite=True)
    group = zarr.open_group(path, mode="r+")
    for name, array in arrays.items():
        group.create_array(f"tree.{name}", data=np.asarray(array, FIELDS[name]), overwrite=True)
    sum_up(path, read_mark(path))


# --- Round trip ---


def test_a_model_is_a_zarr_group_of_format_3_with_json_attributes(saved):
    meta = json.loads((saved / "zarr.json").read_text())
    assert meta["zarr_format"] == 3
    mark = meta["attributes"][MODEL_MARK]
    assert mark.keys() == {"format", "package_version", "value", "arrays", "checksum"}
    assert (mark["format"], mark["package_version"]) == (1, mdh_dask.__version__)
    assert mark["value"]["dict"]["parameters"] == {"dict": {"seed": 3}}
    np.testing.assert_array_equal(zarr.open_array(saved / "tree.planes", mode="r")[:], TREE.planes)


# --- Parameters ---


def test_parameters_keep_their_types_and_may_be_infinite(path):
    given = {"a": np.int64(3), "b": np.float32(0.1), "c": np.bool_(True), "e": (1, [2.5, None]), "f": -np.inf}
    save_tree(path, TREE, parameters=given)
    found = load_tree(path)[1]
    assert found == given
    assert [type(value) for value in found.values()] == [type(value) for value in given.values()]
    save_tree(path, TREE, parameters={"a": float("nan")}, overwrite=True)
    assert np.isnan(load_tree(path)[1]["a"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            np.random.RandomState(0), "got a RandomState: set it to such a value .a seed for a random", id="rng"
        ),
        pytest.param(len, "got a builtin_function_or_method", id="function"),
        pytest.param({1}, "got a set", id="set"),
        pytest.param({1: 2}, "got a dict with keys that are not strings", id="keys"),
        pytest.param(1j, "got a complex", id="complex"),
        pytest.param(b"x", "got a bytes", id="bytes"),
        pytest.param(np.array([None]), "got a ndarray", id="objects"),
    ],
)
def test_parameters_that_cannot_be_stored_are_named_before_anything_is_written(path, value, message):
    with pytest.raises(TypeError, match=r"\['parameters'\]\['a'\]\[1\]\['b'\] must be None, a boolean.*" + message):
        save_tree(path, TREE, parameters={"a": [0, {"b": value}]})
    assert os.listdir(path.parent) == []


def test_numbers_of_more_than_eight_bytes_are_refused(path):
    with pytest.raises(TypeError, match="must hold numbers of at most 8 bytes to be saved"):
        save_tree(path, TREE, parameters={"a": np.zeros(2, np.clongdouble).real})
    assert not path.exists()


# --- What is there already ---


def test_models_rows_and_reports_are_not_named_like_files_of_another_format(tmp_path):
    model = PCATree().fit(np.arange(40.0).reshape(20, 2))
    writers = {
        "m.pkl": (model.save, "a model", "m.zarr"),
        "m.zarr.zip": (model.save, "a model", "m.zarr"),
        "x.csv": (partial(write_rows, model.labels_), "a Zarr array", "x.zarr"),
        "x.csv.gz": (partial(write_rows, model.labels_), "a Zarr array", "x.csv.zarr"),
        "r.pdf": (lambda path: model.report(path, np.zeros((5, 2))), "an HTML page", "r.html"),
        "r.zarr": (lambda path: model.report(path, np.zeros((5, 2))), "an HTML page", "r.html"),
    }
    for name, (write, what, better) in writers.items():
        with pytest.raises(
            ValueError, match=rf"^expected the path of {what}; got .*{name}, .* another format: name it {better}$"
        ):
            write(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_an_existing_model_is_refused_or_replaced_whole(saved):
    other = random_tree(9, 3, 3)
    with pytest.raises(FileExistsError, match=r"model.zarr exists: name another output"):
        save_tree(saved, other, parameters={})
    assert load_tree(saved)[0] == TREE
    (saved / "stray").write_text("x")
    save_tree(saved, other, parameters={"new": 1}, overwrite=True)
    loaded, parameters = load_tree(saved)
    assert loaded == other
    assert parameters == {"new": 1}
    assert not (saved / "stray").exists()
    assert os.listdir(saved.parent) == ["model.zarr"]


def make_broken(path):
    path.mkdir()
    (path / "zarr.json").write_text("{")


OTHERS = [
    pytest.param(Path.mkdir, "no Zarr group", id="folder"),
    pytest.param(lambda path: path.write_text("mine"), "no Zarr group", id="file"),
    pytest.param(lambda path: write_rows(np.ones((3, 2)), path), "a Zarr array", id="array"),
    pytest.param(zarr.create_group, "another Zarr group", id="group"),
    pytest.param(make_broken, "something that Zarr cannot read", id="broken metadata"),
]


@pytest.mark.parametrize(("make", "what"), OTHERS)
def test_only_models_are_overwritten(path, make, what):
    make(path)
    before = sorted(path.rglob("*"))
    with pytest.raises(FileExistsError, match=r"replace it with overwrite=True"):
        save_tree(path, TREE, parameters={})
    with pytest.raises(FileExistsError, match=r"model.zarr is not a model, and nothing else is replaced"):
        save_tree(path, TREE, parameters={}, overwrite=True)
    assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize(("make", "what"), OTHERS)
def test_only_models_are_loaded(path, make, what):
    make(path)
    with pytest.raises(ValueError, match=f"expected a saved model, got {what}.*give the path"):
        load_tree(path)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_nothing_and_keeps_the_older_model(saved, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(models, "checksum_of", fail)
    with pytest.raises(type(error)):
        save_tree(saved, random_tree(1, 2, 3), parameters={}, overwrite=True)
    with pytest.raises(type(error)):
        save_tree(saved.with_name("new"), TREE, parameters={})
    monkeypatch.undo()
    assert os.listdir(saved.parent) == ["model.zarr"]
    assert load_tree(saved)[0] == TREE


# --- Versions and damage ---


@pytest.mark.parametrize("number", [0, 2, 17])
def test_another_format_is_refused_with_both_versions(saved, number):
    write_mark(saved, read_mark(saved) | {"format": number, "package_version": "9.8"})
    expected = (
        f"has format {number}, which mdh_dask 9.8 wrote; this is mdh_dask {mdh_dask.__version__}, which reads format 1"
    )
    with pytest.raises(ValueError, match=expected):
        load_tree(saved)


@pytest.mark.slow
@pytest.mark.parametrize("name", at_night(FIELDS, 5))
def test_an_array_that_is_missing_changed_or_of_another_dtype_or_shape_is_damage(path, name):
    def refused(message):
        with pytest.raises(ValueError, match=f"damaged model: {message}"):
            load_tree(path)

    save_tree(path, TREE, parameters={})
    array = zarr.open_array(path / f"tree.{name}", mode="r+")
    array[...] = np.nan_to_num(array[...]) + 1
    refused("its contents do not have the checksum")
    shutil.rmtree(path / f"tree.{name}")
    refused(f"the array tree.{name} is missing; restore it from a copy, or fit")
    zarr.open_group(path, mode="r+").create_array(f"tree.{name}", data=np.zeros(3, np.float32))
    sum_up(path, read_mark(path))
    refused(f"expected {FIELDS[name]} for the array {name}, got float32")
    forge(path, TREE, **{name: getattr(TREE, name).ravel()[:-1]})
    refused("(expected shape|first_bin must ascend)")
    forge(path, TREE, **{name: getattr(TREE, name)[None]})
    refused("expected shape")


CHILDREN = {
    "a cycle": ([1, 0, -1, -1, -1, -1, -1], [2, 0, -1, -1, -1, -1, -1]),
    "its own child": ([0, -1, -1, -1, -1, -1, -1], [0, -1, -1, -1, -1, -1, -1]),
    "out of bounds": ([1, -1, -1, -1, -1, -1, -1], [99, -1, -1, -1, -1, -1, -1]),
    "negative": ([1, -2, -1, -1, -1, -1, -1], [2, -2, -1, -1, -1, -1, -1]),
    "one child": ([1, -1, -1, -1, -1, -1, -1], [-1, -1, -1, -1, -1, -1, -1]),
    "a shared child": ([1, 2, -1, -1, 5, -1, -1], [2, 3, -1, -1, 6, -1, -1]),
    "unreachable": ([1, -1, -1, -1, -1, -1, -1], [2, -1, -1, -1, -1, -1, -1]),
    "crossing": ([1, 2, -1, -1, -1, -1, -1], [3, 4, -1, -1, -1, -1, -1]),
    "right before left": ([2, -1, -1, -1, -1, -1, -1], [1, -1, -1, -1, -1, -1, -1]),
    "last has children": ([1, -1, 3, -1, 5, -1, 7], [2, -1, 4, -1, 6, -1, 8]),
}


@pytest.mark.slow
@pytest.mark.parametrize("children", CHILDREN.values(), ids=CHILDREN)
def test_children_that_make_no_tree_are_refused_despite_a_right_checksum(path, children):
    forge(path, random_tree(0, 4, 2), left=children[0], right=children[1])
    with pytest.raises(ValueError, match=r"damaged model: (node . has the children .* out of order|expected one tree)"):
        load_tree(path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "inflate"), [("planes", "shape"), ("bins", "chunk_shape"), ("left", "shape")])
def test_arrays_that_claim_more_than_the_memory_are_refused_before_they_are_read(saved, name, inflate):
    file = saved / f"tree.{name}" / "zarr.json"
    metadata = json.loads(file.read_text())
    (metadata if inflate == "shape" else metadata["chunk_grid"]["configuration"])[inflate][0] = 10**15
    file.write_text(json.dumps(metadata))
    with pytest.raises(ValueError, match=rf"damaged model: the array tree.{name} takes [0-9,]+ bytes, and there are"):
        load_tree(saved)


def test_shards_that_claim_more_than_the_memory_are_refused_too(saved):
    sizes = {"shape": TREE.width.shape, "shards": (2**50,), "chunks": (2**20,)}
    zarr.open_group(saved, mode="r+").create_array("tree.width", **sizes, dtype="f8", overwrite=True)
    with pytest.raises(ValueError, match=r"damaged model: the array tree.width takes [0-9,]+ bytes, and there are"):
        load_tree(saved)


# --- URLs ---


@pytest.fixture
def url():
    yield "memory://models/m.zarr"
    MemoryFileSystem.store.clear()


def test_models_behind_urls_are_saved_loaded_and_replaced(url):
    with pytest.raises(FileNotFoundError, match="is not there"):
        load_tree(url)
    save_tree(url, TREE, parameters={"a": 1})
    assert load_tree(url)[0] == TREE
    with pytest.raises(FileExistsError, match="replace it with overwrite=True"):
        save_tree(url, TREE, parameters={})
    other = random_tree(9, 3, 2)
    save_tree(url, other, parameters={}, overwrite=True)
    assert load_tree(url)[0] == other


def test_an_interrupted_write_to_a_url_is_refused_until_it_is_repeated(url, monkeypatch):
    monkeypatch.setattr(models, "checksum_of", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_tree(url, TREE, parameters={})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="left incomplete by an interrupted write"):
        load_tree(url)
    save_tree(url, TREE, parameters={}, overwrite=True)
    assert load_tree(url)[0] == TREE


# --- Models of estimators, which an enemy has changed and summed up again ---

ROWS = four_groups(300)
KERNELS_THAT_FIT = ("rbf", "local_scaling", "nearest_neighbors", "heat", "polynomial", "precomputed")


def fitted(kernel):
    rows = ROWS @ ROWS.T if kernel == "precomputed" else ROWS
    if kernel is None:
        return RandomProjectionTree(n_projections=10, random_state=0).fit(rows), rows
    return PCATree(feature_map=KernelPCAFeatures(kernel=kernel, n_landmarks=40, random_state=0)).fit(rows), rows


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Models without and with maps, and rows for them."""
    folder = tmp_path_factory.mktemp("originals")
    made = {}
    for kernel in (None, *KERNELS_THAT_FIT):
        model, rows = fitted(kernel)
        model.save(folder / str(kernel))
        made[kernel] = folder / str(kernel), rows
    return made


def changed_model(original, path, change):
    """Copy a model, let its saved value and its arrays be changed, and give it the checksum that fits."""
    shutil.copytree(original, path, dirs_exist_ok=True)
    group, mark = zarr.open_group(path, mode="r+"), read_mark(path)
    arrays = {name: group[name][...] for name in mark["arrays"]}
    before = dict(arrays)
    change(mark["value"]["dict"], arrays)
    for name, array in arrays.items():
        if array is not before.get(name):
            group.create_array(name, data=array, overwrite=True)
    sum_up(path, mark | {"arrays": list(arrays)})


def saved_of(value):
    """Return the form of a value that has no arrays."""
    return codec.taken_apart(value)[0]


def pixels(**changes):
    return saved_of(replace(PixelColumns(3, Features()), **changes))


def of_map(**parameters):
    return saved_of({"estimator": "KernelPCAFeatures", "parameters": parameters})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("n_passes"), "expected a int for n_passes, got a NoneType"),
        (lambda p: p["state"]["TreeState"].pop("tree"), "expected tree, feature_map of a TreeState; got feature_map"),
        (lambda p: p["state"]["TreeState"].update(tree=pixels()), "expected .*Tree.* for tree of a TreeState, got Pix"),
        (lambda p: p.update(estimator=["PCATree"]), "expected a dict of one kind, got "),
        (lambda p: p.update(estimator={"array": "/etc/passwd"}), "'/etc/passwd'"),
        (lambda p: p.update(n_features=0), "expected n_features of at least 1, got 0"),
        (lambda p: p.update(n_features=4), "expected arrays of a model of 4 columns, got those of 3"),
        (lambda p: p.update(feature_names=saved_of(["a", "b"])), "expected 3 texts for feature_names, got 2 values"),
        (lambda p: p["parameters"]["dict"].update(feature_map=of_map(colour=1)), ".*; got colour"),
        (lambda p: p["parameters"]["dict"].update(colour=1), "expected parameters among .*; got colour"),
        (lambda p: p["parameters"]["dict"].update(n_projections="many"), "The 'n_projections' parameter of"),
        (lambda p: p.update(pixel_columns={"PixelColumns": {"n_bands": 3}}), "expected n_bands, .*; got n_bands"),
        (lambda p: p.update(pixel_columns=pixels(bands=())), "expected bands and finite factors of pixel columns"),
    ],
)  # fmt: skip
def test_parameters_that_no_model_has_are_refused_by_name(originals, path, change, message):
    changed_model(originals[None][0], path, lambda value, arrays: change(value))
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))} is a damaged model: {message}"):
        load_model(path)


@pytest.mark.slow
def test_a_class_that_is_not_known_is_named_and_nothing_is_imported_for_it(originals, path):
    changed_model(originals[None][0], path, lambda value, arrays: value.update(state={"os.system": {"command": "x"}}))
    with pytest.raises(ImportError, match=r"got os\.system: import the package that defines it first"):
        load_model(path)


@pytest.mark.parametrize("name", ["../outside", "/outside", "", 3, "tree/left"])
def test_names_of_arrays_lead_nowhere_else(saved, name):
    write_mark(saved, read_mark(saved) | {"arrays": [name]})
    with pytest.raises(ValueError, match="damaged model: expected names of arrays"):
        load_tree(saved)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats(-9, 1e300) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "kernel"]), inner, max_size=2),
    max_leaves=4,
)


def places_in(value, place=()):
    """Return all places in nested dicts and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in items for found in places_in(item, (*place, key)))]


@pytest.mark.slow
@settings(max_examples=10)
@given(data=st.data(), kernel=st.sampled_from([None, "rbf", "nearest_neighbors"]))
def test_whatever_the_parameters_say_a_model_is_refused_or_labels_rows(originals, tmp_path_factory, data, kernel):
    original, rows = originals[kernel]

    def change(value, arrays):
        *place, key = data.draw(st.sampled_from(places_in(value)[1:]))
        within = value
        for step in place:
            within = within[step]
        if data.draw(st.booleans()):
            within[key] = data.draw(json_values)
        else:
            del within[key]

    path = tmp_path_factory.mktemp("changed")
    changed_model(original, path, change)
    try:
        model = load_model(path)
    except (ValueError, ImportError):
        return
    labels = model.predict(rows)
    assert labels.shape == (len(rows),)
    assert set(labels) <= set(range(model.n_clusters_))
