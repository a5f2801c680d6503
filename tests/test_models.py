"""Saved models: the same to the last bit when they are read, and refused when they are anything else."""

import json
import os
import shutil
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest
import zarr
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import four_groups, grown_tree, random_tree, trees

import mdh_dask
from mdh_dask.io import models, write_rows
from mdh_dask.io.models import ADDED, FIELDS, MODEL_MARK, load_tree, save_tree
from mdh_dask.tree.structure import Tree

TREE = random_tree(5, 6, 3)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé\n"\\\0😀'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", max_size=3), inner, max_size=3),
    max_leaves=8,
)


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


def forge(path, tree, **arrays):
    """Save arrays that no tree has, with the checksum that fits them."""
    save_tree(path, tree, parameters={}, overwrite=True)
    group = zarr.open_group(path, mode="r+")
    for name, array in arrays.items():
        group.create_array(name, data=np.asarray(array, FIELDS[name]), overwrite=True)
    mark = read_mark(path)
    write_mark(path, mark | {"checksum": models._checksum(mark, {name: group[name][...] for name in FIELDS})})


# --- Round trip ---


@settings(max_examples=15)
@given(tree=trees, parameters=st.dictionaries(st.text("abc", max_size=3), plain, max_size=4))
def test_what_is_saved_is_loaded_to_the_last_bit(tmp_path_factory, tree, parameters):
    path = tmp_path_factory.mktemp("models") / "m"
    save_tree(path, tree, parameters=parameters)
    loaded, found, beside = load_tree(path)
    assert loaded == tree
    assert beside == {}
    assert found == parameters
    for name, dtype in FIELDS.items():
        assert getattr(loaded, name).dtype == np.dtype(dtype)
        assert getattr(loaded, name).tobytes() == getattr(tree, name).tobytes()


def test_every_field_of_the_tree_is_saved():
    assert set(FIELDS) == {field.name for field in fields(Tree) if field.compare}
    for name, dtype in FIELDS.items():
        assert getattr(TREE, name).dtype == dtype


def test_a_loaded_tree_labels_rows_as_the_saved_one(path):
    rows = four_groups()
    tree = grown_tree(rows)
    save_tree(path, tree, parameters={})
    loaded, *_ = load_tree(str(path))
    np.testing.assert_array_equal(loaded.labels(rows), tree.labels(rows))
    np.testing.assert_array_equal(loaded.density(0).density, tree.density(0).density)
    assert loaded.prune(2) == tree.prune(2)


def test_a_model_is_a_zarr_group_of_format_3_with_json_attributes(saved):
    meta = json.loads((saved / "zarr.json").read_text())
    assert meta["zarr_format"] == 3
    mark = meta["attributes"][MODEL_MARK]
    assert mark.keys() == {"format", "package_version", "parameters", "checksum"}
    assert (mark["format"], mark["package_version"]) == (1, mdh_dask.__version__)
    assert mark["parameters"] == {"seed": 3}
    np.testing.assert_array_equal(zarr.open_array(saved / "planes", mode="r")[:], TREE.planes)


def test_a_model_can_be_moved(saved, tmp_path):
    shutil.move(saved, tmp_path / "elsewhere")
    assert load_tree(tmp_path / "elsewhere")[0] == TREE


# --- Parameters ---


def test_numpy_scalars_and_tuples_become_plain(path):
    given = {"a": np.int64(3), "b": np.float32(0.1), "c": np.bool_(True), "d": np.str_("x"), "e": (1, (2.5, None))}
    save_tree(path, TREE, parameters=given)
    found = load_tree(path)[1]
    assert found == {"a": 3, "b": float(np.float32(0.1)), "c": True, "d": "x", "e": [1, [2.5, None]]}
    assert [type(found[key]) for key in "abcd"] == [int, float, bool, str]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            np.random.RandomState(0), "got a RandomState: set it to such a value .a seed for a random", id="rng"
        ),
        pytest.param(np.arange(3), "got a ndarray", id="array"),
        pytest.param(len, "got a builtin_function_or_method", id="function"),
        pytest.param({1}, "got a set", id="set"),
        pytest.param({1: 2}, "got a dict with keys that are not strings", id="keys"),
        pytest.param(1j, "got a complex", id="complex"),
        pytest.param(np.longdouble(1), "got a longdouble", id="longdouble"),
        pytest.param(b"x", "got a bytes", id="bytes"),
    ],
)
def test_parameters_that_json_cannot_hold_are_named_before_anything_is_written(path, value, message):
    with pytest.raises(TypeError, match=r"parameters\['a'\]\[1\]\['b'\] must be None, a boolean.*" + message):
        save_tree(path, TREE, parameters={"a": [0, {"b": value}]})
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, np.float32("-inf")])
def test_parameters_that_are_not_finite_are_refused(path, value):
    with pytest.raises(ValueError, match=r"parameters\['a'\] must be finite to be saved.*use None"):
        save_tree(path, TREE, parameters={"a": value})


