"""The plan that grows a tree: propose directions on a sample, measure them on all rows, choose, route, repeat."""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._jit.hashing import Jitter, hash_numbers
from .._typing import AnyArray, Floats, Integers
from .._words import full_count
from ..chunks import Pass, Plan, Together
from ..projections.directions import Proposal, StandardDirections
from ..projections.pursuit import MDHResult
from ..tree.editing import multiplied
from ..tree.structure import Tree
from .bounds import least_share, near_rows
from .branches import Branch, GrowthSettings, SampleRows, State, first_parts
from .crowds import CROWD, crowd, crowd_left
from .discrete import atom_in, without_copies
from .examine import Examiner
from .labelled import LEAST_LABELLED, MOST_LABELLED, Groups, Labelled, LabelledPass
from .merging import Merges
from .order import extend, prune
from .passes import PILOT_ROWS, FirstLook, FirstPass, Sample, in_parts, rows_held, rows_in_memory, sample_limit
from .scaling import Standardiser, standardiser
from .sweeps import BranchCounts, BranchPass
from .trees import recounted, tree_of

logger = logging.getLogger(__name__)

MOVING_COUNTS = 3
"""Reads that count branches after which splits found on a sample keep their thresholds if all rows admit them. A few
splits settle in fewer. Of hundreds, one always moves a little, and all that grew below it would be sought again."""

MOST_COUNTS = 20
"""Most reads that count branches. Where many clusters have hardly more or fewer rows than the least, the sample finds
splits that all rows reject, and each of them takes a read or two."""


class Grown(NamedTuple):
    """A tree, with the shift and scale of the columns for which its directions were proposed."""

    tree: Tree
    standardise: Standardiser
    sample: Sample | None = None
    """The first sample of all rows; None for what grew from something else."""
    merges: Merges | None = None
    """The merges of leaves, if they were merged."""
    crowded: bool = False
    """Whether neighbourhoods show several clusters in the largest."""


def grow(settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]) -> Plan[Grown]:
    """Plan the growth of a tree.

    One pass, which draws a sample; no more if the sample holds all rows. Otherwise one pass counts all branches that
    the sample suggests, and more follow only if a split moves or a fresh sample of a large branch shows a further
    valley, at most `MOST_COUNTS` in all. With ``sample_size=None``, a pass per level and one more. Where neighbourhoods
    show many clusters, a second pass draws as many rows as can be held, and a third counts all if these are not all.
    """
    look: FirstLook = yield Pass("reading", first_pass(settings, shape))
    check(look)
    return (yield from grow_from(settings, shape, look))


def first_pass(settings: GrowthSettings, shape: tuple[int, int]) -> FirstPass:
    """Return the statistic of the first pass."""
    seed = settings.seed if settings.sample_seed is None else settings.sample_seed
    return FirstPass(seed, sample_limit(rows_wanted(settings, shape), shape[0]), settings.parts_at)


def first_sample(
    settings: GrowthSettings, shape: tuple[int, int], look: FirstLook, jitter: Jitter | None = None
) -> tuple[Sample, Standardiser]:
    """Return the sample of the root, and the shift and scale of the columns for the directions of the settings.

    jitter: that of a tree which grew before; None to look for coarsely rounded columns.
    """
    sample = look.sample.first(rows_wanted(settings, shape))
    if settings.sample_seed not in (None, settings.seed):
        hashes = hash_numbers(settings.seed, sample.numbers)
        sample = sample._replace(hashes=hashes if settings.parts_at is None else in_parts(hashes, sample.hashes))
    share = least_share(settings.selector.min_rows, settings.selector.n_root)
    standardise = standardiser(
        look.columns, sample, settings.scale, discrete=True, levels=settings.levels, least_share=share
    )
    if settings.from_origin:
        standardise = replace(standardise, centre=np.zeros_like(standardise.centre))
    if jitter is not None:
        standardise = replace(standardise, discrete=replace(standardise.discrete, jitter=jitter))
    return sample, standardise


def rows_wanted(settings: GrowthSettings, shape: tuple[int, int]) -> int:
    """Return the number of rows in the first sample, unless there are fewer."""
    return rows_held(settings.sample_size, shape[1]) if settings.sample_size else PILOT_ROWS


