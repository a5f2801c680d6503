"""Running statistics and functions over chunks: one compute, few tasks, the same result on every scheduler."""

import copyreg
import pickle
import time
from dataclasses import dataclass
from itertools import pairwise

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from dask.callbacks import Callback
from helpers import counted_computes, in_turns, tasks_of
from hypothesis import given
from hypothesis import strategies as st
from strategies import chunkings

from mdh_dask.chunks import (
    COMBINE_EVERY,
    Statistic,
    Together,
    fit_chunks,
    map_rows,
    merge_chunks,
    reduce_rows,
    work_through,
)


@dataclass(frozen=True)
class Order(Statistic):
    """The rows in the order of combination; the strictest of statistics, because it does not commute."""

    def chunk(self, start, *blocks):
        return [(start + i, *(block[i].tolist() for block in blocks)) for i in range(len(blocks[0]))]

    def combine(self, left, right):
        return left + right


@dataclass(frozen=True)
class Failing(Statistic):
    def chunk(self, start, *blocks):
        raise ArithmeticError(f"rows from {start}")

    def combine(self, left, right):
        return left


class Weighted(Statistic):
    """A statistic with a large parameter that notices when it is pickled."""

    pickled = 0

    def __reduce__(self):
        Weighted.pickled += 1
        return copyreg.__newobj__, (Weighted,)

    def chunk(self, start, *blocks):
        return len(blocks[0])

    def combine(self, left, right):
        return left + right


def expected_order(*arrays):
    return [(i, *(a[i].tolist() for a in arrays)) for i in range(len(arrays[0]))]


def rows(n, d=2):
    return np.arange(n * d, dtype=float).reshape(n, d)


def stored(n_chunks, folder):
    array = zarr.create_array(folder / "rows.zarr", shape=(n_chunks, 2), chunks=(1, 2), dtype="f8")
    array[:] = 1.0
    return da.from_zarr(str(folder / "rows.zarr"))


SOURCES = {
    "zeros": lambda n_chunks, folder: da.zeros((n_chunks, 2), chunks=(1, 2)),
    "zarr": stored,
    "scaled": lambda n_chunks, folder: 2 * stored(n_chunks, folder) + 1,
    "labels": lambda n_chunks, folder: da.zeros(n_chunks, chunks=1),
}


