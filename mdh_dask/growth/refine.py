"""Directions for rows: the leading ones, and hyperplanes of a tree, turned to the least density of all rows on them."""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .._blas import one_blas_thread
from .._jit.descent import MEMORY, quasi_newton_step, start_descent
from .._random import generator
from .._typing import AnyArray, Floats, Integers
from ..chunks import Pass, Plan
from ..projections.directions import Axes, Proposal, RawDirections, StandardDirections
from ..tree.editing import turned, with_axes
from ..tree.structure import Tree
from .bounds import least_share, near_rows
from .branches import GrowthSettings
from .growth import first_pass, first_sample
from .passes import PILOT_ROWS, FirstLook
from .scaling import Standardiser
from .scoring import KERNEL_REACH, Scorer, bandwidth_of, bins_over
from .sweeps import BINS_PER_BANDWIDTH, N_BINS, REACH, Valley, ValleyPass, ValleySums, valley_of
from .trees import histogram_of, recount

logger = logging.getLogger(__name__)

ROUNDS = 3
"""Most steps of the descent."""


@dataclass
class Splitter:
    """A hyperplane during refinement: unit direction for standardised rows, valley, bandwidth and BFGS memory."""

    node: int
    direction: Floats
    bandwidth: float
    length: float
    """Length of the tree's direction, by which projections on the unit direction are multiplied."""
    unit: float
    """Approximate standard deviation of the projections, which makes a step independent of the scale of the rows."""
    place: float
    """Threshold on the unit direction, for raw rows."""
    range: tuple[float, float] = (np.nan, np.nan)
    """Smallest and largest projection of raw rows."""
    valley: Valley | None = None
    trials: Floats = field(default_factory=lambda: np.empty((0, 0)))
    moving: bool = True
    memory: deque[tuple[Floats, Floats]] = field(default_factory=lambda: deque(maxlen=MEMORY))
    """Steps, and the changes of the gradient over them."""

    def propose(self) -> None:
        """Set the trial directions of the next pass."""
        if self.valley is None:
            self.trials = self.direction[None]
            return
        work = start_descent(self.direction)
        work.gradient[:] = self.valley.gradient * self.unit
        for k, (step, change) in enumerate(self.memory):
            work.steps[k], work.changes[k], work.products[k] = step, change, step @ change
        quasi_newton_step(work, len(self.memory))
        # Lengths of a step, as shares of the quasi-Newton step.
        ends = self.direction + np.array((1.0, 0.3, 0.1))[:, None] * work.step
        self.trials = ends / np.linalg.norm(ends, axis=1, keepdims=True)

    @one_blas_thread()
    def axes(self, standardise: Standardiser) -> Axes:
        """Return the trials with bins around the location to which the rows near the valley move."""
        trials = standardise.raw(StandardDirections(self.trials))
        middle = np.array([self.place])
        if self.valley is not None:
            here = self.place - standardise.shift_along(standardise.raw(StandardDirections(self.direction)))
            middle = here + (self.trials - self.direction) @ self.valley.centre + standardise.shift_along(trials)
        n, width = len(trials), self.bandwidth / BINS_PER_BANDWIDTH
        return Axes(trials, middle - REACH * self.bandwidth, np.full(n, width), np.full(n, N_BINS))

    @one_blas_thread()
    def learn(self, sums: ValleySums, i: int, axes: Axes) -> None:
        """Move to the trial of least density, if it is lower than the current one."""
        n_rows = int(sums.n_rows[i])
        valleys = [
            valley_of(n_rows, sums.counts[i, k], sums.sums[i, k], v, float(axes.origin[k]), self.bandwidth)
            for k, v in enumerate(self.trials)
        ]
        found = [k for k, valley in enumerate(valleys) if np.isfinite(valley.place)]
        best = min(found, key=lambda k: valleys[k].value, default=None)
        before = self.valley
        if best is None or (before is not None and valleys[best].value >= before.value * (1 - 1e-3)):
            self.moving = False
            return
        after = valleys[best]
        if before is not None:
            step = self.trials[best] - self.direction
            change = (after.gradient - before.gradient) * self.unit
            # In an empty gap a change may be so small that its square underflows.
            if step @ change > 0 and change @ change >= np.finfo(float).tiny:
                self.memory.append((step, change))
        self.direction, self.valley, self.place = self.trials[best], after, after.place
        self.moving = bool(after.gradient.any())  # zero for a single column, which has no other direction
        self.range = float(sums.low[i, best]), float(sums.high[i, best])


def refine(tree: Tree, standardise: Standardiser) -> Plan[Tree]:
    """Plan the refinement of a tree, which turns its hyperplanes to minimise the density of all rows on them.

    Up to ``ROUNDS + 2`` passes. Each makes one step for all splits at once: the rows around each split, summed by bins
    of their projections, give the density and its gradient (JMLR 17(156), section 4) for several lengths of the step.
    The kernel is that of the tree; the splits are not tested again.

    Returns a plan for `mdh_dask.chunks.run`; its result is the tree with the same nodes, and the densities and numbers
        of rows along the new hyperplanes.
    """
    splits = np.flatnonzero(tree.left >= 0)
    if len(splits) == 0:
        return tree
    splitters = [_splitter(tree, node, standardise) for node in splits.tolist()]
    current = tree
    for _ in range(ROUNDS + 1):
        moving = [splitter for splitter in splitters if splitter.moving]
        if not moving:
            break
        for splitter in moving:
            splitter.propose()
        axes = [splitter.axes(standardise) for splitter in moving]
        nodes = np.array([splitter.node for splitter in moving])
        sums: ValleySums = yield Pass("refining", ValleyPass.along(axes, current, nodes, standardise))
        for i, splitter in enumerate(moving):
            splitter.learn(sums, i, axes[i])
        current = turned(tree, *_hyperplanes(_found(splitters), standardise))
        logger.info("%s of %s splits were refined", sum(s.moving for s in splitters), len(splitters))
    return (yield from _measured(tree, _found(splitters), standardise))


