"""The plan of an ensemble of minimum density hyperplanes, weak partitions combined by a Bernoulli mixture."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._random import generator
from .._state import State, checked_array
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Plan, work_through
from ..density.bandwidth import Bandwidth
from ..growth.bounds import bounds_of
from ..growth.branches import Branch, SampleRows, branch_pass, hash_bit
from ..growth.branches import State as BranchState
from ..growth.passes import FirstLook, Sample
from ..growth.reading import first_read, of_all_rows
from ..growth.scaling import Standardiser, standardiser
from ..growth.screening import bandwidth_of, candidates_for
from ..projections.directions import Proposal, StandardDirections
from ..projections.sqp import constrained_hyperplane
from ..splits.rules import SplitRule
from ..splits.stopping import StopRule
from .mixture import Criterion, Mixture, Tally, bernoulli_tally, cells, fit_components, fits
from .tuples import TuplePass, Tuples, bits_of, words_of

logger = logging.getLogger(__name__)

DRAWS = 2
"""Starts per hyperplane, as some end where others did."""

SAME = 0.01
"""Hyperplanes count as equal if a smaller share of the sample lies on different sides: as independent evidence for one
partition they would inflate the likelihood of any mixture with it."""

IDENTIFIED = 6
"""The table of the sides of H hyperplanes determines a mixture of ``2^H / (H + 1)`` components at most: of five, five.
Of fewer hyperplanes every cell with enough rows is a cluster, as the BIC of so small a table loses clusters."""

LEAST_ALPHA = 0.05
"""Least bound on a hyperplane; a smaller one would fix it at the mean."""

MOST_TUPLES = 2**16

ROWS_AT_ONCE = 8192
"""Rows whose probabilities are in memory at once while rows are labelled."""


@dataclass(frozen=True)
class EnsembleSettings:
    """The settings for finding and combining hyperplanes.

    Parameters
    ----------
    n_hyperplanes : int
    alpha_max : float
        Every hyperplane is held within a random share of this many standard deviations of the mean.
    stop : StopRule
        Decides which hyperplanes lie in a valley.
    bandwidth : Bandwidth
    sample_size : int
        Number of rows on which hyperplanes are searched and tested.
    scale : bool
    max_clusters : int
    n_clusters : int or None
        Fixed number of clusters, if given.
    criterion : str
        Criterion for the number of clusters.
    n_init : int
        Number of starts of every mixture.
    seed : int
    """

    n_hyperplanes: int
    alpha_max: float
    stop: StopRule
    bandwidth: Bandwidth
    sample_size: int
    scale: bool
    max_clusters: int
    n_clusters: int | None
    criterion: Criterion
    n_init: int
    seed: int


@dataclass(frozen=True)
class HyperplaneMixture(State):
    """Hyperplanes and a mixture of the tuples of their sides.

    Parameters
    ----------
    planes : array of shape (n_hyperplanes, n_features), float64
        Directions for raw rows.
    offsets : array of shape (n_hyperplanes,), float64
        Thresholds: a row lies above a hyperplane if ``plane . x > offset``.
    log_weights : array of shape (n_clusters,), float64
    log_probabilities : array of shape (n_clusters, n_hyperplanes, 2), float64
        Logarithms of the probabilities of lying below and above each hyperplane.
    n_rows : array of shape (n_clusters,), int64
        Number of rows of each cluster, counted over at most `MOST_TUPLES` tuples.
    complete : bool
        Whether all rows were counted.
    """

    kind = "hyperplanes"
    planes: Floats
    offsets: Floats
    log_weights: Floats
    log_probabilities: Floats
    n_rows: Integers
    complete: bool

    @property
    def sizes(self) -> Integers | None:
        """Return the number of rows in every cluster, if all were counted."""
        return self.n_rows if self.complete else None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.log_weights)

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.planes.shape[1]

    def labels(self, rows: AnyArray) -> Integers:
        """Return the most probable cluster of every row, shape (n_rows,), int32."""
        return self.shares(rows).argmax(axis=1).astype(np.int32)

    def agreeing(self, rows: AnyArray) -> Floats:
        """Return the probability of the most probable cluster of every row."""
        return self.shares(rows).max(axis=1)

    def check(self) -> None:
        """Raise an error unless the arrays are those of hyperplanes and of logarithms of probabilities."""
        h, k = len(np.atleast_1d(self.offsets)), len(np.atleast_1d(self.log_weights))
        width = self.planes.shape[-1] if self.planes.ndim == 2 else 0
        if k < 1 or width < 1:
            raise ValueError(f"expected at least 1 cluster and 1 column, got {k} and {width}")
        checked_array("planes", self.planes, (h, width))
        checked_array("offsets", self.offsets, (h,))
        checked_array("log_weights", self.log_weights, (k,))
        checked_array("log_probabilities", self.log_probabilities, (k, h, 2))
        checked_array("n_rows", self.n_rows, (k,), least=0)
        if not isinstance(self.complete, bool):
            raise ValueError(f"expected true or false for complete, got {self.complete!r}")

    def shares(self, rows: AnyArray) -> Floats:
        """Return the probability of every cluster given the sides of a row, shape (n_rows, n_clusters)."""
        parts = [self._shares(rows[i : i + ROWS_AT_ONCE]) for i in range(0, max(len(rows), 1), ROWS_AT_ONCE)]
        return np.concatenate(parts)

    def _shares(self, rows: AnyArray) -> Floats:
        bits = bits_of(words_of(rows, self.planes, self.offsets), len(self.planes)).astype(np.intp)
        joint = np.repeat(self.log_weights[None], len(rows), axis=0)
        # One hyperplane at a time, as the last bits of a matrix product depend on the rows of the block.
        for j, side in enumerate(bits.T):
            joint += self.log_probabilities[:, j, :].T[side]
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)


class Ensemble(NamedTuple):
    """The result of the plan.

    Attributes
    ----------
    mixture : HyperplaneMixture
        Mixture with the largest cluster first.
    scores : tuple of float
        The criterion for 1, 2, ... components, or for `n_clusters` alone.
    n_found : int
        Number of hyperplanes in valleys, including equal ones.
    """

    mixture: HyperplaneMixture
    scores: tuple[float, ...]
    n_found: int


def hyperplane_ensemble(
    settings: EnsembleSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[Ensemble]:
    """Plan an ensemble of hyperplanes (thesis algorithm 3).

    Parameters
    ----------
    settings : EnsembleSettings
    shape : (n_rows, n_features)
        Shape of the rows that the passes will read.
    check : callable
        Raises an error if the first pass shows that the rows cannot be clustered.

    Notes
    -----
    Two passes: the first draws the sample on which hyperplanes are found, the second counts the tuples of their sides.
    One pass if the sample holds all rows, or if no hyperplane lies in a valley.
    """
    n_rows, _ = shape
    look = yield from first_read(settings.seed, settings.sample_size, n_rows, check)
    sample = look.sample
    standardise = standardiser(look.columns, sample, settings.scale, moderate=True, spread=True)
    found = find_hyperplanes(sample, standardise, settings, n_rows)
    raw = standardise.raw(found.directions)
    assert found.thresholds is not None
    offsets = found.thresholds + standardise.shift_along(raw)
    kept = distinct_partitions(bits_of(words_of(sample.rows, raw.vectors, offsets), len(offsets)))
    kept = kept[: settings.n_hyperplanes]
    logger.info("%s of %s hyperplanes lie in valleys and are distinct", len(kept), len(found))
    counting = TuplePass(np.ascontiguousarray(raw.vectors[kept]), offsets[kept], MOST_TUPLES)
    tuples: Tuples
    if len(kept):
        tuples = yield from of_all_rows("counting", counting, sample, n_rows)
    else:
        tuples = counting.finalise(counting.chunk(0, sample.rows))
    return _combined(counting, tuples, len(found), n_rows, settings)


def find_hyperplanes(sample: Sample, standardise: Standardiser, settings: EnsembleSettings, n_rows: int) -> Proposal:
    """Return hyperplanes for standardised rows that random starts lead to and that lie in a valley."""
    rows = standardise.spread(sample.rows, sample.hashes)
    scoring = rows
    root = Branch(1, SampleRows.of_all(sample), n_rows, counted=True, state=BranchState.WAITING)
    if settings.stop.holds_out:
        scoring = rows[(sample.hashes >> np.uint64(hash_bit(root))) & np.uint64(1) == 0]
    bounds = bounds_of(scoring)
    rows, scoring = bounds.near(rows), bounds.near(scoring)
    if len(scoring) < 2 or not np.ptp(scoring, axis=0).any():
        return Proposal(StandardDirections(np.empty((0, rows.shape[1]))), np.empty(0))
    ends = _descend(scoring.astype(np.float64), settings)
    if not ends:
        return Proposal(StandardDirections(np.empty((0, rows.shape[1]))), np.empty(0))
    directions, thresholds = (np.array(part) for part in zip(*ends))
    proposal = Proposal(StandardDirections(directions), thresholds)
    return proposal[_in_valleys(root, proposal, rows, scoring, standardise, settings)]


def _descend(rows: Floats, settings: EnsembleSettings) -> list[tuple[Floats, float]]:
    """Return the ends of descents from random directions that are local minimisers within random bounds."""
    ends: dict[int, tuple[Floats, float]] = {}

    def descend(j: int) -> tuple[()]:
        rng = generator(settings.seed, 0, j)
        start = rng.standard_normal(rows.shape[1])
        alpha = settings.alpha_max * rng.uniform(LEAST_ALPHA, 1)
        end = constrained_hyperplane(rows, np.asarray(start), alpha=alpha)
        if end.relative_depth > 0:
            ends[j] = end.direction, end.offset
        return ()

    work_through(descend, range(DRAWS * settings.n_hyperplanes))
    return [ends[j] for j in sorted(ends)]


def _in_valleys(
    root: Branch,
    proposal: Proposal,
    rows: AnyArray,
    scoring: AnyArray,
    standardise: Standardiser,
    settings: EnsembleSettings,
) -> Integers:
    """Return the hyperplanes that the stop rule accepts on its test rows."""
    bandwidth = bandwidth_of(settings.bandwidth, scoring)
    root.candidates = candidates_for(rows, proposal, standardise, bandwidth, len(rows))
    sweep = branch_pass([root], settings.seed, lattices=standardise.lattices)
    counts = sweep.sweep(*root.sample.load()).along(slice(None))
    whole = counts.of(root.candidates)
    test = counts.of(root.candidates, half=1) if settings.stop.holds_out else whole
    bins = SplitRule(threshold_rule="proposed").locate(whole, 1)
    accepted = [
        k >= 0 and settings.stop.accepts(test[j], k, int(root.n_rows), len(bins), generator(settings.seed, 1, j))
        for j, k in enumerate(bins.tolist())
    ]
    return np.flatnonzero(accepted)


def distinct_partitions(bits: Booleans) -> Integers:
    """Return the columns that differ from all previous ones and their complements in at least `SAME` of the rows.

    Examples
    --------
    >>> distinct_partitions(np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]], dtype=bool))
    array([0, 2])
    """
    signs = np.where(bits, 1.0, -1.0)
    alike = np.abs(signs.T @ signs) / max(len(bits), 1)
    kept: list[int] = []
    for j in range(bits.shape[1]):
        if (alike[j, kept] <= 1 - 2 * SAME).all():
            kept.append(j)
    return np.array(kept, dtype=np.intp)


def _combined(counting: TuplePass, tuples: Tuples, n_found: int, n_rows: int, settings: EnsembleSettings) -> Ensemble:
    """Return the mixture of the tuples, with only components that are the most probable one of some tuple."""
    n_planes = len(counting.planes)
    tally = bernoulli_tally(bits_of(tuples.words, n_planes), tuples.counts)
    found: list[tuple[Mixture, tuple[float, ...]]] = []

    def find(tally: Tally) -> tuple[()]:
        found.append(_mixture_of(tally, n_planes, settings))
        return ()

    # A single item of work, so that BLAS is limited to one thread: the last bits of products depend on the threads.
    work_through(find, [tally])
    mixture, scores = found[0]
    counts = np.zeros(mixture.n_components, dtype=np.int64)
    np.add.at(counts, mixture.log_joint(tally.ones).argmax(axis=1), tuples.counts)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    own = mixture.of(order)
    probabilities = own.log_probabilities.reshape(len(order), n_planes, 2)
    model = HyperplaneMixture(
        counting.planes, counting.offsets, own.log_weights, probabilities, counts[order],
        complete=int(counts.sum()) == tuples.n_rows,
    )  # fmt: skip
    return Ensemble(model, scores, n_found)


def _mixture_of(tally: Tally, n_planes: int, settings: EnsembleSettings) -> tuple[Mixture, tuple[float, ...]]:
    if n_planes == 0:
        return Mixture(np.zeros(1), np.empty((1, 0))), ()
    if settings.n_clusters is not None:
        k = min(settings.n_clusters, len(tally.counts))
        fit = fit_components(tally, k, settings.n_init, settings.seed)
        return fit.mixture, (fit.score(settings.criterion, tally),)
    if n_planes < IDENTIFIED:
        return cells(tally, least=np.sqrt(tally.counts.sum())), ()
    tried = list(fits(tally, settings.max_clusters, settings.n_init, settings.seed, settings.criterion))
    scores = tuple(fit.score(settings.criterion, tally) for fit in tried)
    return tried[int(np.argmin(scores))].mixture, scores