# --- What is there already ---


def test_an_existing_model_is_refused_or_replaced_whole(saved):
    other = random_tree(9, 3, 3)
    with pytest.raises(FileExistsError, match=r"model.zarr exists; pass overwrite=True"):
        save_tree(saved, other, parameters={})
    assert load_tree(saved)[0] == TREE
    (saved / "stray").write_text("x")
    save_tree(saved, other, parameters={"new": 1}, overwrite=True)
    loaded, parameters, _ = load_tree(saved)
    assert loaded == other
    assert parameters == {"new": 1}
    assert not (saved / "stray").exists()
    assert os.listdir(saved.parent) == ["model.zarr"]


def make_folder(path):
    path.mkdir()


def make_file(path):
    path.write_text("mine")


def make_array(path):
    write_rows(np.ones((3, 2)), path)


def make_group(path):
    zarr.create_group(path)


def make_broken(path):
    path.mkdir()
    (path / "zarr.json").write_text("{")


OTHERS = [
    pytest.param(make_folder, "no Zarr group", id="folder"),
    pytest.param(make_file, "no Zarr group", id="file"),
    pytest.param(make_array, "a Zarr array", id="array"),
    pytest.param(make_group, "another Zarr group", id="group"),
    pytest.param(make_broken, "something that Zarr cannot read", id="broken metadata"),
]


@pytest.mark.parametrize(("make", "what"), OTHERS)
def test_only_models_are_overwritten(path, make, what):
    make(path)
    before = sorted(path.rglob("*"))
    with pytest.raises(FileExistsError, match=r"pass overwrite=True"):
        save_tree(path, TREE, parameters={})
    with pytest.raises(FileExistsError, match=f"model.zarr is {what}.*only models are overwritten"):
        save_tree(path, TREE, parameters={}, overwrite=True)
    assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize(("make", "what"), OTHERS)
def test_only_models_are_loaded(path, make, what):
    make(path)
    with pytest.raises(ValueError, match=f"expected a saved model, got {what}.*give the path"):
        load_tree(path)


def test_a_missing_path_is_named(path):
    with pytest.raises(FileNotFoundError, match=r"model.zarr is not there; give the path"):
        load_tree(path)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_nothing_and_keeps_the_older_model(saved, monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr(models, "_checksum", fail)
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
        f"model format {number}, written by mdh_dask 9.8; this is mdh_dask {mdh_dask.__version__}, which reads format 1"
    )
    with pytest.raises(ValueError, match=expected):
        load_tree(saved)


@pytest.mark.parametrize("mark", [{}, 3, {"format": "1"}, None])
def test_a_mark_without_a_format_is_damaged(saved, mark):
    write_mark(saved, mark)
    with pytest.raises(ValueError, match="is a damaged model: its attribute mdh_dask_model gives no format"):
        load_tree(saved)


def test_a_mark_without_a_checksum_is_incomplete(saved):
    write_mark(saved, {"format": 1, "parameters": {}})
    with pytest.raises(ValueError, match="left incomplete by an interrupted write; save it again with overwrite=True"):
        load_tree(saved)


def test_changed_parameters_are_damage(saved):
    write_mark(saved, read_mark(saved) | {"parameters": {"seed": 4}})
    with pytest.raises(ValueError, match="damaged model: its contents do not have the checksum"):
        load_tree(saved)


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ADDED])
def test_a_missing_array_is_named(saved, name):
    shutil.rmtree(saved / name)
    with pytest.raises(ValueError, match=f"damaged model: the array {name} is missing; restore it from a copy, or fit"):
        load_tree(saved)


def test_a_model_without_what_was_added_later_is_read_and_printed(saved):
    group = zarr.open_group(saved, mode="r+")
    for name in ADDED:
        del group[name]
    with pytest.raises(ValueError, match="do not have the checksum"):
        load_tree(saved)
    arrays = {name: group[name][...] for name in FIELDS if name in group}
    write_mark(saved, read_mark(saved) | {"checksum": models._checksum(read_mark(saved), arrays)})
    tree, *_ = load_tree(saved)
    assert tree != TREE
    assert all(np.isnan(getattr(tree, name)).all() for name in ADDED)
    unknown = {name: np.full_like(getattr(TREE, name), np.nan) for name in ADDED}
    assert tree.to_text() == replace(TREE, **unknown).to_text()


@pytest.mark.parametrize("name", FIELDS)
def test_a_changed_value_is_noticed_in_every_array(saved, name):
    array = zarr.open_array(saved / name, mode="r+")
    array[...] = np.nan_to_num(array[...]) + 1
    with pytest.raises(ValueError, match="damaged model: its contents do not have the checksum"):
        load_tree(saved)


