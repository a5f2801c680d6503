"""The plan that finds several directions of rows, each the best across those before."""

from collections.abc import Callable

import numpy as np

from .._random import generator
from .._typing import AnyArray, Floats
from ..chunks import Pass, Plan
from ..projections.directions import Proposal, StandardDirections
from .bounds import least_share, near_rows
from .branches import GrowthSettings
from .growth import first_pass, first_sample
from .passes import PILOT_ROWS, FirstLook
from .scaling import Standardiser
from .scoring import Scorer, bandwidth_of


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
    best: Floats = (kept if len(kept) else proposal).directions.vectors[0]
    return best
