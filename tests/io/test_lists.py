"""Embeddings as they are stored: lists of one length in a column, float16, files mapped into memory, unit length."""

import json

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from helpers import job_text

from mdh_dask import HierarchicalMDH, RandomProjectionTree, jobs, load_model
from mdh_dask.io import open_features
from mdh_dask.io.inputs import open_typed
from mdh_dask.workflows import fit, predict
from mdh_dask.workflows.row_files import open_labels

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's read_parquet, from pandas

N, D = 600, 12

QUICK = {"n_projections": 20}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return (4 * rng.normal(size=(4, D))[rng.integers(4, size=N)] + rng.normal(size=(N, D))).astype(np.float32)


@pytest.fixture(scope="module")
def model(rows):
    return RandomProjectionTree(**QUICK).fit(rows)


def fixed(rows):
    return pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])})


def varying(rows):
    return pa.table({"e": pa.array([*rows])})


def write(table, folder):
    pq.write_table(table, folder / "e.parquet", row_group_size=100)
    return folder / "e.parquet"


FRAMES = {
    "Arrow, fixed size": fixed,
    "Arrow": varying,
    "pandas": lambda rows: pd.DataFrame({"e": [*rows]}),
    "pandas of Arrow": lambda rows: varying(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars, lists": lambda rows: pl.DataFrame({"e": [*rows]}),
    "polars, arrays": lambda rows: pl.DataFrame({"e": rows}),
    "polars, lazy": lambda rows: pl.LazyFrame({"e": rows}),
    "a series of pandas": lambda rows: pd.Series([*rows], name="e"),
    "a series of pandas, of Arrow": lambda rows: varying(rows).to_pandas(types_mapper=pd.ArrowDtype)["e"],
    "a series of polars": lambda rows: pl.Series("e", rows),
}  # fmt: skip

FILES = {
    "numbers": lambda path: open_features(path, block_bytes=5000).rows,
    "typed": lambda path: open_typed(path, block_bytes=5000).source,
    "Dask": dd.read_parquet,
}


def assert_same(form, rows, model):
    found = RandomProjectionTree(**QUICK).fit(form)
    assert found.tree_ == model.tree_
    np.testing.assert_array_equal(np.asarray(found.labels_), model.labels_)
    np.testing.assert_array_equal(np.asarray(found.predict(form)), model.labels_)
    return found


@pytest.mark.parametrize("form", FRAMES)
def test_lists_in_frames_are_columns_named_by_their_places(form, rows, model):
    found = assert_same(FRAMES[form](rows), rows, model)
    assert found.feature_names_in_.tolist() == [f"e_{i}" for i in range(D)]


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("lists", [fixed, varying], ids=["fixed", "varying"])
def test_lists_in_parquet_are_columns(form, lists, rows, model, tmp_path):
    assert_same(FILES[form](write(lists(rows), tmp_path)), rows, model)


def test_lists_beside_other_columns_are_chosen_by_their_name_or_that_of_a_value(rows, tmp_path):
    path = write(fixed(rows).append_column("age", pa.array(np.arange(N))), tmp_path)
    table = open_features(path)
    assert table.names == (*(f"e_{i}" for i in range(D)), "age")
    np.testing.assert_array_equal(table.rows, np.column_stack([rows, np.arange(N)]))
    np.testing.assert_array_equal(open_features(path, ["age", "e"]).rows[:, 1:], rows)
    np.testing.assert_array_equal(open_features(path, ["e_3", "age", "e_1"]).rows[:, ::2], rows[:, [3, 1]])


def test_missing_values_and_missing_lists_of_fixed_size_are_nan(rows, tmp_path):
    cells = rows.tolist()
    cells[3], cells[5][2] = None, None
    table = pa.table({"e": pa.array(cells, pa.list_(pa.float32(), D))})
    expected = rows.copy()
    expected[3], expected[5, 2] = np.nan, np.nan
    np.testing.assert_array_equal(open_features(write(table, tmp_path)).rows, expected)
    tree = RandomProjectionTree(missing="drop").fit(table)
    assert tree.missing_values_.n_incomplete == 2


def test_lists_of_several_lengths_are_errors_that_name_their_column(tmp_path):
    ragged = pa.table({"e": pa.array([[1.0, 2.0], [1.0, 2.0, 3.0], [1.0]] * 30)})  # with whole lengths on average
    with pytest.raises(ValueError, match=r"lists of 2 numbers in column 'e'.*got 3 in row 1"):
        RandomProjectionTree(**QUICK).fit(ragged)
    path = write(ragged, tmp_path)
    for source in (open_features(path).rows, open_typed(path).source, dd.read_parquet(path)):
        with pytest.raises(ValueError, match="lists of 2 numbers in column 'e'"):
            RandomProjectionTree(**QUICK).fit(source)
    path = write(pa.table({"e": pa.array([[1.0], [1.0, 2.0]] * 30)}), tmp_path)
    for opening in (open_features, open_typed):
        with pytest.raises(ValueError, match=r"e \(list<element: double> of several lengths"):
            opening(path)
    texts = pa.table({"e": pa.array([["a", "b"]] * 9)})
    with pytest.raises(ValueError, match="expected numbers in the lists of column 'e'"):
        RandomProjectionTree(**QUICK).fit(texts)


def test_commands_fit_to_lists_and_predict_by_them(rows, model, tmp_path):
    path = str(write(varying(rows), tmp_path))
    fit(path, RandomProjectionTree(**QUICK), labels=str(tmp_path / "l.zarr"), model=str(tmp_path / "m.zarr"))
    predict(path, str(tmp_path / "m.zarr"), str(tmp_path / "p.zarr"))
    for name in "lp":
        np.testing.assert_array_equal(zarr.open(tmp_path / f"{name}.zarr")[:], model.labels_)


def test_half_precision_and_mapped_files_are_their_rows(rows, tmp_path):
    half = rows.astype(np.float16)
    np.save(tmp_path / "x.npy", half)
    expected = RandomProjectionTree(**QUICK).fit(half.astype(np.float32))
    lists = pa.table({"e": pa.array([*half], pa.list_(pa.float16()))})
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for form in (half, mapped, da.from_array(half, chunks=(99, -1)), open_features(tmp_path / "x.npy").rows, lists):
        assert_same(form, half, expected)


@pytest.mark.parametrize("of_dask", [False, True])
def test_lengths_of_rows_change_no_label_of_rows_of_unit_length(rows, of_dask, tmp_path):
    lengths = np.exp2(np.random.default_rng(1).integers(-20, 20, size=(N, 1)))
    forms = [da.from_array(own, chunks=(99, -1)) if of_dask else own for own in (rows, rows * lengths)]
    first, second = (HierarchicalMDH(feature_map="unit_length", starts="pca2").fit(form) for form in forms)
    np.testing.assert_array_equal(np.asarray(first.labels_), np.asarray(second.labels_))
    assert first.n_clusters_ > 1
    second.save(tmp_path / "m.zarr")
    np.testing.assert_array_equal(load_model(tmp_path / "m.zarr").predict(3 * rows), np.asarray(first.labels_))


@pytest.fixture
def named(rows, tmp_path):
    """Return the path of rows with names, in several row groups."""
    return str(write(fixed(rows).append_column("name", pa.array([f"n{i % 7}-{i}" for i in range(N)])), tmp_path))


@pytest.mark.parametrize("column", [None, "name"])
def test_labels_are_written_as_parquet_beside_the_names_of_rows(column, named, model, tmp_path):
    out = [str(tmp_path / f"{kind}.parquet") for kind in ("fit", "predict")]
    options = {"columns": ["e"], "id_column": column}
    fit(named, RandomProjectionTree(**QUICK), labels=out[0], model=str(tmp_path / "m.zarr"), **options)
    predict(named, str(tmp_path / "m.zarr"), out[1], confidence=str(tmp_path / "c.zarr"), id_column=column)
    for path in out:
        table = pq.read_table(path)
        assert table.column_names == [column or "row", "label"]
        ids = np.arange(N).tolist() if column is None else pq.read_table(named)["name"].to_pylist()
        assert table.column(0).to_pylist() == ids
        np.testing.assert_array_equal(table["label"], model.labels_)
    assert zarr.open(tmp_path / "c.zarr").shape == (N,)
    assert not [*tmp_path.glob(".*")]
    with pytest.raises(FileExistsError):
        predict(named, str(tmp_path / "m.zarr"), out[1])
    predict(named, str(tmp_path / "m.zarr"), out[1], overwrite=True)


def test_texts_beside_lists_name_the_clusters_of_commands_and_jobs(named, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(path=named))
    options = {"columns": ["e"], "text_column": "name", "id_column": "name"}
    fit(named, RandomProjectionTree(**QUICK), labels="l.parquet", model="m.zarr", report="r.html", **options)
    jobs.run("job.toml")
    first, second = (load_model(path) for path in ("m.zarr", "j.zarr"))
    texts = np.array(pq.read_table(named)["name"].to_pylist())
    names = model.name_clusters(rows_of(named), texts)
    assert first._words == second._words == tuple(map(str, names))
    for text in (first.why(), (tmp_path / "r.html").read_text(), (tmp_path / "j.html").read_text()):
        assert all(", ".join(name.words) in text for name in names)
    assert pq.read_table("l.parquet").equals(pq.read_table("j.parquet"))


def test_passes_of_reports_and_metrics_count_that_for_names(named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"columns": ["e"], "text_column": "name"}
    fit(named, RandomProjectionTree(n_projections=10), labels="l.parquet", report="r.html", **options)
    assert "3, the last 2 for labels and profiles" in (tmp_path / "r.html").read_text()
    (tmp_path / "job.toml").write_text(JOB.format(path=named).replace('report = "j.html"', 'metrics = "j.json"'))
    jobs.run("job.toml")
    assert json.loads((tmp_path / "j.json").read_text())["passes"] == 3


def rows_of(path):
    return open_features(path, ["e"]).rows


JOB = job_text(
    input={"path": "{path}", "columns": ["e"], "id_column": "name", "text_column": "name"},
    method={"name": "rp"} | QUICK,
    cluster={"kind": "synchronous"},
    output={"labels": "j.parquet", "model": "j.zarr", "report": "j.html"},
)


@pytest.mark.parametrize("texts", [False, True])
def test_known_labels_are_read_from_parquet_as_from_csv(texts, tmp_path):
    labels = ['a "b", c', "d"] if texts else [3, 1]
    pq.write_table(pa.table({"row": [2, 0], "label": labels}), tmp_path / "l.parquet")
    found = open_labels(str(tmp_path / "l.parquet"), 4).tolist()
    assert found == (["d", "", 'a "b", c', ""] if texts else [1, -1, 3, -1])
    pq.write_table(pa.table({"row": [2], "kind": [1]}), tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="expected the header row,label"):
        open_labels(str(tmp_path / "l.parquet"), 4)