@pytest.mark.parametrize("name", FIELDS)
def test_an_array_of_another_dtype_is_named(saved, name):
    zarr.open_group(saved, mode="r+").create_array(name, data=np.zeros(3, np.float32), overwrite=True)
    with pytest.raises(ValueError, match=f"damaged model: expected {FIELDS[name]} for the array {name}, got float32"):
        load_tree(saved)


@pytest.mark.parametrize("harm", ["truncate", "garbage", "remove", "metadata", "group instead"])
def test_harm_to_the_files_of_an_array_is_damage(saved, harm):
    chunk = saved / "planes" / "c" / "0" / "0"
    if harm == "truncate":
        chunk.write_bytes(chunk.read_bytes()[:-4])
    elif harm == "garbage":
        chunk.write_bytes(b"garbage")
    elif harm == "remove":
        chunk.unlink()
    elif harm == "metadata":
        (saved / "planes" / "zarr.json").write_text("{")
    else:
        zarr.open_group(saved, mode="r+").create_group("planes", overwrite=True)
    with pytest.raises(ValueError, match=r"model.zarr is a damaged model: .*; restore it from a copy, or fit and save"):
        load_tree(saved)


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


@pytest.mark.parametrize("children", CHILDREN.values(), ids=CHILDREN)
def test_children_that_make_no_tree_are_refused_despite_a_right_checksum(path, children):
    forge(path, random_tree(0, 4, 2), left=children[0], right=children[1])
    with pytest.raises(ValueError, match=r"damaged model: (node . has the children .* out of order|expected one tree)"):
        load_tree(path)


@settings(max_examples=300)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.integers(-2, n + 1), min_size=2 * n, max_size=2 * n)))
def test_children_that_pass_the_check_route_every_row_to_a_leaf(children):
    n = len(children) // 2
    left, right = np.array(children[:n], np.int32), np.array(children[n:], np.int32)
    try:
        models._check_children(left, right)
    except ValueError:
        return
    assert sorted([0, *left[left >= 0], *right[right >= 0]]) == list(range(n))
    assert (left[left >= 0] > np.flatnonzero(left >= 0)).all()


@given(trees)
def test_the_check_of_children_passes_every_tree(tree):
    models._check_children(tree.left, tree.right)


@pytest.mark.parametrize("name", FIELDS)
def test_an_array_of_another_shape_is_refused_despite_a_right_checksum(path, name):
    tree = random_tree(5, 6, 3)
    array = getattr(tree, name)
    forge(path, tree, **{name: array.ravel()[:-1]})
    with pytest.raises(ValueError, match=r"damaged model: (expected shape|first_bin must ascend)"):
        load_tree(path)
    forge(path, tree, **{name: array[None]})
    with pytest.raises(ValueError, match=r"damaged model: expected shape"):
        load_tree(path)


@pytest.mark.parametrize(
    "change", [lambda f: f + 1, lambda f: f[::-1], lambda f: f * 2, lambda f: np.r_[0, 9**9, f[2:]]]
)
def test_bounds_of_histograms_outside_the_bins_are_refused(path, change):
    tree = replace(TREE, bins=np.arange(12), first_bin=np.r_[np.arange(0, 11), 12])
    forge(path, tree, first_bin=change(tree.first_bin))
    with pytest.raises(ValueError, match="first_bin must ascend from 0 to the number of bins, 12"):
        load_tree(path)


def test_a_tree_without_nodes_is_refused(path):
    nothing = (
        {name: np.zeros(0) for name in FIELDS}
        | {name: np.zeros((0, 0)) for name in ("planes", "deviations")}
        | {"first_bin": [0]}
    )
    forge(path, TREE, **nothing)
    with pytest.raises(ValueError, match="expected one tree of 0 nodes, at least 1"):
        load_tree(path)


def test_the_checksum_is_the_same_in_every_version():
    mark = {"format": 1, "package_version": "0.1.0", "parameters": {"b": [1, 0.1], "a": None}}
    arrays = {"left": np.array([-1], np.int32), "offsets": np.array([0.5])}
    text = b'{"format": 1, "package_version": "0.1.0", "parameters": {"a": null, "b": [1, 0.1]}}left (1,)'
    text += b"\xff\xff\xff\xffoffsets (1,)" + b"\0\0\0\0\0\0\xe0\x3f"
    assert models._checksum(mark | {"checksum": 9}, arrays) == zlib.crc32(text)


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
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        save_tree(url, TREE, parameters={})
    other = random_tree(9, 3, 2)
    save_tree(url, other, parameters={}, overwrite=True)
    assert load_tree(url)[0] == other


def test_an_interrupted_write_to_a_url_is_refused_until_it_is_repeated(url, monkeypatch):
    monkeypatch.setattr(models, "_checksum", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_tree(url, TREE, parameters={})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="left incomplete by an interrupted write"):
        load_tree(url)
    save_tree(url, TREE, parameters={}, overwrite=True)
    assert load_tree(url)[0] == TREE
