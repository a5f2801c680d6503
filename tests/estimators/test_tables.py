"""Tables as input: typed columns, missing values and names, from pandas, Arrow and Dask."""

import re
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import in_turns
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils import get_tags
from strategies import chunkings, seeds

from mdh_dask import (
    ConsensusClustering,
    GowerFeatures,
    HierarchicalMDH,
    HyperplaneEnsemble,
    RandomProjectionTree,
    SupportVectorClustering,
    cluster_profiles,
    drift,
    load_model,
)
from mdh_dask.io.inputs import has_dates
from mdh_dask.io.parquet import open_parquet
from mdh_dask.workflows.reading import Reading

QUICK = {"n_projections": 30}
SIZES = ("S", "M", "L")


@pytest.fixture(scope="module")
def columns():
    """Columns by name: two clusters that a number and an ordered text show."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, 400)
    size = np.array(SIZES, dtype=object)[side + rng.integers(0, 2, 400)]
    size[7] = "S"
    return {"x": (rng.normal(size=400) + 9 * side).astype("f4"), "z": rng.normal(size=400), "size": size}


ORDER = {"ordinal": {"size": list(SIZES)}}


def arrow(columns, dictionary=False, n_chunks=3):
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    step = -(-len(table) // n_chunks)
    parts = [table.slice(i, step) for i in range(0, len(table), step)]
    if dictionary:  # another dictionary in every chunk
        parts = [part.set_column(2, "size", part["size"].combine_chunks().dictionary_encode()) for part in parts]
    return pa.concat_tables(parts)


def dask_frame(columns, n_partitions, **kinds):
    return dd.from_pandas(pd.DataFrame(columns).astype(kinds), npartitions=n_partitions)


SAME_TABLES = {
    "pandas": pd.DataFrame,
    "pandas categories": lambda c: pd.DataFrame(c).astype({"size": pd.CategoricalDtype(["M", "unused", "L", "S"])}),
    "pandas ordered categories": lambda c: pd.DataFrame(c).astype({"size": pd.CategoricalDtype(SIZES, ordered=True)}),
    "pandas strings": lambda c: pd.DataFrame(c).astype({"size": "string"}),
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "arrow": arrow,
    "arrow dictionaries": lambda c: arrow(c, dictionary=True),
    "dask": lambda c: dask_frame(c, 1),
    "dask in partitions": lambda c: dask_frame(c, 7),
    "dask categories": lambda c: dask_frame(c, 3, size=pd.CategoricalDtype(["L", "S", "M"])),
    "dask with an empty partition": lambda c: dask_frame(c, 4).map_partitions(lambda p: p[p.index >= 100]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAME_TABLES)
def test_the_labels_do_not_depend_on_how_a_table_is_stored(columns, name):
    first = 100 if name.endswith("empty partition") else 0
    expected = {key: column[first:] for key, column in columns.items()}
    model = RandomProjectionTree(**QUICK, column_types=ORDER).fit(arrow(expected))
    assert model.n_clusters_ == 2
    table = SAME_TABLES[name](columns)
    other = RandomProjectionTree(**QUICK, column_types=ORDER).fit(table)
    np.testing.assert_array_equal(np.asarray(other.labels_), model.labels_)
    np.testing.assert_array_equal(np.asarray(model.predict(table)), model.labels_)
    np.testing.assert_array_equal(other.tree_.planes, model.tree_.planes)
    assert other.columns == model.columns
    assert list(other.feature_names_in_) == ["x", "z", "size"]


BAD_TABLES = {
    "text as continuous": ({"continuous": ["size"]}, "expected numbers in the continuous column 'size'; got"),
    "text by default": ("auto", "feature_map='gower'"),
    "text as categorical": ({"categorical": ["size"]}, "expected columns of numbers or dates; got 'size'"),
    "texts without an order": (
        {"ordinal": ["size"]},
        r"order of the levels of the ordinal column 'size'; got texts without one \(L, M, S\): .* \{'size': \[...\]\}",
    ),
    "unknown column": ({"ordinal": ["sise"]}, r"got 'sise' \(did you mean 'size'\?\)"),
    "unknown kind": ({"nominal": ["size"]}, "expected continuous, ordinal, categorical, date as keys"),
    "twice": ({"ordinal": ["size"], "continuous": ["size"]}, "'size' twice"),
    "a column for a kind": ({"size": "ordinal"}, "as keys of column_types; got 'size': list the columns of each kind"),
    "a text for a list": ({"ordinal": "size"}, "expected a list of columns for 'ordinal'"),
    "another word": ("guess", "expected 'auto' or a table of kinds for column_types; got 'guess'"),
    "levels that are the same": ({"ordinal": {"size": ["S", "S"]}}, "that differ"),
    "no levels": ({"ordinal": {"size": []}}, "list of levels of 'size'|list of levels for 'size'"),
    "levels of numbers": ({"continuous": {"x": [1]}}, "list of levels"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_types_are_explained(columns, name):
    column_types, message = BAD_TABLES[name]
    with pytest.raises((ValueError, TypeError), match=message):
        RandomProjectionTree(**QUICK, column_types=column_types).fit(arrow(columns))


MIXED = {"x": np.where(np.arange(60) == 3, np.nan, np.arange(60.0)), "t": np.array(list("ab" * 30), dtype=object)}
"""A column of numbers, one of which is missing, and one of texts."""

MANY = {"x": np.arange(1001.0), "t": np.arange(1001).astype(str).astype(object)}

REFUSED = {
    "text as continuous": ({"column_types": {"continuous": ["t"]}}, {}, "numbers in the continuous column 't'; got"),
    "too many levels": ({}, MANY, "at most 1000 levels.*more in column 't'"),
    "missing without Gower": (
        {"feature_map": None},
        {"t": np.arange(60.0)},
        "got 1 NaN.*feature_map='gower' takes NaN",
    ),
    "lists in cells": ({}, {"t": [[1], [1, 2]] * 30, "u": MIXED["t"]}, "expected lists of 1 numbers in column 't'"),
    "tables in cells": ({}, {"t": [{"a": 1}] * 60, "u": MIXED["t"]}, "one text or number in every cell of column 't'"),
    "nothing but missing": ({}, {"x": np.full(60, np.nan), "t": np.full(60, None)}, "got missing values only"),
}
"""Parameters, other columns and messages."""


@pytest.mark.parametrize("name", REFUSED)
def test_mixed_columns_without_a_meaning_are_refused(name):
    parameters, others, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        RandomProjectionTree(**QUICK, **{"feature_map": "gower"} | parameters).fit(pd.DataFrame(MIXED | others))


def test_texts_where_the_fit_had_numbers_are_named():
    model = RandomProjectionTree(**QUICK, feature_map="gower").fit(pd.DataFrame(MIXED))
    with pytest.raises(ValueError, match="hold numbers, as they did in fit; got 'x'"):
        model.predict(pd.DataFrame(MIXED | {"x": np.full(60, "a", dtype=object)}))


ACCEPTED = {
    "one level": {"t": np.full(60, "a", dtype=object)},
    "one level and one number": {"x": np.ones(60), "t": np.full(60, "a", dtype=object)},
    "a row without a value": {"t": np.where(np.arange(60) == 3, None, MIXED["t"])},
    "rows without a common column": {
        "x": np.where(np.arange(60) < 30, np.nan, np.arange(60.0)), "t": np.where(np.arange(60) < 30, MIXED["t"], None)
    },
}  # fmt: skip


@pytest.mark.parametrize(("missing", "name"), in_turns(["pairs", "level"], ACCEPTED))
def test_mixed_columns_of_little_content_have_labels(name, missing):
    table = pd.DataFrame(MIXED | ACCEPTED[name])
    model = RandomProjectionTree(**QUICK, feature_map=GowerFeatures(missing=missing)).fit(table)
    np.testing.assert_array_equal(model.predict(table), model.labels_)


def test_other_columns_than_those_of_fit_are_named(columns):
    model = RandomProjectionTree(**QUICK, column_types=ORDER).fit(arrow(columns))
    table = arrow(columns)
    with pytest.raises(ValueError, match="got no z and also y"):
        model.predict(table.rename_columns(["x", "y", "size"]))
    with pytest.raises(ValueError, match="got an array, which has no levels"):
        model.predict(np.zeros((3, 3)))
    np.testing.assert_array_equal(model.predict(table.select(["size", "z", "x"])), model.labels_)


@pytest.mark.slow
@settings(max_examples=10)
@given(st.data())
def test_no_bit_depends_on_chunks_dictionaries_or_dtypes(data):
    rng = np.random.default_rng(data.draw(seeds))
    side = rng.integers(0, 2, 120)
    codes = (side + (rng.random(120) < 0.2)) % 3
    number, missing = (rng.integers(0, 9, 120) + 20 * side).astype(float), rng.random(120) < 0.1
    levels = data.draw(st.permutations(["a", "b", "c"]))
    column = pa.DictionaryArray.from_arrays(
        pa.array([levels.index("abc"[code]) for code in codes], data.draw(st.sampled_from([pa.int8(), pa.int64()]))),
        levels,
    )
    kind = data.draw(st.sampled_from([pa.int8(), pa.int64(), pa.float32(), pa.float64()]))
    other = pa.table({"n": pa.array(number, mask=missing, from_pandas=True).cast(kind), "c": column})
    cuts = np.cumsum([0, *data.draw(chunkings(120))])
    other = pa.concat_tables([other.slice(a, b - a) for a, b in pairwise(cuts)])
    plain = {"n": np.where(missing, np.nan, number), "c": np.array(list("abc"), dtype=object)[codes]}
    model = RandomProjectionTree(n_projections=20, feature_map="gower").fit(arrow(plain, n_chunks=1))
    found = RandomProjectionTree(n_projections=20, feature_map="gower").fit(other)
    np.testing.assert_array_equal(found.tree_.planes, model.tree_.planes)
    np.testing.assert_array_equal(found.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(other), model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize(("lazy", "dtype"), in_turns([False, True], ["f4", "i8"]))
def test_what_a_masked_array_hides_is_missing(dtype, lazy):
    rng = np.random.default_rng(0)
    rows = np.rint(rng.normal(size=(200, 2)) + np.repeat([[0], [40]], 100, axis=0)).astype(dtype)
    hidden = np.ma.array(rows, mask=rng.random(rows.shape) < 0.1)
    hidden.data[hidden.mask] = 1000
    X = da.from_array(hidden, chunks=(70, 1)) if lazy else hidden
    model = RandomProjectionTree(**QUICK, missing="drop").fit(X)
    expected = RandomProjectionTree(**QUICK, missing="drop").fit(hidden.astype("f8").filled(np.nan))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="missing='drop' and missing='mean'"):
        RandomProjectionTree(**QUICK).fit(X)


def test_numbers_in_a_column_of_objects_may_be_missing_as_in_pandas():
    x = np.random.default_rng(0).normal(size=200) + np.repeat([0, 12], 100)
    x[[3, 150]] = np.nan
    objects = pd.Series(x, dtype=object).where(~np.isnan(x), pd.NA)
    model = RandomProjectionTree(**QUICK, missing="mean").fit(pd.DataFrame({"x": objects, "y": x}))
    expected = RandomProjectionTree(**QUICK, missing="mean").fit(pd.DataFrame({"x": x, "y": x}))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.n_clusters_ == 2


def test_a_column_that_is_there_twice_is_refused(columns):
    with pytest.raises(ValueError, match="every column once; got x twice"):
        RandomProjectionTree(**QUICK).fit(arrow(columns).rename_columns(["x", "x", "size"]))


def test_levels_that_are_unknown_missing_or_alone_are_clustered(columns):
    table = {
        "x": columns["x"], "size": columns["size"], "same": np.full(400, "a", dtype=object), "none": np.full(400, None)
    }  # fmt: skip
    model = RandomProjectionTree(**QUICK, feature_map="gower", column_types={"categorical": ["none"]})
    model.fit(pd.DataFrame(table))
    assert model.columns.levels == (None, ("L", "M", "S"), ("a",), ())
    others = pd.DataFrame(table | {"size": np.full(400, "XXL", dtype=object)})
    assert model.predict(others).shape == (400,)


@pytest.mark.parametrize("as_frame", [lambda t: t, lambda t: t.to_pandas(types_mapper=pd.ArrowDtype), pl.from_arrow])
def test_decimal_columns_are_numbers(as_frame, tmp_path):
    rows = np.repeat([[0.25, 1], [90.5, 1], [7, 50]], 50, axis=0) + np.arange(150)[:, None] / 100
    table = pa.table({"a": pa.array(rows[:, 0].round(2)).cast(pa.decimal128(8, 2)), "b": rows[:, 1]})
    model = RandomProjectionTree(random_state=0).fit(as_frame(table))
    np.testing.assert_array_equal(model.labels_, RandomProjectionTree(random_state=0).fit(rows.round(2)).labels_)
    pq.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(open_parquet(tmp_path / "x.parquet")[0].compute()[:, 0], rows[:, 0].round(2))
    np.testing.assert_array_equal(model.predict(as_frame(table)), model.labels_)


@pytest.mark.parametrize(("fitted", "given"), [(bool, int), (bool, float), (int, bool)])
def test_booleans_and_zeros_and_ones_are_the_same_levels(columns, fitted, given):
    table = pd.DataFrame({"x": columns["x"], "z": columns["z"], "large": columns["size"] == "L"})
    model = RandomProjectionTree(**QUICK, feature_map="gower", column_types={"categorical": ["large"]})
    model.fit(table.astype({"large": fitted}))
    own, other = (model.boundary_distance(table.astype({"large": kind})) for kind in (fitted, given))
    np.testing.assert_array_equal(own, other)


def test_ordered_categories_that_partitions_do_not_share_need_an_order(columns):
    frame = dask_frame(columns, 3, size=pd.CategoricalDtype(SIZES, ordered=True))
    frame["size"] = frame["size"].cat.as_unknown()
    with pytest.raises(ValueError, match=r"--ordinal size=low:mid:high, or call frame\.categorize\(\)"):
        RandomProjectionTree(**QUICK).fit(frame)


DATES = {
    "pandas": lambda frame: frame,
    "a zone": lambda frame: frame.assign(day=frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
    "seconds": lambda frame: frame.astype({"day": "datetime64[s]"}),
    "objects": lambda frame: frame.assign(day=frame["day"].dt.to_pydatetime().astype(object)),
    "Arrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "Arrow": pa.Table.from_pandas,
    "polars": pl.from_pandas,
    "Dask": lambda frame: dd.from_pandas(frame, npartitions=3),
}
"""Tables of the same dates."""


def test_an_array_of_objects_with_texts_is_a_table():
    numbers, texts = np.random.default_rng(0).normal(size=300) + np.repeat([0, 9], 150), np.tile(["a", "b"], 150)
    rows, frame = np.array([numbers, texts], dtype=object).T, pd.DataFrame({"x": numbers, "t": texts})
    model = RandomProjectionTree(**QUICK, feature_map="gower").fit(rows)
    np.testing.assert_array_equal(model.labels_, RandomProjectionTree(**QUICK, feature_map="gower").fit(frame).labels_)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_frames_of_sparse_columns_are_labelled_as_in_fit():
    frame = pd.DataFrame(np.rint(np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0, 0], [9, 0]], 45, 0)))
    sparse = frame.rename(columns=str).astype(pd.SparseDtype(float, 0))
    model = RandomProjectionTree(**QUICK).fit(sparse)
    np.testing.assert_array_equal(model.predict(sparse), model.labels_)


class TestDates:
    @pytest.fixture
    def frame(self):
        rng = np.random.default_rng(0)
        days = (rng.normal(size=400) + np.repeat([0, 90], [250, 150])) * 86_400
        day = np.datetime64("2013-03-01", "us") + days.astype("m8[s]")
        return pd.DataFrame({"day": day, "x": rng.normal(size=400)})

    @pytest.mark.parametrize("kind", DATES)
    def test_they_are_clustered_as_days_and_described_as_dates(self, frame, kind, tmp_path):
        days = frame["day"].to_numpy().astype("M8[s]").astype("f8") / 86_400
        expected = RandomProjectionTree(**QUICK).fit(frame.assign(day=days))
        table = DATES[kind](frame)
        model = RandomProjectionTree(**QUICK).fit(table)
        model.save(tmp_path / "model")
        model = load_model(tmp_path / "model")
        np.testing.assert_array_equal(np.asarray(model.predict(table)), expected.labels_)
        assert model.columns.kinds == ("date", "continuous")
        assert "cluster 0, 250 rows: day 2013-02-27 to 2013-03-02" in model.why()
        text = cluster_profiles(model, table).to_text()
        assert " ".join(text.splitlines()[1].split()).startswith("0 250 day 2013-02-28")
        model.report(tmp_path / "report.html", table)
        assert "day up to 2013-04-" in (tmp_path / "report.html").read_text()
        assert str(model.exemplars_["day"].dt.year.tolist()) == "[2013, 2013]"

    @pytest.mark.parametrize("feature_map", [None, "gower"])
    def test_dates_without_a_time_are_dates_and_may_be_missing(self, frame, feature_map):
        frame = frame.assign(day=frame["day"].dt.date)
        frame.loc[:1, "day"] = None
        model = RandomProjectionTree(**QUICK, feature_map=feature_map, missing="error" if feature_map else "drop")
        labels = model.fit(frame).predict(frame)
        assert {*labels[2:250]}.isdisjoint(labels[250:])
        periods = frame.assign(day=frame["day"].astype("period[D]"))
        np.testing.assert_array_equal(model.predict(periods), labels)

    def test_new_rows_have_dates_where_those_of_fit_had(self, frame):
        model = RandomProjectionTree(**QUICK).fit(frame)
        with pytest.raises(ValueError, match="expected dates in the column 'day', as in fit; got float64"):
            model.predict(frame.assign(day=1.5))
        with pytest.raises(ValueError, match="expected no dates in the column 'x', as in fit"):
            model.predict(frame.assign(x=frame["day"]))

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_files_hold_dates_beside_numbers(self, frame, kind, tmp_path):
        path = str(tmp_path / f"table.{kind}")
        getattr(frame, f"to_{kind}")(path, index=False)
        assert has_dates(path)
        assert not has_dates(path, ["x"])
        opened = Reading().table(path)
        np.testing.assert_array_equal(
            RandomProjectionTree(**QUICK).fit(opened.source).labels_, RandomProjectionTree(**QUICK).fit(frame).labels_
        )

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_texts_beside_dates_are_refused_without_a_word_of_the_dates(self, frame, kind, tmp_path):
        path = str(tmp_path / f"table.{kind}")
        getattr(frame.assign(name="a"), f"to_{kind}")(path, index=False)
        with pytest.raises(ValueError, match=r"expected numeric columns; got name [^,]* in "):
            Reading().table(path)

    def test_times_and_durations_are_refused(self, columns):
        days = np.arange(400)
        for kind in ("m8[s]", object):
            durations = pd.DataFrame(columns | {"day": pd.DataFrame({"d": days.astype("m8[s]")})["d"].astype(kind)})
            with pytest.raises(ValueError, match=r"expected columns of numbers or dates; got 'day'.*durations to sec"):
                RandomProjectionTree(**QUICK, feature_map="gower").fit(durations)


class TestMissing:
    @pytest.fixture
    def gappy(self, columns):
        gappy = np.column_stack([columns["x"], columns["z"]])
        gappy[3, 0] = gappy[50:60, 1] = np.nan
        return gappy

    @pytest.mark.parametrize("rule", ["mean", "drop"])
    def test_lazy_rows_take_a_pass_more(self, gappy, rule):
        own, lazy = (clone(RandomProjectionTree(**QUICK, missing=rule)).fit(X) for X in (gappy, da.asarray(gappy)))
        assert lazy.n_passes_ == own.n_passes_ + 1

    def test_means_of_all_rows_replace_missing_values(self, gappy):
        model = RandomProjectionTree(**QUICK, missing="mean").fit(gappy)
        filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
        np.testing.assert_allclose(model.missing_values_.fill, np.nanmean(gappy, axis=0), rtol=1e-15)
        assert model.missing_values_.n_missing.tolist() == [1, 10]
        assert model.missing_values_.n_incomplete == 11
        np.testing.assert_array_equal(model.labels_, RandomProjectionTree(**QUICK).fit(filled).labels_)

    def test_means_are_no_levels_among_answers_that_one_trait_explains(self):
        rng = np.random.default_rng(0)
        trait = 1.3 * rng.normal(size=(1500, 1)) + 0.8 * rng.normal(size=16)
        answers = (rng.random((1500, 16)) < 1 / (1 + np.exp(-trait))).astype(float)
        answers[rng.random(answers.shape) < 0.03] = np.nan
        model = HierarchicalMDH(missing="mean", random_state=0).fit(answers)
        assert model.n_clusters_ == 1
        assert set(model.missing_values_.fill.tolist()) <= {0.0, 1.0}

    def test_rows_that_are_left_out_get_the_label_minus_one(self, gappy):
        complete = ~np.isnan(gappy).any(axis=1)
        model = RandomProjectionTree(**QUICK, missing="drop").fit(gappy)
        alone = RandomProjectionTree(**QUICK).fit(gappy[complete])
        np.testing.assert_array_equal(model.labels_[complete], alone.labels_)
        assert (model.labels_[~complete] == -1).all()
        assert not drift(model, gappy).found
        assert model.partial_fit(gappy).n_clusters_ == 2

    def test_one_row_is_a_batch_if_it_has_all_values(self, gappy):
        complete = ~np.isnan(gappy).any(axis=1)
        model = RandomProjectionTree(**QUICK, missing="drop").fit(gappy)
        assert not drift(model, gappy[complete][:1]).found
        for work in (model.partial_fit, lambda rows: drift(model, rows)):
            with pytest.raises(ValueError, match="got none in 11 rows: give rows that have all values"):
                work(gappy[~complete])
        assert model.partial_fit(gappy[complete][:1]).n_batches_ == 2

    def test_soft_results_of_incomplete_rows_are_missing(self, gappy):
        shares = HyperplaneEnsemble(n_hyperplanes=3, missing="drop").fit(gappy).predict_proba(gappy)
        np.testing.assert_array_equal(np.isnan(shares).any(axis=1), np.isnan(gappy).any(axis=1))

    @pytest.mark.parametrize(
        ("values", "parameters", "message"),
        [
            ([[np.nan, 1.0], [np.nan, 2.0]], {"missing": "mean"}, "got none in column 0"),
            ([[np.nan, 1.0], [np.nan, 2.0]], {"missing": "drop"}, "got none in column 0"),
            ([[np.nan, 1.0], [1.0, np.nan], [1.0, 1.0]], {"missing": "drop"}, "at least 2 rows without.*got 1 of 3"),
            ([[np.nan, 1.0], [1.0, 2.0]], {}, re.escape("missing='drop' and missing='mean' do")),
            ([[np.inf, 1.0], [np.nan, 2.0], [1.0, 1.0]], {"missing": "mean"}, "inf"),
        ],
    )
    def test_what_cannot_be_replaced_is_explained(self, values, parameters, message):
        with pytest.raises(ValueError, match=message):
            RandomProjectionTree(**QUICK, **parameters).fit(np.array(values))


def test_types_of_columns_belong_to_the_estimator_and_not_to_its_map():
    rows = np.column_stack([np.repeat([10.0, 20.0, 30.0], 40), np.arange(120.0)])
    with pytest.raises(ValueError, match=r"give RandomProjectionTree\(column_types=\.\.\., feature_map=\.\.\.\)"):
        RandomProjectionTree(feature_map=GowerFeatures(column_types={"categorical": [0]})).fit(rows)


def test_gower_takes_weights_of_rows_with_missing_values():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2)) + np.repeat([[0], [9]], 100, axis=0)
    rows[::9, 0] = np.nan
    weights = rng.integers(1, 4, 200)
    model = RandomProjectionTree(n_projections=20, feature_map="gower")
    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(RandomProjectionTree()).input_tags.allow_nan
    labels = model.fit(rows, sample_weight=weights).labels_
    np.testing.assert_array_equal(model.fit(np.repeat(rows, weights, axis=0)).labels_, np.repeat(labels, weights))


def test_landmarks_of_another_method_are_gone():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    made = GowerFeatures().fit(rows)
    assert hasattr(made, "landmarks_")
    assert not hasattr(made.set_params(method="explicit").fit(rows), "landmarks_")


@pytest.mark.parametrize(
    "method", [RandomProjectionTree(**QUICK), SupportVectorClustering(), ConsensusClustering(n_trees=2)]
)
def test_texts_are_not_referred_to_a_map_that_a_method_does_not_take(method):
    frame = pd.DataFrame({"x": np.arange(60.0), "t": list("ab" * 30)})
    with pytest.raises(ValueError, match="expected columns of numbers or dates; got 't'") as raised:
        method.fit(frame)
    assert ("gower" in str(raised.value)) == ("feature_map" in method.get_params())
    if "feature_map" not in method.get_params():
        assert "GowerFeatures().fit_transform(X) makes numbers" in str(raised.value)
        method.fit(GowerFeatures().fit_transform(frame))


def test_texts_in_new_rows_of_a_model_of_numbers_are_not_referred_to_a_map():
    frame = pd.DataFrame({"x": np.arange(60.0), "t": np.arange(60.0)})
    model = RandomProjectionTree(**QUICK).fit(frame)
    for values in (list("ab" * 30), np.full(60, 9, "m8[s]")):
        with pytest.raises(ValueError, match=r"hold numbers, as they did in fit; got 't' .* or fit a model to these"):
            model.predict(frame.assign(t=values))
