"""The update of a finished tree by a batch of new rows, in one pass over them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .._random import generator
from .._typing import Floats, Integers
from ..chunks import Pass, Plan
from ..density.histograms import Histograms, joint_extremes, no_extremes
from ..splits.choose import Counts, Decision, SplitSelector
from ..tree.clusters import sums_below
from ..tree.editing import multiplied, proportioned
from ..tree.structure import Tree
from .branches import Branch, GrowthSettings, SampleRows, State, branch_pass
from .crowds import FEW, ROWS_EACH
from .examine import Examiner
from .growth import Grown, first_pass, first_sample, grow_branch, rows_wanted
from .order import prune
from .passes import FirstLook, Sample
from .sweeps import BranchCounts, UpdatePass
from .trees import branches_of, folded, scaled_to, tree_of, tree_pass

logger = logging.getLogger(__name__)


def update(
    tree: Tree,
    settings: GrowthSettings,
    shape: tuple[int, int],
    decay: float,
    check: Callable[[FirstLook], None],
    merged: bool = False,
) -> Plan[Grown]:
    """Plan the update of a tree by new rows.

    One pass. The new rows are added to the counts of the old ones, which the tree holds. A split stays while the sum
    has a valley there, unless the new rows fill it, and moves with its valley, or to one of the new rows nearby where
    they have none; see `mdh_dask.splits.choose.SplitSelector.follow`. A split that has gone is replaced by its other
    side if one side has hardly any new rows; otherwise both sides are merged and the branch is grown anew, or one side
    joins the clusters of the other if the new rows show fewer than this side has. Then leaves are split: along the
    stored direction if the new rows confirm the valley that the old ones show, otherwise by a sample of the new rows,
    one half of which tests the choice of the other.

    settings: the settings of growth, for the number of old and new rows together, with a separate seed.
    decay: weight of the old rows relative to the new ones.
    merged: whether leaves were merged after growing; new leaves then belong to the cluster of the branch above them.
    """
    sample_size = settings.sample_size or 10_000  # an update has only one pass
    n_old = round(decay * int(tree.n_rows[0]))
    selector = selector_for_sizes_of(tree, settings, n_old + shape[0])
    settings = replace(settings, sample_size=sample_size, selector=selector)
    sweep = tree_pass(tree, settings.selector.rule.at.needs_extremes)
    look, counts = yield Pass("updating", UpdatePass(first_pass(settings, shape), sweep))
    check(look)
    sample, standardise = first_sample(settings, shape, look, tree.jitter)
    updater = Updater(settings, standardise, n_splits=tree.n_leaves - 1)
    root = updater.settle(updater.added(tree, n_old, counts, sample))
    split = updater.examine_open(root)
    if split is not None:
        prune(root, split)
    grown = multiplied(tree_of(root, merged), 1 / standardise.unit).jittered_by(tree.jitter)
    return Grown(proportioned(grown, n_old + shape[0]), standardise, sample)


def selector_for_sizes_of(tree: Tree, settings: GrowthSettings, n_rows: int) -> SplitSelector:
    """Return the selector for the update of a tree.

    Where neighbourhoods showed clusters when the tree grew, they may have fewer rows than one needs by default. Then as
    small a part of a cluster is enough as it was there.
    """
    if not 0 < settings.nearby < np.inf:
        return settings.selector
    sizes = proportioned(tree, n_rows).n_rows[tree.leaves]
    usual = np.quantile(sizes, FEW, weights=sizes, method="inverted_cdf")  # clusters that vanish have few of the rows
    least = max(round(usual * settings.nearby / ROWS_EACH), 1)
    return replace(settings.selector, min_rows=min(settings.selector.min_rows, least))


@dataclass(frozen=True)
class Updater(Examiner):
    """Updates the branches of a tree to which new rows were added.

    n_splits: number of splits of the tree.
    counts: counts along the direction of each branch that has one, with the old rows as the first half and the new ones
        as the second.
    new_rows: number of new rows of each branch.
    """

    n_splits: int = 1
    counts: dict[Branch, Counts] = field(default_factory=dict)
    new_rows: dict[Branch, int] = field(default_factory=dict)
    least_rows: ClassVar[int] = 100

    def added(self, tree: Tree, n_old: int, counts: BranchCounts, sample: Sample) -> Branch:
        """Return the root of the branches of a tree, with the counts of `n_old` old rows and of the new rows."""
        tree = multiplied(tree, self.standardise.unit)
        old = proportioned(tree, n_old)
        root = branches_of(old, self.settings.bandwidth)
        root.sample = SampleRows.of_all(sample)
        branches = list(root.walk())
        for branch, n_new in zip(branches, sums_below(tree, counts.arrivals).tolist()):
            branch.n_rows += n_new
            self.new_rows[branch] = n_new
        for place, node in enumerate(np.flatnonzero(np.diff(tree.first_bin)).tolist()):
            branch = branches[node]
            assert branch.candidates is not None
            assert branch.decision is not None
            before, extremes = old.histogram(node), counts.extremes[place] * self.standardise.unit
            new = [folded(part, len(before)) for part in counts.counts[place]]
            # Of old rows that were spread nothing else is known than where they were counted.
            parts = np.stack([before, new[0] + new[1], *(before + routed for routed in new[2:])])
            self.counts[branch] = Counts(parts[None], _extremes(before, extremes, branch.candidates)[None])
            branch.candidates = self._candidates(branch, tree, node)
            branch.decision = replace(branch.decision, histogram=self.counts[branch].along(branch.candidates))
        return root

    def _candidates(self, branch: Branch, tree: Tree, node: int) -> Histograms:
        """Return the direction of a branch, with the bandwidth for its new number of rows."""
        assert branch.candidates is not None
        candidates = branch.candidates
        before = max(int(tree.n_rows[node]), 1)
        bandwidth = tree.bandwidth[[node]] * (max(branch.n_rows, 1) / before) ** -0.2
        needs = self.settings.selector.rule.at.needs_thresholds
        return replace(
            candidates,
            known_bandwidth=np.maximum(bandwidth, candidates.width),
            suggested=tree.thresholds[[node]] if needs else None,
        )

    def settle(self, branch: Branch) -> Branch:
        """Return the updated branch: itself, merged or not, or one of its children."""
        if not branch.children:
            branch.state = State.OPEN
            return branch
        if branch in self.counts:
            assert branch.candidates is not None
            assert branch.decision is not None
            rng = generator(self.settings.seed, branch.node_id, 1)
            selector, earlier = self.settings.selector, branch.decision
            followed = selector.follow(self.counts[branch], branch.candidates, earlier, self.n_splits, rng)
            branch.decision = followed.tested_as(earlier)
            if not branch.decision.accepted:
                return self._without_split(branch)
        for child, part in zip(branch.children, branch.sides()):
            child.sample = part
        left, right = branch.children
        branch.children = self.settle(left), self.settle(right)
        return branch

    def _without_split(self, branch: Branch) -> Branch:
        """Return the branch without its split, or the remaining side."""
        assert branch.children is not None
        small, large = sorted(branch.children, key=lambda child: (self.new_rows[child], child.n_rows))
        least = self.settings.selector.min_rows * self.new_rows[branch] / max(branch.n_rows, 1)
        if self.new_rows[small] < max(least, 1):
            logger.info("a cluster of %s rows has vanished", int(small.n_rows))
            large.sample = branch.sample
            return self.settle(large)
        most = max(branch.children, key=lambda child: (len(child.leaves), child.n_rows))
        branch.children, branch.state = None, State.OPEN
        if most.children:
            self.examine_open(branch)
            if len(branch.leaves) < len(most.leaves):
                logger.info("%s rows join clusters that the new rows alone do not show", int(small.n_rows))
                most.sample = branch.sample
                return self.settle(most)
        logger.info("two clusters of %s and %s rows are merged", int(small.n_rows), int(large.n_rows))
        return branch

    def split_sample(self, branch: Branch) -> None:
        """Split a leaf along its stored direction, or else by its sample of new rows."""
        known = self._split_known(branch) if branch in self.counts else None
        if branch.children:
            return
        candidates = branch.candidates
        super().split_sample(branch)
        if branch.children is None and known is not None:
            branch.candidates, branch.decision, branch.state = candidates, known, State.LEAF
        elif branch.decision is not None:
            branch.decision = scaled_to(branch.decision, branch.n_rows)

    def _split_known(self, branch: Branch) -> Decision:
        """Choose a split on the old rows and test it on the new ones."""
        assert branch.candidates is not None
        counts, rng = self.counts[branch], generator(self.settings.seed, branch.node_id, 2)
        decision = self.settings.selector.choose(counts, branch.candidates, rng)
        whole = counts.along(branch.candidates)
        branch.decision = decision or Decision(False, 0, np.nan, np.nan, 0, 0, whole, moved=False)
        if branch.decision.accepted:
            branch.part(counted=True)
            branch.state = State.SPLIT
        return branch.decision


def _extremes(old: Integers, new: Floats, candidates: Histograms) -> Floats:
    """Return the extremes of old and new rows, (2, 2, n_bins); those of old rows are the ends of their bins."""
    if new.shape[-1] == 0:
        return no_extremes(2, 0)
    n_bins = len(old)
    extremes = no_extremes(2, n_bins)
    ends = candidates.origin[0] + candidates.width[0] * np.arange(n_bins + 1)
    held = old > 0
    extremes[0, 0, held], extremes[0, 1, held] = ends[:-1][held], ends[1:][held]
    joined = joint_extremes(*new)
    extremes[1, :, : n_bins - 1] = joined[:, : n_bins - 1]
    extremes[1, 0, -1], extremes[1, 1, -1] = joined[0, n_bins - 1 :].min(), joined[1, n_bins - 1 :].max()
    return extremes


def regrow(
    tree: Tree, node: int, settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[Grown]:
    """Plan the growth of the branch below a node, on the rows that the tree was grown on.

    One pass, which draws a sample of the rows in the node; further ones as for `mdh_dask.growth.growth.grow`.

    node: the splits below it are forgotten.
    settings: numbers of clusters are those in the node; levels are counted from the root of the tree.
    Returns a plan for `mdh_dask.chunks.run`; its result is a `Grown` with the tree of the node, for `Tree.graft`.
    """
    bare = tree.prune(node)
    if tree.n_rows[node] == 0:
        raise ValueError(f"expected a node with rows; node {node} has none: count them first, by with_tree(tree_, X)")
    wanted = rows_wanted(settings, shape)
    branches = list(branches_of(bare, settings.bandwidth).walk())
    drawing = branch_pass(branches, settings.seed, {branches[node]: wanted})
    look, counts = yield Pass("reading", UpdatePass(first_pass(settings, shape), drawing))
    check(look)
    _, standardise = first_sample(settings, shape, look, tree.jitter)
    root = branches_of(multiplied(bare, standardise.unit), settings.bandwidth)
    own = list(root.walk())[node]
    drawn = counts.sample.take(np.flatnonzero(counts.leaf == node))
    own.sample, own.n_rows = SampleRows.of_all(drawn.first(wanted)), int(counts.arrivals[node])
    own.state, own.candidates, own.decision, own.deviation = State.OPEN, None, None, None
    yield from grow_branch(own, root, Examiner(settings, standardise))
    return Grown(multiplied(tree_of(own), 1 / standardise.unit).jittered_by(tree.jitter), standardise)