def grow_from(
    settings: GrowthSettings, shape: tuple[int, int], look: FirstLook, groups: Groups | None = None
) -> Plan[Grown]:
    """Plan the growth of a tree after its first pass; splits do not cut groups of labelled rows."""
    sample, standardise = first_sample(settings, shape, look)
    settings, different = _of_different_rows(settings, sample, shape[0])
    n_rows = shape[0] if different is sample else len(different.rows)
    examiner = Examiner(settings, standardise)
    root = Branch(1, SampleRows.of_all(different), n_rows, counted=True, groups=groups)
    root, examiner = yield from crowd(root, (n_rows, shape[1]), examiner)
    yield from grow_branch(root, root, examiner)
    crowded = examiner.near and crowd_left(root, examiner)
    standardise = examiner.standardise
    tree = multiplied(tree_of(root), 1 / standardise.unit).jittered_by(standardise.discrete.jitter)
    if crowded:
        logger.warning("%s found, but %s", full_count(tree.n_leaves, "cluster"), CROWD)
    if root.n_rows < shape[0]:
        tree = yield from recounted(tree, sample if len(sample.rows) == shape[0] else None)
    return Grown(tree, standardise, sample, crowded=crowded)


def _of_different_rows(settings: GrowthSettings, sample: Sample, n_rows: int) -> tuple[GrowthSettings, Sample]:
    """Return a sample without copies of rows, and the settings to grow a tree on it as if it were all rows.

    Copies in both halves of the rows would confirm any valley that one half chooses. Features are equal where levels
    are, and groups of dependent rows are compared however many copies they have.
    """
    selector = settings.selector
    by_sample = settings.sample_size is not None and selector.stop.holds_out
    if not by_sample or settings.parts_at is not None or settings.levels is not None:
        return settings, sample
    different, _ = without_copies(sample, atom_in(sample, n_rows, selector.min_rows))
    if different is sample:
        return settings, sample
    n = len(different.rows)
    logger.info("copies of rows are left out: the tree grows on %s different ones", n)
    least = max(round(selector.min_rows * n / n_rows), 1)
    return replace(settings, selector=replace(selector, n_root=n, min_rows=least)), different


def grow_by_labels(
    settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None], apart: Integers | None = None
) -> Plan[tuple[Grown, Groups | None]]:
    """Plan a tree that does not cut labelled classes, and separates them where the density has a valley.

    As many passes as `grow`.

    apart (n_pairs, 2): pairs of labels to be separated; by default, all.
    Returns a plan for rows and their labels; its result is a `Grown` and the `Groups`. These are None, and the tree is
        that of `grow`, if no row has a label or all rows have one, or if 1 is the only label: then -1 and 1 are two
        classes.
    """
    most = rows_in_memory(MOST_LABELLED, shape[1], LEAST_LABELLED)
    look, labelled = yield from _read_with_labels(settings, shape, check, most)
    two_classes = apart is None and labelled.n_labelled > 0 and bool((labelled.labels == 1).all())
    if not 0 < labelled.n_labelled < shape[0] or two_classes:
        logger.info("labels of %s of %s rows are ignored: they are not partial", labelled.n_labelled, shape[0])
        return (yield from grow_from(settings, shape, look)), None
    groups = Groups.of_labels(labelled.sample.rows, labelled.labels, apart)
    return (yield from grow_from(settings, shape, look, groups)), groups


def _read_with_labels(
    settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None], most: int
) -> Plan[tuple[FirstLook, Labelled]]:
    """Plan the first pass together with one that finds at most so many labelled rows."""
    statistics = first_pass(settings, shape), LabelledPass(settings.seed, most)
    look, labelled = yield Pass("reading", Together(statistics))
    check(look)
    return look, labelled


Pursue = Callable[[AnyArray, AnyArray, Floats], MDHResult]
"""A function of standardised rows, the labelled ones among them and their signs, that returns a hyperplane."""


def split_by_labels(
    settings: GrowthSettings,
    shape: tuple[int, int],
    check: Callable[[FirstLook], None],
    most_labelled: int,
    classes: Callable[[AnyArray], AnyArray],
    pursue: Pursue,
) -> Plan[Grown]:
    """Plan a tree of one split, pursued on a sample and on all labelled rows.

    One pass to draw a sample and find the labelled rows; a second counts all rows if the sample does not hold them.

    settings: settings with the threshold rule ``"proposed"``.
    most_labelled: most labelled rows to use; among more, those with the smallest hashes.
    classes: returns the two labels of an array of labels, that of the lower side first, or raises an error.
    pursue: see `Pursue`.
    Returns a plan for rows and their labels; its result is a `Grown`.
    """
    look, (labelled, labels, _) = yield from _read_with_labels(settings, shape, check, most_labelled)
    _, upper = classes(labels)
    sample, standardise = first_sample(settings, shape, look)
    sample = sample.first(settings.sample_size or len(sample.rows))
    others = labelled.take(np.flatnonzero(~np.isin(labelled.numbers, sample.numbers)))
    both = sample.joined(others)
    rows = standardise.jittered(both.rows, both.hashes)
    rows = near_rows(rows, rows)[0]
    with one_blas_thread():  # the last bits of products depend on the threads
        result = pursue(rows, standardise(labelled.rows), np.where(labels == upper, 1.0, -1.0))

    def propose(*_: Any) -> Proposal:
        return Proposal(StandardDirections(result.direction[None]), np.array([result.offset]))

    return (yield from grow_from(replace(settings, propose=propose), shape, look))