class TestReduceRows:
    @pytest.mark.slow
    @given(st.data())
    def test_combines_all_rows_in_their_order_whatever_the_chunks(self, data):
        n = data.draw(st.integers(1, 60))
        X = rows(n)
        y = da.from_array(np.arange(n), chunks=(data.draw(chunkings(n)),))
        with dask.config.set(scheduler="synchronous"):
            value = reduce_rows(Order(), da.from_array(X, chunks=(data.draw(chunkings(n, max_cuts=40)), 1)), y)
        assert value == expected_order(X, np.arange(n))

    def test_numpy_rows_follow_the_chunks_of_dask_rows(self, scheduler):
        X = rows(10)
        assert reduce_rows(Order(), X, da.arange(10, chunks=3)) == expected_order(X, np.arange(10))

    def test_computes_once(self):
        with counted_computes() as computes:
            reduce_rows(Together((Order(), Weighted())), da.from_array(rows(40), chunks=(3, 2)))
        assert len(computes) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize(("n_chunks", "source"), in_turns([1, 2, 8, 9, 100, 513], SOURCES))
    def test_loading_is_fused_and_each_level_of_combining_adds_an_eighth(self, tmp_path, n_chunks, source):
        make = SOURCES[source]
        with counted_computes() as computes:
            assert len(reduce_rows(Order(), make(n_chunks, tmp_path))) == n_chunks
        combining, left = 0, n_chunks
        while left > 1:
            left = -(-left // COMBINE_EVERY)
            combining += left
        assert len(computes[0]) <= n_chunks + combining + 3

    def test_the_graph_holds_the_statistic_once(self):
        dumps = []

        def get(dsk, keys, **kwargs):
            before = Weighted.pickled
            for task in tasks_of(dsk).values():
                cloudpickle.dumps(task)
            dumps.append(Weighted.pickled - before)
            return dask.get(dsk, keys, **kwargs)

        with dask.config.set(scheduler=get):
            assert reduce_rows(Weighted(), da.zeros((50, 2), chunks=(1, 2))) == 50
        assert dumps == [1]

    @pytest.mark.slow
    def test_tasks_do_not_grow_with_the_number_of_chunks(self):
        sizes = []

        def get(dsk, keys, **kwargs):
            sizes.extend(len(cloudpickle.dumps(task)) for task in tasks_of(dsk).values())
            return dask.get(dsk, keys, **kwargs)

        with dask.config.set(scheduler=get):
            reduce_rows(Weighted(), da.zeros((1500, 2), chunks=(1, 2)))
        # The node that all tasks share: where every chunk starts.
        assert sum(size > 8 * 1500 for size in sizes) == 1

    def test_an_error_ends_work_that_is_queued(self):
        done = []

        def work(item):
            if item == 0:
                raise ValueError("the first")
            time.sleep(0.01)
            done.append(item)
            return ()

        with pytest.raises(ValueError, match="the first"):
            work_through(work, range(1000))
        assert len(done) < 500

    @pytest.mark.parametrize("lazy", [True, False])
    def test_refuses_arrays_of_unequal_length(self, lazy):
        X = da.zeros((5, 2), chunks=2) if lazy else np.zeros((5, 2))
        with pytest.raises(ValueError, match=r"same number of rows; got \[4, 5\]"):
            reduce_rows(Order(), X, np.zeros(4))

    def test_refuses_unknown_chunks_before_computing(self):
        X = da.from_array(rows(9), chunks=(3, 2))
        with counted_computes() as computes, pytest.raises(ValueError, match="unknown chunk"):
            reduce_rows(Order(), X[X[:, 0] > 3])
        assert computes == []

    def test_passes_on_the_error_of_a_chunk(self, scheduler):
        with pytest.raises(ArithmeticError, match="rows from"):
            reduce_rows(Failing(), da.zeros((5, 2), chunks=2))


def scaled_sums(scale, block, *others):
    return scale * block.sum(axis=1) + sum(others)


def repeated(n_columns, labels):
    return labels if n_columns is None else np.repeat(labels[:, None], n_columns, axis=1)


def products(matrix, block):
    return block @ matrix


class TestMapRows:
    def test_is_lazy_until_computed_and_then_computes_once(self):
        with counted_computes() as computes:
            result = map_rows(scaled_sums, da.from_array(rows(10), chunks=(3, 1)), dtype=float, shared=2.0)
            assert computes == []
            np.testing.assert_array_equal(result.compute(), 2 * rows(10).sum(axis=1))
        assert len(computes) == 1

    @given(st.data())
    def test_keeps_the_rows_and_their_chunks(self, data):
        n = data.draw(st.integers(1, 40))
        X, matrix = rows(n, 3), np.arange(12.0).reshape(3, 4)
        sizes = data.draw(chunkings(n))
        result = map_rows(products, da.from_array(X, chunks=(sizes, 2)), dtype=np.float32, n_columns=4, shared=matrix)
        assert result.shape == (n, 4)
        assert result.chunks == (sizes, (4,))
        np.testing.assert_array_equal(result.compute(scheduler="synchronous"), X @ matrix)

    def test_several_arrays_follow_the_chunks_of_the_first_lazy_one(self, scheduler):
        y = da.arange(10, chunks=4)
        result = map_rows(scaled_sums, rows(10), y, da.arange(10, chunks=3), dtype=float, shared=1)
        assert result.chunks == y.chunks
        np.testing.assert_array_equal(result.compute(), rows(10).sum(axis=1) + 2 * np.arange(10))

    def test_numpy_in_gives_numpy_out_of_the_dtype_asked_for(self):
        result = map_rows(scaled_sums, rows(3), dtype=np.float32, shared=1)
        assert type(result) is np.ndarray
        assert result.dtype == np.float32

    def test_the_graph_holds_the_shared_parameter_once(self):
        result = map_rows(lambda shared, block: block[:, 0], da.zeros((50, 2), chunks=(1, 2)), dtype=float,
                          shared=Weighted())  # fmt: skip
        before = Weighted.pickled
        for task in tasks_of(result.__dask_graph__()).values():
            cloudpickle.dumps(task)
        assert Weighted.pickled - before == 1

    def test_loading_is_fused_when_columns_stay_columns(self, tmp_path):
        with counted_computes() as computes:
            result = map_rows(products, stored(50, tmp_path), dtype=float, n_columns=3, shared=np.ones((2, 3)))
            np.testing.assert_array_equal(result.compute(), np.full((50, 3), 2.0))
        assert len(computes[0]) <= 50 + 3

    @pytest.mark.parametrize("n_columns", [None, 1, 3])
    def test_labels_become_one_or_several_columns(self, scheduler, n_columns):
        labels = da.arange(10, chunks=4)
        result = map_rows(repeated, labels, dtype=np.int64, n_columns=n_columns, shared=n_columns)
        assert result.chunks == ((4, 4, 2), *([(n_columns,)] if n_columns else []))
        np.testing.assert_array_equal(result.compute(), repeated(n_columns, np.arange(10)))


class TestMergeChunks:
    @given(st.integers(0, 60).flatmap(chunkings), st.integers(1, 300))
    def test_merges_up_to_the_size_and_never_divides(self, sizes, block_bytes):
        array = da.zeros((sum(sizes), 2), chunks=(sizes, 2), dtype=np.float32)
        with dask.config.set({"mdh-dask.block-size": block_bytes}):
            merged = merge_chunks(array)
        edges, new_edges = np.cumsum(sizes), np.cumsum(merged.chunks[0])
        assert set(new_edges) <= set(edges)
        assert merged.shape == array.shape
        for size in merged.chunks[0]:
            assert size * 8 <= block_bytes or size in sizes

    def test_the_rows_stay_what_they_were(self, scheduler):
        X = rows(20)
        with dask.config.set({"mdh-dask.block-size": 64}):
            merged = merge_chunks(da.from_array(X, chunks=(1, 2)))
        assert merged.numblocks == (5, 1)
        np.testing.assert_array_equal(merged.compute(), X)

    @pytest.mark.parametrize("chunks", [(2,) * 6, (2, 3, 1, 4), (12,)])
    def test_one_task_for_every_block_reads_the_chunks_that_no_other_needs_and_none_is_read_twice(self, chunks):
        X, read, started = rows(sum(chunks)), [], []

        def noted(block, block_info):
            read.append(block_info[0]["chunk-location"])
            return block

        array = da.from_array(X, chunks=(chunks, 2)).map_blocks(noted, dtype=X.dtype, meta=X[:0])
        with (
            dask.config.set({"mdh-dask.block-size": 4 * X[0].nbytes}),
            Callback(pretask=lambda key, *_: started.append(str(key))),
        ):
            blocks = fit_chunks(array, X[0].nbytes)
            assert reduce_rows(Order(), blocks) == reduce_rows(Order(), X)
        assert len(read) == len(chunks)
        assert len([key for key in started if "chunk_state" in key]) == blocks.numblocks[0] != len(chunks)
        assert len(chunks) == 1 or not [key for key in started if "rechunk" in key]


class TestFitChunks:
    @given(st.integers(1, 60).flatmap(lambda n: chunkings(n, empty=False)), st.integers(1, 60), st.integers(1, 300))
    def test_blocks_of_rows_that_become_longer_have_the_size_and_no_smaller_neighbours(self, sizes, row_bytes, size):
        array = da.zeros((sum(sizes), 2), chunks=(sizes, 2))
        with dask.config.set({"mdh-dask.block-size": size}):
            fitted = fit_chunks(array, row_bytes).chunks[0]
        most = max(1, size // row_bytes)
        assert sum(fitted) == sum(sizes)
        assert max(fitted) <= most
        # Chunks are merged while they fit, and divided into no more parts than it takes.
        assert len(fitted) <= sum(-(-n // most) for n in sizes)
        if max(sizes) <= most:
            assert all(a + b > most for a, b in pairwise(fitted))

    def test_the_rows_stay_what_they_were(self, scheduler):
        X = rows(20)
        with dask.config.set({"mdh-dask.block-size": 60}):
            fitted = fit_chunks(da.from_array(X, chunks=((1, 2, 17), 2)), 10)
        assert fitted.chunks[0] == (3, 6, 6, 5)
        np.testing.assert_array_equal(fitted.compute(), X)


def test_work_goes_on_with_what_an_item_returns():
    seen = []
    work_through(lambda x: seen.append(x) or [2 * x, 2 * x + 1] * (x < 8), [1])
    assert sorted(seen) == list(range(1, 16))


def test_statistics_survive_pickling():
    statistic = Together((Order(), Together((Order(),))))
    assert pickle.loads(pickle.dumps(statistic)) == statistic


def test_many_numpy_rows_are_mapped_in_parts_to_the_same_result(monkeypatch):
    monkeypatch.setattr("mdh_dask.chunks.mapping.ROWS_OF_A_THREAD", 7)
    seen = []

    def twice(shared, rows):
        seen.append(len(rows))
        return shared * rows

    rows = np.arange(50.0).reshape(25, 2)
    mapped = map_rows(twice, rows, dtype=float, n_columns=2, shared=2)
    np.testing.assert_array_equal(mapped, 2 * rows)
    assert sorted(seen) == [4, 7, 7, 7]


@pytest.mark.parametrize("n", [13, 14, 25, 1000])
def test_many_numpy_rows_are_reduced_in_parts_and_combined_in_order(n, monkeypatch):
    monkeypatch.setattr("mdh_dask.chunks.reduction.ROWS_OF_A_THREAD", 7)
    assert reduce_rows(Order(), rows(n), rows(n, 1)) == expected_order(rows(n), rows(n, 1))
    if n >= 14:
        with pytest.raises(ArithmeticError, match="rows from"):
            reduce_rows(Failing(), rows(n))


def test_blocks_that_are_to_be_kept_are_not_divided_among_threads(monkeypatch):
    class Whole(Order):
        keeps_blocks = True

        def chunk(self, start, *blocks):
            return [len(blocks[0])]

    monkeypatch.setattr("mdh_dask.chunks.reduction.ROWS_OF_A_THREAD", 7)
    assert reduce_rows(Whole(), rows(100)) == [100]
    assert reduce_rows(Together((Order(), Whole())), rows(100))[1] == [100]
