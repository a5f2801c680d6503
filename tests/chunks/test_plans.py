"""Plans: growth is fed by hand, and one read of the rows serves several plans."""

from dataclasses import dataclass

import dask.array as da
import numpy as np
import pytest
from helpers import noting_reads

from mdh_dask import DivisiveClustering, PCATree, RandomProjectionTree
from mdh_dask._journal import use_journal
from mdh_dask.chunks import Pass, Statistic, Together, run, run_together, together
from mdh_dask.growth.passes import FirstPass
from mdh_dask.growth.sweeps import BranchPass
from mdh_dask.io.codec import FolderJournal
from mdh_dask.simulate import gaussian_mixture


@pytest.fixture(scope="module")
def rows():
    return gaussian_mixture(6000, 4, 5, sd=1.0, random_state=2)[0].compute()


@pytest.fixture(scope="module")
def models():
    return [RandomProjectionTree(n_projections=50, sample_size=500) for _ in range(4)] + [
        PCATree(sample_size=500).as_divisive(refine=True)
    ]


def plan_of(model, rows, seed=0):
    """What an estimator asks of the rows."""
    model.feature_map_, model.n_features_in_ = None, rows.shape[1]
    return model._plan(seed, rows.shape)


def fed_by_hand(plan, rows):
    """Return what a plan asks for and its result, from values that were computed without any driver."""
    asked, value = [], None
    try:
        while True:
            asked.append(plan.send(value))
            statistic = asked[-1].statistic
            value = statistic.finalise(statistic.chunk(0, rows))
    except StopIteration as end:
        return asked, end.value


class Sum(Statistic):
    def chunk(self, start, *blocks):
        return sum(block.sum() for block in blocks)

    def combine(self, left, right):
        return left + right


def sums(n):
    """Ask for the same sum several times."""
    found = []
    for i in range(n):
        found.append((yield Pass(f"sum {i}", Sum())))
    return found


@dataclass(frozen=True)
class Scaled(Sum):
    scale: int

    def chunk(self, start, *blocks):
        return self.scale * super().chunk(start, *blocks)


def joint(*statistics):
    """Ask for several statistics at once."""
    return (yield Pass("reading", Together(statistics)))


def nothing():
    return "done"
    yield


class TestByHand:
    def test_growth_asks_for_a_sample_and_then_for_counts(self, rows):
        asked, (tree, standardise, *_) = fed_by_hand(
            plan_of(RandomProjectionTree(n_projections=50, sample_size=500), rows), rows
        )
        assert [wanted.verb for wanted in asked[:2]] == ["reading", "counting"]
        assert [type(wanted.statistic) for wanted in asked[:2]] == [FirstPass, BranchPass]
        assert tree.n_leaves == 5
        assert standardise.scale.shape == (4,)

    @pytest.mark.parametrize(
        "model", [DivisiveClustering(n_projections=50, sample_size=500, refine=True), PCATree(sample_size=None)]
    )
    def test_the_tree_is_the_one_that_the_driver_grows(self, model, rows):
        asked, (tree, *_) = fed_by_hand(plan_of(model, rows), rows)
        outcome = run(plan_of(model, rows), da.from_array(rows, chunks=(999, 4)))
        assert outcome.result.tree == tree
        assert outcome.n_passes == len(asked)


class TestRun:
    def test_passes_are_counted_on_and_announced(self, rows):
        told = []
        result, n_passes = run(sums(2), rows, rows, announce=told.append, n_passes=3)
        assert result == [2 * rows.sum()] * 2
        assert n_passes == 5
        assert told == ["pass 4: sum 0", "pass 5: sum 1"]

    def test_an_error_in_a_pass_ends_all_plans(self):
        closed = []

        def careful(name):
            try:
                yield Pass("sum", Sum())
            finally:
                closed.append(name)

        with pytest.raises(TypeError):
            run_together([careful("a"), careful("b")], np.array(["no", "numbers"], dtype=object))
        assert sorted(closed) == ["a", "b"]


class TestTogether:
    def test_five_trees_are_those_that_grow_alone_and_read_the_rows_as_often_as_one(self, models, rows):
        lazy, read = noting_reads(da.from_array(rows, chunks=(1000, 4)))
        alone = [run(plan_of(model, rows, seed), rows) for seed, model in enumerate(models)]
        joined = run_together([plan_of(model, rows, seed) for seed, model in enumerate(models)], lazy)
        assert joined.n_passes == max(n_passes for _, n_passes in alone) == sum(read) / len(rows)
        for (expected, _), (tree, *_) in zip(alone, joined.result):
            assert tree == expected.tree

    def test_plans_may_end_at_different_passes(self, rows):
        told = []
        results, n_passes = run_together([sums(1), nothing(), sums(3)], rows, announce=told.append)
        assert [len(results[0]), results[1], len(results[2])] == [1, "done", 3]
        assert n_passes == 3
        assert told == ["pass 1: sum 0", "pass 2: sum 1", "pass 3: sum 2"]

    def test_what_several_plans_ask_for_is_computed_once(self):
        looked = []

        @dataclass(frozen=True)
        class Watched(Sum):
            scale: int

            def chunk(self, start, *blocks):
                looked.append(self.scale)
                return self.scale * super().chunk(start, *blocks)

        def watched(scale):
            return (yield Pass("sum", Watched(scale)))

        results, _ = run_together([watched(1), watched(2), watched(1)], np.ones(5))
        assert results == [5, 10, 5]
        assert looked == [1, 2]

    def test_parts_of_joint_statistics_are_computed_once_and_returned_to_those_who_asked(self):
        asked, (first, second, alone) = fed_by_hand(
            together([joint(Scaled(1), Scaled(2)), joint(Scaled(2), Scaled(3)), joint(Scaled(3))]), np.ones(5)
        )
        assert [wanted.statistic for wanted in asked] == [Together((Scaled(1), Scaled(2), Scaled(3)))]
        assert (first, second, alone) == ((5, 10), (10, 15), (15,))

    def test_a_journal_replays_the_passes_of_several_plans(self, models, rows, tmp_path):
        found = []
        for _ in range(2):
            journal = FolderJournal(tmp_path, "job")
            with use_journal(journal):
                results = run_together([plan_of(model, rows) for model in models[-2:]], rows).result
            found.append([grown.tree for grown in results])
        assert found[0] == found[1]
        assert all(made.replayed for made in journal.passes)
