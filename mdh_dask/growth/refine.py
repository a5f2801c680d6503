"""Turning the hyperplanes of a grown tree until the density of all rows on them is least."""

import logging
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from .._jit.descent import MEMORY, quasi_newton_step
from .._typing import Floats, Integers
from ..chunks import Pass, Plan
from ..density.kde import kernel_density, kernel_height
from ..density.modes import relative_depth
from ..tree.structure import Tree
from .recount import recount
from .scaling import Standardiser
from .screening import KERNEL_REACH, bins_over
from .valleys import BINS_PER_BANDWIDTH, REACH, Valley, ValleyPass, ValleySums, valley_of

logger = logging.getLogger(__name__)

ROUNDS = 3
"""Steps of the descent."""

TRIALS = (1.0, 0.3, 0.1)
"""Lengths of a step that are tried in the same pass, as shares of the quasi-Newton step."""

WORTHWHILE = 1e-3
"""A step that lowers the density by a smaller share is the last."""


@dataclass
class Splitter:
    """A hyperplane on its way: unit direction for standardised rows, valley there, bandwidth, and what it learned."""

    direction: Floats
    bandwidth: float
    length: float
    """Of the tree's direction: projections on it are so many times those on the direction of length one."""
    unit: float
    """About the standard deviation of the projections: what makes a step independent of the scale of the rows."""
    place: float
    """For raw rows, as the directions that are passed to workers."""
    range: tuple[float, float] = (np.nan, np.nan)
    """Smallest and largest projection, for raw rows."""
    valley: Valley | None = None
    trials: Floats = field(default_factory=lambda: np.empty((0, 0)))
    moving: bool = True
    memory: deque[tuple[Floats, Floats]] = field(default_factory=lambda: deque(maxlen=MEMORY))
    """Steps, and the changes of the gradient over them."""

    def propose(self) -> None:
        """Set the directions to look at next."""
        if self.valley is None:
            self.trials = self.direction[None]
            return
        steps, changes = np.array(self.memory).reshape(-1, 2, len(self.direction)).swapaxes(0, 1).copy()
        step = quasi_newton_step(self.valley.gradient * self.unit, steps, changes, (steps * changes).sum(axis=1))
        ends = self.direction + np.array(TRIALS)[:, None] * step
        self.trials = ends / np.linalg.norm(ends, axis=1, keepdims=True)

    def origins(self, standardise: Standardiser) -> Floats:
        """Return where the bins of the trials begin: around the place to which the rows near the valley move."""
        raw = standardise.raw(self.trials) @ standardise.centre
        if self.valley is None:
            return np.array([self.place]) - REACH * self.bandwidth
        shift = (self.trials - self.direction) @ self.valley.centre
        here = self.place - standardise.raw(self.direction) @ standardise.centre
        return here + shift + raw - REACH * self.bandwidth

    def learn(self, sums: ValleySums, i: int, origins: Floats) -> None:
        """Move to the trial of least density, if that is lower than here."""
        valleys = [
            valley_of(int(sums.n_rows[i]), sums.counts[i, k], sums.sums[i, k], v, float(origins[k]), self.bandwidth)
            for k, v in enumerate(self.trials)
        ]
        found = [k for k, valley in enumerate(valleys) if np.isfinite(valley.place)]
        best = min(found, key=lambda k: valleys[k].value, default=None)
        before = self.valley
        if best is None or (before is not None and valleys[best].value >= before.value * (1 - WORTHWHILE)):
            self.moving = False
            return
        after = valleys[best]
        if before is not None:
            step = self.trials[best] - self.direction
            change = (after.gradient - before.gradient) * self.unit
            # In a gap without rows a change may be so small that its square is zero.
            if step @ change > 0 and change @ change >= np.finfo(float).tiny:
                self.memory.append((step, change))
        self.direction, self.valley, self.place = self.trials[best], after, after.place
        self.moving = bool(after.gradient.any())  # as a single column has no other direction
        self.range = float(sums.low[i, best]), float(sums.high[i, best])


