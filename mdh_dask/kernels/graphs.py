"""Kernels of the neighbour graph of the landmarks: spectral embeddings, and distances along paths."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import scipy
from scipy.sparse.csgraph import connected_components, csgraph_from_dense, minimum_spanning_tree, shortest_path
from scipy.spatial.distance import squareform

from .._jit.affinities import neighbour_affinities
from .._jit.landmarks import nearest_columns
from .._state import checked_array
from .._typing import Floats
from .base import Evaluator, FittedArray, Kernel, checked_number
from .distances import least_scale, neighbour_distances, squared_distances_to, squares_among

FENCE = 3.0
"""Distance of Tukey's outer fences from the quartiles of a column, in interquartile ranges.

Rows in a long tail are far from each other: their neighbours would be rows in the same tail, most of them of the
largest cluster, however far apart clusters are in other columns."""


def _fences(landmarks: Floats) -> tuple[Floats, Floats]:
    """Return Tukey's outer fences of each column, shape (n_columns,) each; farther away if half of it is one value."""
    lower, upper = np.quantile(landmarks, [0.25, 0.75], axis=0)
    spread = np.where(upper > lower, upper - lower, np.ptp(landmarks, axis=0))
    away = FENCE * np.where(spread > 0, spread, 1.0)
    return lower - away, upper + away


def _near(rows: Floats, low: Floats, high: Floats) -> Floats:
    """Return rows in which values beyond the fences are as far away as the logarithm of their distance from these."""
    beyond = np.maximum(rows - high, low - rows)
    if not (beyond > 0).any():
        return rows
    unit = (high - low) / (2 * FENCE + 1)  # the interquartile range
    drawn = unit * np.log1p(np.maximum(beyond, 0) / unit)
    return np.where(rows > high, high + drawn, np.where(rows < low, low - drawn, rows))


