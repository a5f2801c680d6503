"""Minimum density hyperplanes that leave labelled rows on their sides (JMLR 17(156), sections 2.2 and 5.2)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._typing import AnyArray, Floats
from ..density.bandwidth import BANDWIDTHS, Bandwidth
from .pca import centred_rows, scaled_components
from .pursuit import (
    ETA,
    MAX_ITERATIONS,
    STEPS_BEFORE_LAST,
    Labels,
    MDHResult,
    PenalisedDensity,
    Plane,
    growing_alphas,
    result_of,
)

GAMMAS = (0.1, 0.3)
"""Successive weights of the labels, for a unit standard deviation along the first principal component. The paper has
0.1, 1 and 10, without a margin (section 5.2.1)."""

MARGIN = 2.0
"""Bandwidths from the hyperplane within which labelled rows have a penalty on the right side, too."""


def labelled_hyperplane(
    rows: AnyArray,
    labelled: AnyArray,
    signs: AnyArray,
    *,
    starts: Sequence[Floats] = (),
    gammas: Sequence[float] = GAMMAS,
    margin: float = MARGIN,
    alpha_max: float = 0.9,
    bandwidth: Bandwidth = BANDWIDTHS["multimodal"],
) -> MDHResult:
    """Return the hyperplane of low density that leaves labelled rows on their sides.

    The index is ``f(v, b) + gamma sum_i max(0, m + y_i (b - v . x_i))^(1 + epsilon)`` over the labelled rows (eq. 16),
    where the paper has no margin ``m``. For the first gamma, alpha grows as for a clustering; it stays at `alpha_max`
    for the others. Without a margin a labelled row is silent until the hyperplane has passed it: on mixtures of two to
    six normal distributions and on banknotes the valley then wins over 20 labels that a linear classifier follows.

    The paper starts once, where the index at the smallest alpha is least. With five labels this choice gives them too
    little weight, and a valley that agrees with them by chance wins. Here every start is pursued to its end, with both
    signs; the end with the largest distance to its nearest labelled row, in standard deviations of the projections, is
    chosen (``python -m tests.benchmarks semi_supervised`` compares the choices).

    rows (n, n_features): finite values, in columns of comparable scale; all rows, the labelled ones included.
    labelled (n_labelled, n_features): the rows with known sides.
    signs (n_labelled,): 1 for rows that belong where ``direction . x > offset``, -1 for the others.
    starts, each (n_features,): directions to start from besides the first two principal components, such
        as that of a linear classifier.
    gammas: successive weights of the labels, in units in which the first principal component has variance one.
    margin: bandwidths from the hyperplane within which labelled rows have a penalty on the right side, too.
    bandwidth: rule for the bandwidth of all directions, from the projections on the first principal component.
    alpha_max: as for `minimum_density_hyperplanes`.
    Returns a hyperplane; its relative depth may be zero, as labels alone can hold it where the density has no valley.
    """
    centred = centred_rows(rows).astype(np.float64, copy=False)
    mean = np.asarray(rows)[0] - centred[0]
    components, sds = scaled_components(centred, 2)
    sd = float(sds[0])
    quartiles = np.subtract(*np.percentile(centred @ components[0], (75, 25)))
    h = float(bandwidth.of(len(centred), sd, quartiles))
    index = PenalisedDensity(centred, h, eta=min(ETA * sd, h))
    side = np.asarray(labelled, dtype=np.float64) - mean
    side_of = np.asarray(signs, dtype=np.float64)
    weights = [gamma / sd ** (2 + index.epsilon) for gamma in gammas]
    steps = [replace(index, labels=Labels(side, side_of, weight, margin * h)) for weight in weights]
    directions = [v / np.linalg.norm(v) for v in (*components, *starts)]
    ends = [_pursue(steps, sign * v, alpha_max, sd) for v in directions for sign in (1.0, -1.0)]
    best = max(ends, key=lambda end: _margin(steps[-1], end))
    return result_of(index, best, best).moved(None, mean)


def _margin(index: PenalisedDensity, end: Plane) -> float:
    """Return the margin of the nearest labelled row on its side of a hyperplane, in standard deviations."""
    assert index.labels is not None
    v, offset = end
    beyond = index.labels.signs * (index.labels.rows @ v - offset)
    return float(beyond.min() / (index.centred @ v).std())


def _pursue(indices: Sequence[PenalisedDensity], v: Floats, alpha_max: float, sd: float) -> Plane:
    """Return the end of a pursuit for growing alphas, and then for growing weights of the labels."""
    alphas = growing_alphas(alpha_max)
    phases = [(indices[0], alpha) for alpha in alphas] + [(index, alpha_max) for index in indices[1:]]
    for i, (index, alpha) in enumerate(phases):
        n_steps = MAX_ITERATIONS if i + 1 >= len(alphas) else STEPS_BEFORE_LAST
        v, best = index.descend(v, alpha, n_steps, unit=1 / sd)
    return v, best.offset