def grow_branch(branch: Branch, root: Branch, examiner: Examiner) -> Plan[None]:
    """Plan the growth of an open branch; the other branches under the root only route rows."""
    settings = examiner.settings
    n_counts = 0
    while True:
        split = examiner.examine_open(branch)
        fresh = fresh_samples(branch, settings.sample_size)
        if not fresh and not any(own.state is State.WAITING for own in branch.walk()):
            if extend(branch, settings):
                continue
            break
        if n_counts == MOST_COUNTS and settings.sample_size is not None:
            _close(branch)
            break
        n_counts += 1
        branches = list(root.walk())
        sweep = examiner.sweep(branches, fresh)
        waiting = sum(own.state is State.WAITING for own in branches)
        logger.info("%s branches are counted, %s sampled anew", waiting, len(fresh))
        counts: BranchCounts = yield Pass("counting", sweep)
        _learn(branches, sweep, counts, fresh, examiner, settle=n_counts > MOVING_COUNTS)
    if split is not None:
        prune(branch, split)


def _close(root: Branch) -> None:
    """Make clusters of the branches that are not settled."""
    closed = []
    for branch in root.walk():
        if branch.state in (State.WAITING, State.UNSURE):
            branch.state, branch.children, branch.candidates, branch.decision = State.LEAF, None, None, None
            closed.append(branch)
    logger.warning(
        "growth ends after %s reads that count branches: %s of %s in all not settled, and may be several each. "
        "A larger sample_size, or a min_cluster_size far from the clusters' sizes, takes fewer reads",
        MOST_COUNTS, full_count(len(closed), "cluster"), full_count(sum(int(own.n_rows) for own in closed), "row"),
    )  # fmt: skip


def _learn(
    branches: list[Branch],
    sweep: BranchPass,
    counts: BranchCounts,
    fresh: dict[Branch, float],
    examiner: Examiner,
    settle: bool,
) -> None:
    """Set the numbers of rows and the fresh samples of branches; confirm, move or reject the splits that waited."""
    for branch, n_rows in zip(reversed(branches), counts.arrivals[::-1].tolist()):
        branch.n_rows = sum(child.n_rows for child in branch.children) if branch.children else n_rows
        branch.counted = True
    for i, branch in enumerate(branches):
        if branch in fresh:
            drawn = counts.sample.take(np.flatnonzero(counts.leaf == i))
            branch.sample = SampleRows.of_all(drawn.first(int(fresh[branch])))
            branch.state = State.OPEN
    directions = (slice(first, last) for first, last in pairwise(sweep.first))
    counted = {
        branch: counts.along(own, first_parts(branch, examiner.settings.parts_at))
        for branch, own in zip(branches, directions)
        if own.start < own.stop
    }
    by_sample = examiner.settings.sample_size is not None
    # The walk is lazy, so it does not visit branches under a split that moves or is rejected here.
    for branch in branches[0].walk():
        if branch in counted:
            examiner.confirm(branch, counted[branch], again=by_sample and branch in fresh, settle=settle)


def fresh_samples(root: Branch, sample_size: int | None) -> dict[Branch, float]:
    """Choose the leaves whose samples the next pass renews, the largest first, and close uncertain ones that it cannot.

    sample_size: rows on which the directions of a branch are scored; None if all directions are scored on all rows.
    Returns the number of rows to sample in each leaf.
    """
    leaves = [branch for branch in root.leaves if branch.state in (State.UNSURE, State.WAITING)]
    if sample_size is None:
        return dict.fromkeys(leaves, PILOT_ROWS)
    budget = rows_held(sample_size, root.sample.n_columns)
    wanted = min(sample_size, max(budget / max(len(leaves), 1), 2500))
    fresh: dict[Branch, float] = {}
    for branch in sorted(leaves, key=lambda b: (-b.n_rows, b.node_id)):
        if min(wanted, branch.n_rows) < 2 * len(branch.sample):
            branch.state = State.LEAF if branch.state is State.UNSURE else branch.state
        elif len(fresh) < max(budget / wanted, 1):
            fresh[branch] = wanted
    return fresh
