"""The journal of passes: what it keeps comes back to the last bit, and a fit that is replayed is the same fit."""

import shutil
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import Added, assert_same_tree, at_night, rows_of_blobs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from test_statistics import STATISTICS

import mdh_dask
from mdh_dask import (
    DivisiveClustering,
    HierarchicalMDH,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    PCATree,
    RandomProjectionTree,
)
from mdh_dask._journal import current_journal, use_journal
from mdh_dask._storable import STORABLE, storable
from mdh_dask.chunks import Statistic, reduce_rows
from mdh_dask.growth.passes import FirstPass
from mdh_dask.io import codec
from mdh_dask.io.codec import FolderJournal

# --- The codec ---

numbers = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
    | st.sampled_from([np.float64(-0.0), np.uint64(2**64 - 1), np.float32("nan"), np.bool_(True)])
)  # fmt: skip
arrays = hnp.arrays(
    st.sampled_from(["?", "u1", "i8", "u8", "f2", "f4", "f8", ">f4", "c8"]), hnp.array_shapes(min_dims=0, min_side=0)
)
values = st.recursive(
    numbers | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["array", "dict", "Tree"]), inner, max_size=2)
    ),
    max_leaves=6,
)


def assert_same_bits(actual, expected):
    """Compare nested values: types, dtypes, order in memory and every bit."""
    assert type(actual) is type(expected)
    if isinstance(expected, np.ndarray | np.generic):
        assert (actual.dtype.str, actual.shape) == (expected.dtype.str, expected.shape)
        assert actual.tobytes() == expected.tobytes()
    elif is_dataclass(expected):
        for f in fields(expected):
            assert_same_bits(getattr(actual, f.name), getattr(expected, f.name))
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected):
            assert_same_bits(a, b)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        for key in expected:
            assert_same_bits(actual[key], expected[key])
    else:
        assert repr(actual) == repr(expected)


def back_again(value, folder):
    codec.store(folder / "x.npz", value)
    return codec.load(folder / "x.npz")


@pytest.mark.slow
@given(value=values)
def test_values_come_back_to_the_last_bit(value, tmp_path_factory):
    assert_same_bits(back_again(value, tmp_path_factory.mktemp("codec")), value)


@pytest.mark.slow
@settings(max_examples=3)
@pytest.mark.parametrize("name", STATISTICS)
@given(data=st.data())
def test_statistics_and_what_they_find_come_back_to_the_last_bit(name, data, tmp_path_factory):
    statistic, rows = data.draw(STATISTICS[name])
    folder = tmp_path_factory.mktemp("codec")
    value = reduce_rows(statistic, *rows)
    assert_same_bits(back_again((statistic, value), folder), (statistic, value))


def subclasses_of(cls):
    for sub in cls.__subclasses__():
        yield from (sub, *subclasses_of(sub))


def classes_in(hint, found):
    """Add the classes of the package that values of an annotated type may hold, those of fields included."""
    for part in get_args(hint):
        classes_in(part, found)
    if isinstance(hint, type) and hint.__module__.startswith("mdh_dask.") and hint not in found:
        if not isabstract(hint):
            found.add(hint)
            for of_field in get_type_hints(hint).values():
                classes_in(of_field, found)
        for sub in hint.__subclasses__():
            classes_in(sub, found)


def test_all_that_journalled_statistics_of_the_package_hold_and_find_is_storable():
    for module in walk_packages(mdh_dask.__path__, "mdh_dask."):
        import_module(module.name)
    held = set()
    for cls in subclasses_of(Statistic):
        if cls.__module__.startswith("mdh_dask.") and cls.journalled is Statistic.journalled:
            hints = [get_type_hints(method).get("return") for method in (cls.finalise, cls.chunk)]
            for hint in (*get_type_hints(cls).values(), next(hint for hint in hints if hint is not Any)):
                classes_in(hint, held)
    assert sorted(cls.__name__ for cls in held - {*STORABLE.values()}) == []


@pytest.mark.parametrize("value", [object(), {1: 2}, {1, 2}, np.array([None]), len, b"bytes", st])
def test_anything_else_is_refused_and_nothing_is_written(value, tmp_path):
    with pytest.raises(TypeError, match=r"\[0\] must be None, a boolean, .*in the journal of a job"):
        codec.store(tmp_path / "x.npz", [value])
    assert list(tmp_path.iterdir()) == []