@dataclass(frozen=True)
class _NeighbourGraph(Kernel):
    """The affinities of `NearestNeighbors`, of which kernels differ in the eigenvalues of their features."""

    n_neighbors: int = 10
    radii: FittedArray = field(default=None, repr=False, compare=False, kw_only=True)
    inverse_roots: FittedArray = field(default=None, repr=False, compare=False, kw_only=True)
    floor: float = field(default=0.0, repr=False, compare=False, kw_only=True)
    low: FittedArray = field(default=None, repr=False, compare=False, kw_only=True)
    high: FittedArray = field(default=None, repr=False, compare=False, kw_only=True)
    shift_invariant: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    of_neighbours: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number("n_neighbors", self.n_neighbors, 0, int)

    def fit(self, landmarks: Floats) -> Self:
        low, high = _fences(landmarks)
        radii = neighbour_distances(_near(landmarks, low, high), self.n_neighbors)
        found = replace(self, radii=radii, floor=least_scale(radii), low=low, high=high)
        return replace(found, inverse_roots=1 / found._roots(landmarks, landmarks))

    def _roots(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the roots of the degrees of rows: what they sum to with no other divisor."""
        return replace(self, inverse_roots=np.ones(len(landmarks))).matrix(rows, landmarks).sum(axis=1)

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return the link of every row to itself, 1, over its degree, which is more unless no landmark is near."""
        return 1 / np.maximum(np.square(self._roots(rows, landmarks)), 1.0)

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        checked_number("floor", self.floor, 0)
        checked_array("radii", self.radii, (n_landmarks,), 0)
        checked_array("inverse_roots", self.inverse_roots, (n_landmarks,), 0)
        for name in ("low", "high"):
            checked_array(name, getattr(self, name), (n_features,))

    def bind(self, landmarks: Floats) -> Evaluator:
        low, high = self.low, self.high
        squares = squared_distances_to(_near(landmarks, low, high))
        k = min(self.n_neighbors + 1, len(landmarks))
        scales = np.maximum(self.radii, self.floor)
        # The margin keeps rounding from unlinking a landmark from itself or from the one at its radius.
        reaches = np.square(self.radii) + 1e-9 * np.square(scales)

        def fill(rows: Floats, out: Floats) -> None:
            squares(_near(rows, low, high), out)
            neighbour_affinities(out, k, self.floor, scales, reaches, self.inverse_roots)

        return fill


@dataclass(frozen=True)
class NearestNeighbors(_NeighbourGraph):
    """Affinity ``D^(-1/2) A D^(-1/2)`` of the symmetric graph of nearest neighbours among landmarks.

    A landmark is linked to itself and to its k nearest others, with the weight ``exp(-|x - y|^2 / (s_x s_y))`` of
    `LocalScaling` for the distance s to the k-th, halved where only one of the two is a neighbour of the other.
    A row is linked to its k + 1 nearest landmarks, and to those whose k-th neighbour is farther than the row; D holds
    the sums of weights. Of values in a long tail of a column, beyond the outer fences of Tukey, the logarithm of their
    distance from the fence counts.

    Parameters
    ----------
    n_neighbors : int
        k.
    steps : int
        Steps of the random walk along the links after which rows are compared (diffusion maps): the more, the fewer
        components have much variance. 1 for the graph itself.
    radii, inverse_roots : arrays of shape (n_landmarks,), optional
        Distance to the k-th neighbour and ``degree^(-1/2)``; set by `fit`, as are the least scale `floor` and the
        fences `low` and `high` of each column, shape (n_columns,).

    Notes
    -----
    Not positive definite: directions of negative eigenvalues are left out. Source: von Luxburg, A tutorial on spectral
    clustering (2007); Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering
    (2004); Coifman and Lafon, Diffusion maps (2006).
    """

    steps: int = 16
    affinity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number("steps", self.steps, 0, int)

    def spectral_filter(self, ratios: Floats) -> Floats:
        return ratios ** (self.steps - 1)


@dataclass(frozen=True)
class Heat(_NeighbourGraph):
    """Heat that flows along the links of a graph of nearest neighbours, summed over whole times.

    The graph is that of `NearestNeighbors`, with the normalised Laplacian L: rows are compared by the sum of
    ``exp(-t L)`` over t from `shortest` to `longest`. Short times tell near rows apart, long ones groups of any size,
    so that no one scale has to be chosen.

    Parameters
    ----------
    n_neighbors : int
        k of the graph.
    shortest, longest : int
        First and last time.
    radii, inverse_roots : arrays of shape (n_landmarks,), optional
        Distance to the k-th neighbour and ``degree^(-1/2)``; set by `fit`, as are the least scale `floor` and the
        fences `low` and `high` of each column, shape (n_columns,).

    Notes
    -----
    Other rows have the features that their links to landmarks give them (Nyström). Directions along which the
    affinities vary by less than a hundredth of the first are left out, as links do not show where rows lie along them.
    Source: R. Kondor and J. Lafferty, Diffusion kernels on graphs and other discrete input spaces, ICML 2002; the sum
    over times: H. Huang, S. Yoo, D. Yu and H. Qin, Density-aware clustering based on aggregated heat kernel and its
    transformation, ACM Transactions on Knowledge Discovery from Data 9 (2015), cited by the thesis in section 8.2.1.

    Examples
    --------
    >>> Heat(shortest=1, longest=2).spectral_filter(np.array([1.0, 0.5])).round(3)
    array([1.   , 0.974])
    """

    shortest: int = 8
    longest: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number("shortest", self.shortest, 0, int)
        checked_number("longest", self.longest, self.shortest - 1, int)

    def spectral_filter(self, ratios: Floats) -> Floats:
        """Return the heat that is left, summed over times, for the affinities' eigenvalues, as shares of the first."""
        times = np.arange(self.shortest, self.longest + 1)
        left = np.exp(-np.outer(1 - ratios, times)).mean(axis=1)
        # Heat of smaller eigenvalues is left out: features of other rows are divided by the share.
        return np.divide(left, ratios, out=np.zeros_like(ratios), where=ratios > 0.01)


MOST_LANDMARKS = 4000
"""Most landmarks, as a model keeps the distances between all pairs of them."""


@dataclass(frozen=True)
class _Paths(Kernel):
    """Kernel ``-d^2 / 2`` of distances along paths, which centring makes inner products.

    A row is at the distance from a landmark of the best path over one of its nearest landmarks.
    """

    n_neighbors: int = 10
    lengths: FittedArray = field(default=None, repr=False, compare=False)
    core: FittedArray = field(default=None, repr=False, compare=False)
    shift_invariant: ClassVar[bool] = True
    of_neighbours: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number("n_neighbors", self.n_neighbors, 0, int)

    def fit(self, landmarks: Floats) -> Self:
        if len(landmarks) > MOST_LANDMARKS:
            raise ValueError(
                f"expected at most {MOST_LANDMARKS} landmarks for the kernel {type(self).__name__}; got "
                f"{len(landmarks)}: set n_landmarks"
            )
        apart = np.sqrt(squares_among(landmarks.astype(np.float64)))
        k = min(self.n_neighbors, len(landmarks) - 1)
        core = np.partition(apart, k, axis=1)[:, k]
        return replace(self, lengths=self._between(apart, core), core=core)

    @abstractmethod
    def _between(self, apart: Floats, core: Floats) -> Floats:
        """Return the lengths of paths from distances, and from those to the k-th neighbours."""

    @abstractmethod
    def _over(self, step: Floats, core: Floats, lengths: Floats) -> Floats:
        """Return the lengths of paths from rows over a landmark of each.

        `step` holds the distances, `core` the larger of both ends' to their k-th neighbours, each of shape (n, 1);
        `lengths`, of shape (n, m), those of the paths from the landmark.
        """

    def bind(self, landmarks: Floats) -> Evaluator:
        lengths, core, squares = self.lengths, self.core, squared_distances_to(landmarks)
        k = min(self.n_neighbors + 1, len(landmarks))  # a row counts its nearest landmark as itself
        least = 16 * np.finfo(np.float64).eps * float(np.square(landmarks).sum(axis=1).max(initial=0.0))

        def fill(rows: Floats, out: Floats) -> None:
            squares(rows, out)
            near = nearest_columns(out, k)
            steps = np.take_along_axis(out, near, axis=1).clip(0)
            steps = np.sqrt(np.where(steps <= least, 0.0, steps))
            own = steps.max(axis=1, keepdims=True)
            out[:] = np.inf
            for j in range(k):
                over = near[:, j]
                np.minimum(out, self._over(steps[:, [j]], np.maximum(own, core[over][:, None]), lengths[over]), out=out)
            out *= out
            out *= -0.5

        return fill

    def diagonal(self, rows: Floats, landmarks: Floats) -> Floats:
        """Return zeros, minus half of the squared distance of every row from itself."""
        return np.zeros(len(rows))

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        checked_array("lengths", self.lengths, (n_landmarks, n_landmarks), 0)
        checked_array("core", self.core, (n_landmarks,), 0)


@dataclass(frozen=True)
class Isomap(_Paths):
    """Shortest paths along the links between each landmark and its nearest others.

    Groups without a link between them are joined by the links of the least spanning tree.

    Parameters
    ----------
    n_neighbors : int
        Number of nearest landmarks to which a landmark, or a row, is linked.
    lengths, core : arrays of shape (n_landmarks, n_landmarks) and (n_landmarks,), optional
        Lengths of the paths and distances to the k-th neighbours; set by `fit`.

    Notes
    -----
    Not positive definite: directions of negative eigenvalues are left out. Source: J. Tenenbaum, V. de Silva and J.
    Langford, A global geometric framework for nonlinear dimensionality reduction, Science 290 (2000); thesis section
    8.2.1.
    """

    def _between(self, apart: Floats, core: Floats) -> Floats:
        linked = apart <= core[:, None]
        linked |= linked.T
        group = connected_components(linked)[1]
        # Links of length zero would count as none.
        tree = minimum_spanning_tree(csgraph_from_dense(apart + 1e-12 * (apart.max() or 1.0))).toarray() > 0
        linked |= (tree | tree.T) & (group[:, None] != group)
        graph = csgraph_from_dense(np.where(linked, apart, np.inf), null_value=np.inf)
        found: Floats = shortest_path(graph, method="D", directed=False)
        return np.minimum(found, found.T)

    def _over(self, step: Floats, core: Floats, lengths: Floats) -> Floats:
        return step + lengths


@dataclass(frozen=True)
class Connectivity(_Paths):
    """Paths whose longest step is as short as possible, so that rows of one connected group are near each other.

    A step is at least as long as the distances of both ends to their k-th neighbours: single rows do not join groups.

    Parameters
    ----------
    n_neighbors : int
        k, and the number of nearest landmarks over which paths from a row are sought.
    lengths, core : arrays of shape (n_landmarks, n_landmarks) and (n_landmarks,), optional
        Longest steps of the paths and distances to the k-th neighbours; set by `fit`.

    Notes
    -----
    Positive definite: the longest steps are the heights at which single linkage joins landmarks, an ultrametric.
    Source: B. Fischer, V. Roth and J. Buhmann, Clustering with the connectivity kernel, NIPS 16 (2004); thesis section
    8.2.1.
    """

    n_neighbors: int = 5

    def _between(self, apart: Floats, core: Floats) -> Floats:
        if len(apart) < 2:
            return np.zeros(apart.shape)
        steps = np.maximum(apart, np.maximum(core, core[:, None]))
        np.fill_diagonal(steps, 0.0)
        hierarchy = scipy.cluster.hierarchy
        return squareform(hierarchy.cophenet(hierarchy.linkage(squareform(steps, checks=False), "single")))

    def _over(self, step: Floats, core: Floats, lengths: Floats) -> Floats:
        return np.where(step > 0, np.maximum(np.maximum(step, core), lengths), lengths)