def refine(tree: Tree, standardise: Standardiser) -> Plan[Tree]:
    """Plan to turn the hyperplanes of a tree to where the density of all rows on them is least.

    Parameters
    ----------
    tree : Tree
    standardise : Standardiser
        Of the columns, as the tree was grown with.

    Returns
    -------
    generator
        A plan for `mdh_dask.chunks.run`; its result is the tree with the same nodes, and the densities
        and numbers of rows along the new hyperplanes.

    Notes
    -----
    Up to ``ROUNDS + 2`` passes. In each, one step is made for all splits at once: the rows around each split, summed
    by bins of their projections, give the density and its gradient (JMLR 17(156), section 4) at once, along
    several lengths of the step. The kernel stays that of the tree; the test of the splits is not repeated.
    """
    splits = np.flatnonzero(tree.left >= 0)
    if len(splits) == 0:
        return tree
    splitters = [_splitter(tree, int(node), standardise) for node in splits]
    for _ in range(ROUNDS + 1):
        moving = [i for i, splitter in enumerate(splitters) if splitter.moving]
        if not moving:
            break
        for i in moving:
            splitters[i].propose()
        origins = [splitters[i].origins(standardise) for i in moving]
        statistic = ValleyPass(
            tree, splits[moving], np.array([standardise.raw(splitters[i].trials) for i in moving]), np.array(origins),
            np.array([splitters[i].bandwidth / BINS_PER_BANDWIDTH for i in moving]), standardise,
        )  # fmt: skip
        sums: ValleySums = yield Pass("polishing", statistic)
        for place, i in enumerate(moving):
            splitters[i].learn(sums, place, origins[place])
        tree = _turned(tree, splits, splitters, standardise)
        logger.info("%s of %s splits were turned", sum(s.moving for s in splitters), len(splitters))
    return (yield from _measured(tree, splits, splitters))


def _splitter(tree: Tree, node: int, standardise: Standardiser) -> Splitter:
    scale = standardise.scale
    v = np.divide(tree.planes[node], scale, out=np.zeros(len(scale)), where=scale > 0)
    length = float(np.linalg.norm(v))
    h = tree.bandwidth[node] / length
    return Splitter(v / length, h, length, h * tree.n_rows[node] ** 0.2, tree.offsets[node] / length)


def _turned(tree: Tree, splits: Integers, splitters: list[Splitter], standardise: Standardiser) -> Tree:
    planes, offsets = tree.planes.copy(), tree.offsets.copy()
    for node, splitter in zip(splits, splitters):
        if splitter.valley is not None:
            planes[node] = standardise.raw(splitter.direction) * splitter.length
            offsets[node] = splitter.place * splitter.length
    return replace(tree, planes=planes, offsets=offsets)


def _measured(tree: Tree, splits: Integers, splitters: list[Splitter]) -> Plan[Tree]:
    """Plan to count all rows at its nodes, in bins that cover them along the turned directions."""
    origin, sizes = tree.origin.copy(), np.diff(tree.first_bin)
    for node, splitter in zip(splits, splitters):
        if splitter.valley is not None:
            low, high = np.array(splitter.range)[:, None] * splitter.length
            width, margin = tree.width[[node]], KERNEL_REACH * tree.bandwidth[[node]]
            origin[[node]], sizes[node] = bins_over(low, high, margin, width, tree.offsets[[node]])
    counted = yield from recount(replace(tree, origin=origin, first_bin=np.cumsum([0, *sizes])))
    depth = counted.relative_depth.copy()
    for node in np.flatnonzero(sizes).tolist():
        depth[node] = _depth(counted.histogram(node), counted, node)
    # Few rows change sides: the deviations of the fit still rank the columns, and other ones would take a pass.
    return replace(counted, relative_depth=depth, deviations=tree.deviations)


def _depth(counts: Integers, tree: Tree, node: int) -> float:
    width, h = tree.width[node], tree.bandwidth[node]
    density = kernel_density(counts, width, h)
    depths = relative_depth(density, kernel_height(np.asarray(counts[1:-1].sum()), h))
    place = int(np.clip(round((tree.offsets[node] - tree.origin[node]) / width) - 1, 0, len(counts) - 1))
    return float(depths[place])