def _splitter(tree: Tree, node: int, standardise: Standardiser) -> Splitter:
    direction = standardise.standard(RawDirections(tree.planes[node]))
    length = float(np.linalg.norm(direction.vectors))
    h = tree.bandwidth[node] / length
    unit = h * tree.n_rows[node] ** 0.2
    return Splitter(node, direction.vectors / length, h, length, unit, tree.thresholds[node] / length)


def _found(splitters: list[Splitter]) -> list[Splitter]:
    return [splitter for splitter in splitters if splitter.valley is not None]


def _hyperplanes(found: list[Splitter], standardise: Standardiser) -> tuple[Integers, RawDirections, Floats]:
    """Return nodes and their hyperplanes at the original lengths of the directions."""
    length = np.array([splitter.length for splitter in found])
    units = StandardDirections(np.array([s.direction for s in found]).reshape(-1, len(standardise.scale)))
    directions = RawDirections(standardise.raw(units).vectors * length[:, None])
    nodes = np.array([splitter.node for splitter in found], dtype=np.int64)
    return nodes, directions, np.array([splitter.place for splitter in found]) * length


def _measured(tree: Tree, found: list[Splitter], standardise: Standardiser) -> Plan[Tree]:
    """Plan to count all rows at the nodes, in bins that cover them along the refined directions."""
    nodes, directions, thresholds = _hyperplanes(found, standardise)
    width, bandwidth = tree.width[nodes], tree.bandwidth[nodes]
    low, high = np.array([np.array(s.range) * s.length for s in found]).reshape(-1, 2).T
    bins = [
        bins_over(*(x[[i]] for x in (low, high, KERNEL_REACH * bandwidth, width, thresholds)))
        for i in range(len(nodes))
    ]
    origin = np.array([own[0] for own, _ in bins])
    axes = Axes(directions, origin, width, np.array([n for _, n in bins], dtype=np.int64))
    counted = yield from recount(with_axes(tree, nodes, axes, thresholds, bandwidth))
    depth = counted.relative_depth.copy()
    for node in np.flatnonzero(np.diff(counted.first_bin)).tolist():
        histogram = histogram_of(counted, node)
        depth[node] = histogram.depth[0, histogram.bin_of(counted.thresholds[node])]
    # Few rows change sides, so the deviations of the fit still rank the columns; new ones would take a pass.
    return replace(counted, relative_depth=depth, deviations=tree.deviations)


def leading_directions(
    settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None], n: int
) -> Plan[Floats]:
    """Plan the search for orthogonal directions, each the best of the rows without those before (deflation).

    settings: they propose and score directions as for the root of a tree.
    Returns a plan of one pass, with the directions for raw rows, shape (at most n, n_features): fewer if the rows do
        not vary across those before.
    """
    look: FirstLook = yield Pass("reading", first_pass(settings, shape))
    check(look)
    sample, standardise = first_sample(settings, shape, look)
    sample = sample.first(settings.sample_size or PILOT_ROWS)
    rows = standardise.jittered(sample.rows, sample.hashes)
    if not settings.from_origin:
        rows = near_rows(rows, rows, least_share(settings.selector.min_rows, settings.selector.n_root))[0]
    found = _deflated(settings, rows.astype(np.float64), standardise, n)
    return standardise.raw(StandardDirections(found)).vectors / standardise.unit


@one_blas_thread()
def _deflated(settings: GrowthSettings, rows: Floats, standardise: Standardiser, n: int) -> Floats:
    found = np.empty((0, rows.shape[1]))
    rows = rows if settings.from_origin else rows - rows.mean(axis=0)
    varying = 1e-6 * np.abs(rows).max(initial=0.0)
    min_rows = settings.selector.min_rows * len(rows) / settings.selector.n_root
    while len(found) < min(n, rows.shape[1]) and np.abs(rows).max(initial=0.0) > varying:
        rng = generator(settings.seed, len(found))
        proposal = settings.propose(rows, rng, standardise.discrete.jitter.columns, min_rows)
        vectors = _across(proposal.directions.vectors.astype(np.float64), found)
        kept = np.linalg.norm(vectors, axis=1) > 1e-9 * np.linalg.norm(proposal.directions.vectors, axis=1)
        if not kept.any():
            break
        across = Proposal(StandardDirections(vectors), proposal.thresholds)[kept].of_length_one()
        best = _across(_best(settings, rows, across, standardise)[None], found)  # once more, for rounding errors
        found = np.concatenate([found, best / np.linalg.norm(best)])
        rows = rows - np.outer(rows @ found[-1], found[-1])
    return found


def _across(vectors: Floats, found: Floats) -> Floats:
    return vectors - vectors @ found.T @ found


def _best(settings: GrowthSettings, rows: AnyArray, proposal: Proposal, standardise: Standardiser) -> Floats:
    """Return the direction with the best score, or the first without an admissible split."""
    selector, bandwidth = settings.selector, bandwidth_of(settings.bandwidth, rows)
    min_rows = selector.min_rows * (len(rows) / selector.n_root)
    kept = Scorer(rows, selector.rule, bandwidth, min_rows, standardise).best(proposal, 1)
    return (kept if len(kept) else proposal).directions.vectors[0]
