"""The plan of an ensemble of minimum density hyperplanes, weak partitions combined by a Bernoulli mixture."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._blas import one_blas_thread
from .._random import generator
from .._typing import AnyArray, Booleans, Floats, Integers
from ..chunks import Plan, work_through
from ..density.kde import Bandwidth
from ..growth.bounds import near_rows
from ..growth.branches import Branch, SampleRows, branch_pass, first_parts, is_choosing
from ..growth.branches import State as BranchState
from ..growth.exemplars import Exemplars, medoids
from ..growth.merging import Merges, merged_cells
from ..growth.passes import FirstLook, Sample, first_read, of_all_rows
from ..growth.scaling import Standardiser, standardiser
from ..growth.scoring import Scorer, bandwidth_of, candidates_for
from ..projections.directions import Proposal, StandardDirections
from ..projections.thesis import constrained_hyperplane
from ..splits.choose import SplitSelector
from ..splits.rules import SplitRule
from ..splits.stopping import StopRule
from .mixture import BinaryTally, Criterion, HyperplaneMixture, Mixture, bernoulli_tally, cells, fit_components, fits
from .votes import TuplePass, Tuples, bits_of, words_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EnsembleSettings:
    """The settings for finding and combining hyperplanes; see `mdh_dask.HyperplaneEnsemble`."""

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
    parts_at: int | None = None
    """Index of the array with the parts of dependent rows; see `mdh_dask.growth.passes.hashes_of`."""


class Ensemble(NamedTuple):
    """The mixture, with the largest cluster first, and what else a fit finds; see `mdh_dask.HyperplaneEnsemble`."""

    mixture: HyperplaneMixture
    scores: tuple[float, ...]
    exemplars: Exemplars
    merges: Merges | None
    """The merges of clusters, if they were tested."""


def hyperplane_ensemble(
    settings: EnsembleSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[Ensemble]:
    """Plan an ensemble of hyperplanes (thesis algorithm 3).

    Clusters without a valley between them on the sample are merged, unless their number is given or the stop rule tests
    nothing on held-out rows. Two passes: the first draws the sample on which hyperplanes are found, the second counts
    the tuples of their sides. One pass if the sample holds all rows, or if no hyperplane lies in a valley.
    """
    n_rows, _ = shape
    look = yield from first_read(settings.seed, settings.sample_size, n_rows, check, settings.parts_at)
    sample = look.sample
    standardise = standardiser(look.columns, sample, settings.scale, discrete=True)
    found, failed = find_hyperplanes(sample, standardise, settings, n_rows)
    raw = standardise.raw(found.directions)
    assert found.thresholds is not None
    offsets = found.thresholds + standardise.shift_along(raw)
    kept = distinct_partitions(bits_of(words_of(sample.rows, raw.vectors, offsets), len(offsets)))
    kept = kept[: settings.n_hyperplanes]
    logger.info("%s of %s hyperplanes lie in valleys and are distinct", len(kept), len(found))
    counting = TuplePass(np.ascontiguousarray(raw.vectors[kept]), offsets[kept], 2**16)
    tuples: Tuples
    if len(kept):
        tuples = yield from of_all_rows("counting", counting, sample, n_rows)
    else:
        tuples = Tuples(np.empty((1, 0), np.uint64), np.array([n_rows]), np.zeros(1, dtype=np.int64), n_rows)
    mixture, scores = _combined(counting, tuples, settings)
    merges = None
    if settings.n_clusters is None and settings.stop.holds_out and mixture.n_clusters > 1:
        # A hyperplane in a valley also divides clusters beside it, where there is none.
        own, in_groups = mixture.labels(sample.rows), settings.parts_at is not None
        merged = merged_cells(own, mixture.n_clusters, standardise, sample, in_groups=in_groups)
        merges = Merges(merged, mixture.n_rows)
        mixture = mixture.merged(merged.group, tuples)
    exemplars = medoids(sample, standardise(sample.rows), mixture.labels(sample.rows), mixture.n_clusters)
    return Ensemble(replace(mixture, failed=failed), scores, exemplars, merges)


def find_hyperplanes(
    sample: Sample, standardise: Standardiser, settings: EnsembleSettings, n_rows: int
) -> tuple[Proposal, Floats]:
    """Return hyperplanes for standardised rows that random starts lead to and that lie in a valley.

    The second value describes the best one that does not, as in `HyperplaneMixture`.
    """
    rows = standardise.jittered(sample.rows, sample.hashes)
    scoring = rows
    root = Branch(1, SampleRows.of_all(sample), n_rows, counted=True, state=BranchState.WAITING)
    if settings.stop.holds_out:
        scoring = rows[is_choosing(root, sample.hashes, settings.parts_at)]
    rows, scoring = near_rows(rows, scoring)
    varies = len(scoring) > 1 and np.ptp(scoring, axis=0).any()
    ends = _descend(scoring.astype(np.float64), settings) if varies else []
    if not ends:
        return Proposal(StandardDirections(np.empty((0, rows.shape[1]))), np.empty(0)), np.empty(0)
    directions, thresholds = (np.array(part) for part in zip(*ends))
    proposal = Proposal(StandardDirections(directions), thresholds)
    accepted, failed = _in_valleys(root, proposal, rows, scoring, standardise, settings)
    return proposal[accepted], failed


def _descend(rows: Floats, settings: EnsembleSettings) -> list[tuple[Floats, float]]:
    """Return the ends of descents from random directions that are local minimisers within random bounds."""
    ends: dict[int, tuple[Floats, float]] = {}

    def descend(j: int) -> tuple[()]:
        rng = generator(settings.seed, 0, j)
        start = rng.standard_normal(rows.shape[1])
        alpha = settings.alpha_max * rng.uniform(0.05, 1)  # a smaller bound would fix it at the mean
        end = constrained_hyperplane(rows, np.asarray(start), alpha=alpha)
        if end.relative_depth > 0:
            ends[j] = end.direction, end.offset
        return ()

    work_through(descend, range(2 * settings.n_hyperplanes))  # some starts end where others did
    return [ends[j] for j in sorted(ends)]


def _in_valleys(
    root: Branch,
    proposal: Proposal,
    rows: AnyArray,
    scoring: AnyArray,
    standardise: Standardiser,
    settings: EnsembleSettings,
) -> tuple[Integers, Floats]:
    """Return the hyperplanes that the stop rule accepts on its test rows, and the best of the others."""
    rule = SplitRule(threshold_rule="proposed")
    scorer = Scorer(scoring, rule, bandwidth_of(settings.bandwidth, scoring), 1, standardise)
    root.candidates = candidates_for(rows, proposal, scorer, len(rows))
    sweep = branch_pass([root], settings.seed, jitter=standardise.discrete.jitter, parts_at=settings.parts_at)
    counts = sweep.sweep(*root.sample.load()).along(slice(None), first_parts(root, settings.parts_at))
    n_tests = len(root.candidates)
    selector = SplitSelector(rule, settings.stop, n_tests, int(root.n_rows), min_rows=1)
    train, test, whole, _ = selector.halves(counts, root.candidates)
    bins = rule.locate(whole, 1).tolist()
    tested = {
        j: selector.test(counts, j, train, test, k, n_tests, generator(settings.seed, 1, j))
        for j, k in enumerate(bins) if k >= 0
    }  # fmt: skip
    accepted = np.array([j for j, (is_valley, _) in tested.items() if is_valley], dtype=np.intp)
    failed = [j for j in tested if j not in accepted]
    if not failed:
        return accepted, np.empty(0)
    best = max(failed, key=lambda j: test[j].depth[0, bins[j]])
    level = (1 - settings.stop.quantile) / n_tests
    return accepted, np.array([test[best].depth[0, bins[best]], tested[best][1] / n_tests, level])


def distinct_partitions(bits: Booleans) -> Integers:
    """Return the columns that differ from all previous ones and their complements in at least 1 % of the rows."""
    signs = np.where(bits, 1.0, -1.0)
    alike = np.abs(signs.T @ signs) / max(len(bits), 1)
    kept: list[int] = []
    for j in range(bits.shape[1]):
        # Hyperplanes count as equal if a smaller share of the sample lies on different sides: as independent
        # evidence for one partition they would inflate the likelihood of any mixture with it.
        if (alike[j, kept] <= 0.98).all():
            kept.append(j)
    return np.array(kept, dtype=np.intp)


@one_blas_thread()  # the last bits of products depend on the threads
def _combined(
    counting: TuplePass, tuples: Tuples, settings: EnsembleSettings
) -> tuple[HyperplaneMixture, tuple[float, ...]]:
    """Return the mixture of the tuples, with only components that are the most probable one of some tuple."""
    n_planes = len(counting.planes)
    tally = bernoulli_tally(bits_of(tuples.words, n_planes), tuples.counts)
    mixture, scores = _mixture_of(tally, n_planes, settings)
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
    return model, scores


def _mixture_of(tally: BinaryTally, n_planes: int, settings: EnsembleSettings) -> tuple[Mixture, tuple[float, ...]]:
    if n_planes == 0:
        return Mixture(np.zeros(1), np.empty((1, 0))), ()
    if settings.n_clusters is not None:
        k = min(settings.n_clusters, len(tally.counts))
        fit = fit_components(tally, k, settings.n_init, settings.seed)
        return fit.mixture, (fit.score(settings.criterion, tally),)
    # The table of the sides of H hyperplanes determines a mixture of ``2^H / (H + 1)`` components at most: of
    # five, five. Of fewer hyperplanes every cell with enough rows is a cluster, as the BIC of so small a table
    # loses clusters.
    if n_planes < 6:
        return cells(tally, least=np.sqrt(tally.counts.sum()), most=settings.max_clusters), ()
    tried = list(fits(tally, settings.max_clusters, settings.n_init, settings.seed, settings.criterion))
    scores = tuple(fit.score(settings.criterion, tally) for fit in tried)
    return tried[int(np.argmin(scores))].mixture, scores
