"""Growing a tree: propose directions on a sample, measure them on all rows, choose, route, repeat."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .._random import generator
from .._typing import AnyArray, Floats, RowArray
from ..chunks import Progress, reduce_rows, work_through
from ..density.bandwidth import Bandwidth
from ..projections.random import KeyedDirections
from ..splits.choose import Chooser, Counts
from ..tree.structure import Tree
from .branches import Branch, Part, State, arrivals_of, branch_pass, hash_bit, tree_of
from .order import ORDERS, prune
from .passes import FirstLook, FirstPass, Sample, sample_limit, smallest_hashes
from .sampling import INFORMATIVE_ROWS, PILOT_ROWS, fresh_samples, rows_held
from .scaling import Standardiser, standardiser
from .screening import bandwidth_of, candidates_for, screen

logger = logging.getLogger(__name__)

Proposer = Callable[[Any, np.random.Generator], Floats]
"""Gives directions for the standardised rows of a branch: ``(rows, rng) -> (n_directions, n_features)``."""


@dataclass
class Growth:
    """Grows one tree.

    Parameters
    ----------
    propose : callable
        Gives the directions of a branch; see `Proposer`.
    chooser : Chooser
    bandwidth : Bandwidth
    n_candidates : int
        Directions of a branch that are counted on all rows, if they are scored on a sample.
    sample_size : int or None
        Rows on which the directions of a branch are scored; None to score every direction on all rows.
    scale : bool
        Whether directions are proposed for columns of unit variance.
    max_depth : int or None
        Splits on the way to a leaf, at most.
    seed : int
    order : str or None
        A name in `ORDERS`: clusters are split in this order until there are enough. None to split all that can be.
    max_clusters : int or None
        What is enough, for an order; None to let the order say.
    family : str or None
        Family of random directions that `propose` gives whatever the rows are, so that workers can make them.
    suggest : callable, optional
        Gives a threshold for each of the directions that `propose` gave, for standardised rows.
    progress : callable
        Makes a progress bar, or None, from the description of a pass.
    """

    propose: Proposer
    chooser: Chooser
    bandwidth: Bandwidth
    n_candidates: int
    sample_size: int | None
    scale: bool
    max_depth: int | None
    seed: int
    order: str | None = None
    max_clusters: int | None = None
    family: str | None = None
    suggest: Callable[[Floats], Floats] | None = None
    progress: Callable[[str], Progress | None] = field(default=lambda description: None)
    n_passes: int = field(default=0, init=False)
    standardise: Standardiser = field(init=False)

    def grow(self, rows: RowArray, check: Callable[[FirstLook], None]) -> Tree:
        """Grow the tree.

        Parameters
        ----------
        rows : array of shape (n_rows, n_features), NumPy or Dask
        check : callable
            Raises an error if the first look shows that the rows cannot be clustered.

        Returns
        -------
        Tree
            Its `n_rows` count all rows.

        Notes
        -----
        One pass, which draws a sample; no more if the sample holds all rows. Else one pass counts all branches that
        the sample suggests, and more follow only where a split moved or where a large branch showed a further
        valley on a fresh sample. With ``sample_size=None``, a pass per level and one more.
        """
        root = self._first_pass(rows, check)
        while True:
            self._look(root)
            fresh = fresh_samples(root, self.sample_size)
            if not fresh and not any(branch.state is State.WAITING for branch in root.walk()):
                if self.order is not None:
                    prune(root, self._in_order(root))
                return tree_of(root)
            self._count(rows, root, fresh)

    def _first_pass(self, rows: RowArray, check: Callable[[FirstLook], None]) -> Branch:
        wanted = rows_held(self.sample_size, rows.shape[1]) if self.sample_size else PILOT_ROWS
        limit = sample_limit(wanted, len(rows))
        look = reduce_rows(FirstPass(self.seed, limit), rows, progress=self.bar("reading"))
        check(look)
        sample = smallest_hashes(look.sample, wanted)
        self.standardise = standardiser(look.columns, sample, self.scale)
        return Branch(1, Part.of_all(sample), len(rows), counted=True)

    def bar(self, verb: str) -> Progress | None:
        """Count a pass, and return what makes its progress bar."""
        self.n_passes += 1
        return self.progress(f"pass {self.n_passes}: {verb}")

    def _look(self, root: Branch) -> None:
        """Look at the open branches; if there is an order, only at those whose turn comes."""
        if self.order is None:
            work_through(self._look_at, [branch for branch in root.walk() if branch.state is State.OPEN])
        else:
            work_through(lambda root: self._in_order(root) and (), [root])

    def _in_order(self, root: Branch) -> set[Branch]:
        return ORDERS[self.order or ""](root, self.max_clusters, self.standardise, self._look_at)

    def _look_at(self, branch: Branch) -> list[Branch]:
        """Look at the sample of an open branch; return its children that are to be looked at."""
        too_deep = self.max_depth is not None and branch.level >= self.max_depth
        if too_deep or branch.n_rows < 2 * self.chooser.min_rows or len(branch.sample) < 2:
            branch.state = State.LEAF
        elif branch.complete or self.sample_size is not None:
            self._split_sample(branch)
        else:
            self._await_all_directions(branch)
        return list(branch.children or ())

    def _await_all_directions(self, branch: Branch) -> None:
        """Have every proposed direction counted on all rows."""
        rows, scoring = self._rows(branch, smallest_hashes(branch.sample.load(), PILOT_ROWS))
        bandwidth = bandwidth_of(self.bandwidth, scoring)
        directions = self._propose(branch, scoring)
        branch.state = State.WAITING if len(directions) else State.LEAF
        if len(directions):
            self._lay_out(branch, directions, rows, bandwidth)
            if self.family is not None and not bandwidth.principal:
                key = (self.seed, branch.path)
                branch.keyed = KeyedDirections(self.family, key, len(directions), self.standardise.scale)

    def _split_sample(self, branch: Branch) -> None:
        """Split the branch as its sample suggests: for good if that holds all rows, else until all are counted."""
        size = self.sample_size or PILOT_ROWS
        if not branch.complete and len(branch.sample) < min(INFORMATIVE_ROWS, size):
            branch.state = State.UNSURE
            return
        whole = branch.sample.load()
        sample = smallest_hashes(whole, size)
        rows, scoring = self._rows(branch, sample)
        bandwidth = bandwidth_of(self.bandwidth, scoring)
        directions = self._screened(branch, scoring, bandwidth)
        branch.state = State.WAITING if len(directions) else State.LEAF
        if len(directions) == 0:
            return
        self._lay_out(branch, directions, rows, bandwidth)
        counted = whole if branch.complete else sample
        counts = branch_pass([branch], self.seed, extremes=self._extremes).sweep(*counted)
        self._decide(branch, counts.along(slice(None)), share=len(counted.hashes) / branch.n_rows)
        found = branch.verdict is not None and branch.verdict.accepted
        if found:
            branch.lead_with_chosen()
            branch.part(counted=branch.complete)
        if branch.complete:
            branch.state = State.SPLIT if found else State.LEAF

    def _rows(self, branch: Branch, sample: Sample) -> tuple[AnyArray, AnyArray]:
        """Return standardised rows of a sample, and those that score directions: not the half that tests them."""
        rows = self.standardise(sample.rows)
        if not self.chooser.stop.holds_out:
            return rows, rows
        half = (sample.hashes >> np.uint64(hash_bit(branch))) & np.uint64(1)
        return rows, rows[half == 0]

    def _propose(self, branch: Branch, scoring: AnyArray) -> Floats:
        """Return directions for the rows that score them; none if all rows are the same."""
        if len(scoring) < 2:
            return np.empty((0, scoring.shape[1]))
        directions = self.propose(scoring, generator(self.seed, branch.path))
        directions = directions[directions.any(axis=1)]
        if self.bandwidth.principal:
            # The bandwidth that all directions share is that of directions of length one.
            directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return directions

    def _screened(self, branch: Branch, scoring: AnyArray, bandwidth: Bandwidth) -> Floats:
        """Return the best directions by their scores on the sample."""
        min_rows = self.chooser.min_rows * len(scoring) / branch.n_rows
        directions = self._propose(branch, scoring)
        rule = self.chooser.rule
        return screen(scoring, directions, self.n_candidates, rule, bandwidth, min_rows, self.standardise)

    def _lay_out(self, branch: Branch, directions: Floats, rows: AnyArray, bandwidth: Bandwidth) -> None:
        suggested = self.suggest(directions) if self.suggest else None
        laid_out = candidates_for(rows, directions, self.standardise, bandwidth, branch.n_rows, suggested)
        branch.candidates, branch.n_bins = laid_out

    def _count(self, rows: RowArray, root: Branch, fresh: dict[Branch, float]) -> None:
        """In one pass, confirm, move or reject the waiting splits by the counts of all rows; renew some samples."""
        branches = list(root.walk())
        sweep = branch_pass(branches, self.seed, fresh, self._extremes)
        waiting = sum(branch.state is State.WAITING for branch in branches)
        logger.info("pass %s: %s branches counted, %s sampled anew", self.n_passes + 1, waiting, len(fresh))
        counts = reduce_rows(sweep, rows, progress=self.bar("counting"))
        for branch, n_rows in arrivals_of(branches, counts.arrivals).items():
            branch.n_rows, branch.counted = n_rows, True
        directions = (slice(first, last) for first, last in pairwise(sweep.first))
        counted = {b: counts.along(own) for b, own in zip(branches, directions) if own.start < own.stop}
        for i, branch in enumerate(branches):
            if branch in fresh:
                drawn = counts.sample.take(np.flatnonzero(counts.leaf == i))
                branch.sample = Part.of_all(smallest_hashes(drawn, int(fresh[branch])))
                branch.state = State.OPEN
        # The walk is lazy: under a split that moves or is rejected here, what was counted is not visited.
        for branch in root.walk():
            if branch in counted:
                self._confirm(branch, counted[branch], again=branch in fresh and self.sample_size is not None)

    def _confirm(self, branch: Branch, counts: Counts, again: bool) -> None:
        """Decide on all rows; a branch without a valley is looked at again if it has a fresh sample."""
        before = branch.verdict if branch.children else None
        self._decide(branch, counts, standing=before.threshold if before else None)
        verdict = branch.verdict
        if verdict is not None and verdict.accepted:
            branch.state = State.SPLIT
            if before is None or verdict.moved:
                branch.part(counted=True)
        elif before is not None:
            # The other candidates have not been counted yet.
            branch.state, branch.children = State.WAITING, None
        else:
            branch.state = State.OPEN if again else State.LEAF

    def _decide(self, branch: Branch, counts: Counts, share: float = 1.0, standing: float | None = None) -> None:
        assert branch.candidates is not None
        rng = generator(self.seed, branch.path, 1)
        branch.verdict = self.chooser.choose(counts, branch.candidates, rng, share=share, standing=standing)

    @property
    def _extremes(self) -> bool:
        return self.chooser.rule.at.needs_extremes
