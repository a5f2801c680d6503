"""Tables of numbers and texts from files: Parquet and CSV, in Python, on the command line and in job files."""

import gzip
import re

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import zarr
from helpers import job_text
from helpers import run as command

from mdh_dask import RandomProjectionTree, cluster_profiles, load_model
from mdh_dask._errors import SettingError
from mdh_dask.io import open_features
from mdh_dask.io.csv import open_csv
from mdh_dask.io.inputs import open_typed
from mdh_dask.jobs import run
from mdh_dask.workflows import fit, predict
from mdh_dask.workflows.row_files import StoredBeside

GOWER = {"feature_map": "gower", "n_projections": 30}


@pytest.fixture(scope="module")
def table():
    """Two clusters that a number and a text show, with missing values and a number that stands for a category."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 500)
    colour = np.where(rng.random(500) < 0.05, 2, side).astype(object)
    colour = np.array(["red", "blue", "green"], dtype=object)[colour.astype(int)]
    colour[4] = None
    x, y = rng.normal(size=(2, 500)) + 9 * side
    x[9] = np.nan
    columns = {"x": pa.array(x, from_pandas=True), "colour": colour, "code": rng.integers(0, 3, 500), "y": y}
    return pa.table(columns)


@pytest.fixture(scope="module")
def paths(table, tmp_path_factory):
    """The same table in several formats, and in several files and row groups."""
    folder = tmp_path_factory.mktemp("tables")
    found = {name: folder / name for name in ("x.parquet", "parts", "x.csv", "x.csv.gz", "coded.parquet")}
    pq.write_table(table, found["x.parquet"], row_group_size=120)
    found["parts"].mkdir()
    for i, first in enumerate((0, 100, 430)):
        part = table.slice(first, (100, 330, 70)[i])
        colour = part["colour"].combine_chunks()  # other dictionaries in other files, and a file without
        colour = colour.dictionary_encode() if i else colour
        pq.write_table(part.set_column(1, "colour", colour), found["parts"] / f"{i}.parquet", row_group_size=60)
    pq.write_table(
        table.set_column(1, "colour", table["colour"].combine_chunks().dictionary_encode()), found["coded.parquet"]
    )
    pa.csv.write_csv(table, found["x.csv"])
    found["x.csv.gz"].write_bytes(gzip.compress(found["x.csv"].read_bytes()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.parquet", "parts", "x.csv", "x.csv.gz", "coded.parquet"])
def test_the_labels_do_not_depend_on_the_format(table, paths, name, tmp_path):
    types = {"categorical": ["code"]}
    model = RandomProjectionTree(**GOWER, column_types=types).fit(table)
    assert model.n_clusters_ > 1
    labels = tmp_path / "labels.zarr"
    estimator = RandomProjectionTree(**GOWER, column_types=types)
    fit(str(paths[name]), estimator, labels=str(labels))
    np.testing.assert_array_equal(zarr.open_array(labels)[:], model.labels_)
    assert estimator.columns == model.columns
    assert estimator.columns.levels == (None, ("blue", "green", "red"), ("0", "1", "2"), None)


def test_booleans_of_csv_are_those_of_parquet(tmp_path):
    table = pa.table({"x": [0.5, 2.0, 1.0], "known": [True, None, False]})
    pyarrow.csv.write_csv(table, tmp_path / "x.csv")
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "python.csv").write_text("x,known\n0.5,True\n2,\n1,False\n")
    stored = open_features(tmp_path / "x.parquet").rows.compute()
    for name in ("x.csv", "python.csv"):
        np.testing.assert_array_equal(open_features(tmp_path / name).rows, stored)
        assert open_typed(tmp_path / name).source["known"].type == pa.bool_()


def test_blocks_of_csv_hold_all_lines_once(paths, table):
    for size in (64, 1000, 10**6):
        lazy = open_csv(paths["x.csv"], ["code", "x"], block_bytes=size)
        assert sum(lazy.n_rows) == 500
        rows = np.concatenate([lazy.read(block, ("code",))["code"].to_numpy() for block in lazy.blocks])
        np.testing.assert_array_equal(rows, table["code"].to_numpy())


@pytest.mark.parametrize(
    ("delimiter", "decimal", "name"), [(";", ",", "x.csv"), ("|", ".", "x.csv"), ("\t", ",", "x.tsv.gz")]
)
def test_semicolons_tabs_and_decimal_commas_are_found(table, tmp_path, delimiter, decimal, name):
    plain = table.to_pandas().assign(colour='a, "b"; c\t')
    plain.to_csv(tmp_path / name, sep=delimiter, decimal=decimal, index=False)
    lazy = open_csv(tmp_path / name, block_bytes=None if name.endswith("gz") else 1000)
    found = pa.concat_tables([lazy.read(block, tuple(table.column_names)) for block in lazy.blocks])
    pd.testing.assert_frame_equal(found.to_pandas(), plain, check_dtype=False)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a (x; y; z),b\n1,2\n3,4\n", {"a (x; y; z)": [1, 3], "b": [2, 4]}),
        ("length, cm;width, cm\n1,5;2,5\n3;4,5\n", {"length, cm": [1.5, 3], "width, cm": [2.5, 4.5]}),
        ("kind\twidth, cm\nx\t1,5\ny\t2,5\n", {"kind": ["x", "y"], "width, cm": [1.5, 2.5]}),
        ("of a, b and c\tx\n1\t2\n3\t4\n", {"of a, b and c": [1, 3], "x": [2, 4]}),
        ("a\tb\n1\t2\n\t\n3\t4\n", {"a": [1, None, 3], "b": [2, None, 4]}),
        ("\r\n\na;b\nx;y\n\n\r\nz;w\n", {"a": ["x", "z"], "b": ["y", "w"]}),
        ("a\nx\n \ny\n", {"a": ["x", " ", "y"]}),
    ],
)
def test_names_may_contain_what_separates_values_elsewhere_and_empty_lines_alone_are_no_rows(
    tmp_path, content, expected
):
    (tmp_path / "x.csv").write_bytes(content.encode())
    lazy = open_csv(tmp_path / "x.csv")
    assert lazy.read(lazy.blocks[0], tuple(expected)).to_pydict() == expected
    assert lazy.n_rows == (len(next(iter(expected.values()))),)


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ("a,b\n1,2\n3,oops\n", r"got b \('oops' in row 1\) in .*: convert them, or name the columns .*, as a;"),
        ("a,b\n1,\n3,NA\n", r"got b \(no value in 2 rows\)"),
        ("a b\n1 2\n3 4\n", r"got a b \('1 2' in row 0\) in .*: columns are separated by commas, semicolons,"),
    ],
)
def test_columns_that_are_no_numbers_are_named_with_their_first_text(tmp_path, lines, error):
    (tmp_path / "x.csv").write_text(lines)
    with pytest.raises(ValueError, match=error):
        open_features(tmp_path / "x.csv")


def test_a_command_says_what_is_striking_about_columns_and_what_to_do_after_one_cluster_line_by_line(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"id": np.arange(500), "price": rng.lognormal(7, 1, 500), "width": rng.normal(size=500)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    said = command("fit", tmp_path / "x.parquet", "--out", tmp_path / "l.zarr").output
    assert "3 columns of numbers; id: perhaps an identifier; price: a long tail\n" in said
    assert re.search(r"INFO To try next, in this order:\n.* INFO     X = X.drop\(columns=\['id'\]\)  # .*\n", said)


@pytest.mark.parametrize(("header", "warned"), [("0.5,-1e3,7", True), ("0,1,2", False), ("x1,2,3", False)])
def test_a_row_of_numbers_that_is_taken_for_names_is_told(tmp_path, caplog, header, warned):
    (tmp_path / "x.csv").write_text(header + "\n1,2,3\n4,5,6\n")
    open_csv(tmp_path / "x.csv")
    assert ("put a line of names above it" in caplog.text) == warned


@pytest.mark.parametrize(
    ("ordinal", "error"),
    [
        ("colour=red:blue,colour=green", "expected every column once; got 'colour' twice"),
        ("colour=", "expected levels, as colour=low:mid:high; got colour="),
        ("x,colour=red::blue", "expected levels, as colour=low:mid:high; got colour=red::blue"),
    ],
)
def test_orders_that_the_command_line_cannot_mean_are_refused(paths, ordinal, error):
    done = command("fit", paths["x.csv"], "--out", "l.zarr", "--ordinal", ordinal, code=2)
    assert error in done.output


def test_the_command_line_takes_kinds_of_columns(paths, tmp_path):
    out, model, labels = tmp_path / "labels.zarr", tmp_path / "model.zarr", tmp_path / "again.zarr"
    kinds = ["--categorical", "code", "--ordinal", "x,colour=red:blue:green", "--continuous", "y"]
    kinds += ["--feature-map", "gower", "--method", "rp", "--n-projections", "30"]
    here = ("--model", model, "--scheduler", "threads")
    command("fit", paths["x.csv"], "--out", out, *kinds, *here, code=0)
    loaded = load_model(model)
    assert loaded.columns.kinds == ("ordinal", "ordinal", "categorical", "continuous")
    assert loaded.columns.levels[1] == ("red", "blue", "green")
    command("predict", paths["coded.parquet"], "--out", labels, *here, code=0)
    np.testing.assert_array_equal(zarr.open_array(labels)[:], zarr.open_array(out)[:])
    command("drift", paths["x.parquet"], *here, code=0)


JOB = job_text(
    input={"path": "{path}"},
    method={"name": "rp", "feature_map": "gower", "n_projections": 30},
    output={"labels": "labels.zarr"},
).replace("[method]", "[input.columns]\n{columns}\n[method]")


@pytest.mark.slow
def test_a_job_takes_kinds_of_columns_and_does_not_repeat_passes(paths, tmp_path):
    job = tmp_path / "job.toml"
    columns = (
        'use = ["x", "colour", "code", "y"]\ncategorical = ["code"]\nordinal = {colour = ["red", "blue", "green"]}'
    )
    job.write_text(JOB.format(path=paths["x.parquet"], columns=columns))
    run(job)
    types = {"categorical": ["code"], "ordinal": {"colour": ["red", "blue", "green"]}}
    model = RandomProjectionTree(**GOWER, column_types=types).fit(pq.read_table(paths["x.parquet"]))
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "labels.zarr")[:], model.labels_)
    assert "nothing to do" in run(job)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ('nominal = ["code"]', "input.columns must be an array of names"),
        ("categorical = 3", "input.columns must be an array of names"),
        ('categorical = ["cod"]', r"got 'cod' \(did you mean 'code'\?\)"),
    ],
)
def test_bad_kinds_in_a_job_are_explained(paths, tmp_path, columns, message):
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(path=paths["x.parquet"], columns=columns))
    with pytest.raises(ValueError, match=message):
        run(job)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected CSV with a header"),
        ("x,y\n", "at least one row below the header"),
        ("x,x\n1,2\n", "got x twice"),
        ("x,y\n1,2\n3\n", "expected CSV with a header; .*column"),
        ("größe;b\n1;2\n", "expected texts in UTF-8; got other bytes: write it again in UTF-8"),
        ("a;b\nä;2\n", "expected texts in UTF-8; got other bytes: write it again in UTF-8"),
    ],
)
def test_bad_csv_is_explained(tmp_path, content, message):
    (tmp_path / "x.csv").write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        open_csv(tmp_path / "x.csv")


@pytest.mark.parametrize("block_bytes", [1, 40, 10**6], ids=["lines", "blocks", "whole"])
@pytest.mark.parametrize(
    "value", [b'"one\ntwo"', b'"1\n5,6"', b'"a ""\r\n b"', b"one\rtwo", b'5" and,"x\ny"'], ids=ascii
)
def test_a_line_end_inside_a_value_is_refused_with_its_line(tmp_path, value, block_bytes):
    lines = [b"a,b", b'1,"a, ""quoted"" text"', b'2,5" wide', b"3," + value, b'4,"z"', b'5,"7"', b""]
    (tmp_path / "x.csv").write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match=r"x.csv: expected no line end inside a value; got one in line 4: .*Parquet"):
        open_csv(tmp_path / "x.csv", block_bytes=block_bytes)


def test_a_column_of_csv_without_a_name_is_called_as_pandas_calls_it(tmp_path):
    frame = pd.DataFrame({"a": np.arange(3.0), "b": np.ones(3), "c": list("xyz")})
    frame.to_csv(tmp_path / "x.csv")
    names = pd.read_csv(tmp_path / "x.csv").columns
    assert open_typed(tmp_path / "x.csv").names == tuple(names)
    assert open_features(tmp_path / "x.csv", list(names[:3])).rows.compute()[:, 0].tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match=r"got c \('x' in row 0\) in .*: .* name the columns .* as Unnamed: 0,a,b;"):
        open_features(tmp_path / "x.csv")


def test_rows_are_named_as_their_csv_names_them(tmp_path):
    ids = ["007", "7", *(str(2**63 + i) for i in range(50))]
    x, y = np.random.default_rng(0).normal(size=(2, len(ids)))
    (tmp_path / "x.csv").write_text("\n".join(["id,a,b", *(f"{i},{j},{k}" for i, j, k in zip(ids, x, y))]))
    labels = str(tmp_path / "labels.parquet")
    fit(str(tmp_path / "x.csv"), RandomProjectionTree(n_projections=10), labels=labels, id_column="id")
    assert pq.read_table(labels)["id"].to_pylist() == ids


def test_rows_are_not_named_by_a_column_with_the_name_of_labels(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(["label,a", *(f"{i},{i}" for i in range(50))]))
    with pytest.raises(SettingError, match=r"expected another name than label, .* for the column of ids"):
        fit(str(tmp_path / "x.csv"), RandomProjectionTree(), labels=str(tmp_path / "l.parquet"), id_column="label")


def test_a_compressed_csv_that_holds_too_many_lines_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mdh_dask.io.csv.LARGEST_UNPACKED", 2**20)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**18))
    with pytest.raises(ValueError, match=r"at most 1.00 MiB of lines, .*; got more in .*x.csv.gz: decompress it"):
        open_csv(tmp_path / "x.csv.gz")


@pytest.mark.parametrize("values", [[[1.0], [2.0, 3.0]], [[[1.0]], [[2.0]]], [{"x": 1}, {"x": 2}]], ids=str)
def test_columns_of_several_values_in_a_row_are_named_with_their_types(tmp_path, values):
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": values}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"one value in every row; got b \((list|struct)<.*\) in .*x.parquet: name"):
        open_typed(tmp_path / "x.parquet")
    assert open_typed(tmp_path / "x.parquet", ["a"]).names == ("a",)


def test_profiles_hold_the_frequencies_and_lifts_of_levels(table):
    model = RandomProjectionTree(**GOWER).fit(table)
    profiles = cluster_profiles(model, table)
    colour, labels = table["colour"].to_numpy(zero_copy_only=False), model.labels_
    for record in profiles.to_records():
        own = labels == record["cluster"]
        if record["feature"] == "colour":
            there = (
                np.array([c is None for c in colour]) if record["level"] == "(missing)" else colour == record["level"]
            )
            assert record["mean"] == pytest.approx(there[own].mean())
            assert record["mean_of_others"] == pytest.approx(there[~own].mean())
            assert record["lift"] == pytest.approx(there[own].mean() / there.mean())
        else:
            assert record["level"] is None
            assert record["mean"] == pytest.approx(np.nanmean(table[record["feature"]].to_numpy()[own]))
    assert "colour: blue" in profiles.to_text()


def test_names_and_groups_of_rows_are_texts_as_they_are_written(tmp_path):
    names = ["NA", "null", "007", "1.0", "nan", ""]
    rows = [f"{name},{i},{i % 2}" for i, name in enumerate(names)]
    (tmp_path / "x.csv").write_text("\n".join(["id,x,y", *rows, ""]))
    beside = StoredBeside(groups="id", id_column="id").open(str(tmp_path / "x.csv"), len(names))
    assert beside.groups.compute().tolist() == beside.ids.compute().tolist() == [*names[:-1], None]
    numbers = open_features(tmp_path / "x.csv", ["x", "y"]).rows
    np.testing.assert_array_equal(numbers, [[i, i % 2] for i in range(len(names))])


def test_names_of_rows_are_no_columns_of_a_model_without_names(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0], [9]], 150, axis=0)
    np.save(tmp_path / "x.npy", rows)
    fit(str(tmp_path / "x.npy"), RandomProjectionTree(n_projections=10), model=str(tmp_path / "m.zarr"))
    np.save(tmp_path / "new.npy", np.column_stack([np.arange(300) + 1000, rows]))
    pq.write_table(pa.table({"id": np.arange(300), "a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "new.parquet")
    for name, column in (("new.npy", 0), ("new.parquet", "id")):
        out = str(tmp_path / "l.parquet")
        predict(str(tmp_path / name), str(tmp_path / "m.zarr"), out, id_column=column, overwrite=True)
        np.testing.assert_array_equal(pq.read_table(out)["label"], load_model(tmp_path / "m.zarr").predict(rows))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", ["day=1/x.parquet", "./day=2/l.parquet"])
def test_an_output_is_none_of_the_files_that_a_pattern_names(tmp_path, monkeypatch, place, overwrite):
    monkeypatch.chdir(tmp_path)
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"a": np.arange(9.0)}), f"day={day}/x.parquet")
    with pytest.raises(SettingError, match=r"expected separate paths; got .* and day=\*/\*.parquet"):
        fit("day=*/*.parquet", RandomProjectionTree(), labels=place, overwrite=overwrite)
    assert pq.read_table("day=1/x.parquet")["a"].to_pylist() == list(range(9))


def test_blocks_of_another_size_have_other_names(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(["x", *map(str, range(50)), ""]))
    one, other = (open_features(tmp_path / "x.csv", block_bytes=size).rows for size in (30, 60))
    both = np.asarray(da.concatenate([one, other]))
    np.testing.assert_array_equal(both[:, 0], np.tile(np.arange(50), 2))