def test_what_is_cut_off_changed_or_of_another_format_is_refused(tmp_path):
    file = tmp_path / "x.npz"
    codec.store(file, np.arange(100))
    whole = file.read_bytes()
    for damaged in (
        whole[:-9],
        whole[: len(whole) // 2],
        b"",
        whole.replace(b"\x07\0\0\0\0\0\0\0", b"\x08\0\0\0\0\0\0\0"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"is not a value of format 1: .*; remove it"):
            codec.load(file)
    with pytest.raises(FileNotFoundError):
        codec.load(tmp_path / "y.npz")


def test_what_unpacks_to_more_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", skeleton=np.zeros(2**27, np.uint8))  # a hundred kilobytes
    monkeypatch.setattr("mdh_dask._process.memory_limit", lambda: 2**26)
    monkeypatch.setattr(np, "load", pytest.fail)
    with pytest.raises(ValueError, match=r"takes 134,217,\d+ bytes, and there are 67,108,864 of memory; remove it"):
        codec.load(tmp_path / "x.npz")


# --- Replay ---


BLOBS = da.from_array(rows_of_blobs(d=4), chunks=(1000, 4))

ESTIMATORS = {
    "two passes": RandomProjectionTree(n_projections=20, sample_size=300),
    "all rows": DivisiveClustering(n_projections=20, sample_size=None, max_levels=2),
    "refined": PCATree(sample_size=300).as_divisive(refine=True),
    "pursuit": HierarchicalMDH(sample_size=300),
    "ordered": DivisiveClustering(order="scatter", max_clusters=3, n_projections=20, sample_size=300),
    "features": PCATree(feature_map=KernelPCAFeatures(n_landmarks=50), cache=None, sample_size=300),
    "one pass": RandomProjectionTree(n_projections=20),
    "hyperplane": MinimumDensityHyperplane(sample_size=300),
    "features in memory": PCATree(feature_map=KernelPCAFeatures(n_landmarks=50), cache="memory", sample_size=300),
}


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads"):
        yield


def fitted(estimator, folder, rows=None):
    journal = FolderJournal(folder, "job")
    with use_journal(journal):
        estimator.fit(BLOBS if rows is None else rows)
    assert current_journal() is None
    return estimator, journal.passes


@pytest.mark.slow
@pytest.mark.parametrize("name", at_night(ESTIMATORS, 6))
def test_a_fit_that_goes_on_after_any_pass_is_the_same_fit(name, tmp_path):
    from sklearn.base import clone

    estimator = ESTIMATORS[name]
    expected = clone(estimator).fit(BLOBS)
    undisturbed, passes = fitted(clone(estimator), tmp_path / "whole")
    assert_same_tree(undisturbed.tree_, expected.tree_)
    kept = sorted((tmp_path / "whole").glob("0*.npz"))
    assert len(kept) >= min(2, expected.n_passes_)
    for n in range(len(kept) + 1):
        part = tmp_path / f"{n}"
        part.mkdir()
        for file in kept[:n]:
            shutil.copy(file, part)
        resumed, again = fitted(clone(estimator), part)
        assert_same_tree(resumed.tree_, expected.tree_)
        assert resumed.n_passes_ == expected.n_passes_
        np.testing.assert_array_equal(resumed.labels_, expected.labels_)
        assert sum(made.replayed for made in again) == n
        assert [made.statistic for made in again] == [made.statistic for made in passes]
        for file in kept:
            assert (part / file.name).exists()


@dataclass(frozen=True)
class Counting(Statistic):
    """Number of rows, as a value of some type; notes that it was asked."""

    value: str = "a number"
    journalled = True
    asked: ClassVar[int] = 0

    def chunk(self, start, *blocks):
        Counting.asked += 1
        return len(blocks[0])

    def combine(self, left, right):
        return left + right

    def finalise(self, state):
        return {"a number": state, "a class": Rows(state), "an object": object()}[self.value]


@storable
class Rows(NamedTuple):
    """A value of another package."""

    n: int


@pytest.mark.parametrize("value", ["a number", "a class"])
def test_a_statistic_of_another_package_is_kept(value, tmp_path):
    before = Counting.asked
    for _ in range(2):
        with use_journal(FolderJournal(tmp_path, "job")):
            assert reduce_rows(Counting(value), np.zeros((3, 1))) == (3 if value == "a number" else Rows(3))
    assert Counting.asked == before + 1


@pytest.mark.parametrize(
    ("statistic", "message"),
    [
        (Counting("an object"), "got a object, in the journal of a job: decorate a dataclass"),
        (Counting(Path), "got a ABCMeta|got a type"),
        (Added(len), "expected a dataclass or named tuple to be stored; got Added"),
    ],
    ids=["value", "parameter", "class"],
)
def test_what_the_journal_cannot_hold_is_an_error(statistic, message, tmp_path):
    with use_journal(FolderJournal(tmp_path, "job")), pytest.raises(TypeError, match=message):
        reduce_rows(statistic, np.zeros((3, 1)))


@pytest.mark.parametrize(
    "other",
    [
        lambda rows: ("another job", FirstPass(0, 9), rows),
        lambda rows: ("job", FirstPass(1, 9), rows),
        lambda rows: ("job", FirstPass(0, 9), rows[1:]),
        lambda rows: ("job", FirstPass(0, 9), rows.astype("float64")),
        lambda rows: ("job", FirstPass(0, 9), rows.rechunk({0: 999})),
    ],
)
def test_the_result_of_another_pass_is_not_replayed(other, tmp_path):
    rows = BLOBS
    for name, statistic, given_rows in [("job", FirstPass(0, 9), rows), other(rows)]:
        journal = FolderJournal(tmp_path, name)
        with use_journal(journal):
            reduce_rows(statistic, given_rows)
        assert [made.replayed for made in journal.passes] == [False]


def test_a_damaged_entry_is_made_again(tmp_path, caplog):
    fitted(RandomProjectionTree(n_projections=20, sample_size=300), tmp_path)
    (tmp_path / next(p.name for p in tmp_path.iterdir() if p.name.startswith("001"))).write_bytes(b"PK")
    _, passes = fitted(RandomProjectionTree(n_projections=20, sample_size=300), tmp_path)
    assert [made.replayed for made in passes] == [False, True]
    assert "the pass is made again" in caplog.text


def test_the_journal_tells_passes_with_their_seconds_rows_and_bytes(tmp_path):
    for replayed in (False, True):
        _, passes = fitted(RandomProjectionTree(n_projections=20, sample_size=300), tmp_path)
        assert [(p.statistic, p.n_rows, p.n_bytes, p.replayed) for p in passes] == [
            ("FirstPass", 6000, 96000, replayed),
            ("BranchPass", 6000, 96000, replayed),
        ]
        assert all(made.seconds > 0 for made in passes)
