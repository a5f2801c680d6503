"""The neighbour graph of the landmarks as a kernel, whose features are a spectral embedding."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from .._jit.affinities import neighbour_affinities
from .._state import checked_array
from .._typing import Floats
from .base import Filler, Kernel, checked_number
from .distances import least_scale, neighbour_distances, squared_distances_to

LEAST_RATIO = 0.01
"""Heat of eigenvalues below this share of the largest is left out: features of other rows are divided by the share."""


@dataclass(frozen=True)
class _NeighbourGraph(Kernel):
    """The affinities of `NearestNeighbors`, of which kernels differ in the eigenvalues of their features."""

    n_neighbors: int = 10
    radii: Floats | None = field(default=None, repr=False, compare=False, kw_only=True)
    inverse_roots: Floats | None = field(default=None, repr=False, compare=False, kw_only=True)
    floor: float = field(default=0.0, repr=False, compare=False, kw_only=True)
    shift_invariant: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    of_neighbours: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number("n_neighbors", self.n_neighbors, 0, int)

    def fit(self, landmarks: Floats) -> Self:
        """Set radii and degrees of the landmarks."""
        radii = neighbour_distances(landmarks, self.n_neighbors)
        alone = replace(self, radii=radii, inverse_roots=np.ones(len(landmarks)), floor=least_scale(radii))
        # With its own degree's root as the only divisor, a row sums to that root.
        return replace(alone, inverse_roots=1 / alone.matrix(landmarks, landmarks).sum(axis=1))

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        """Raise an error if a landmark has no radius or no degree."""
        checked_number("floor", self.floor, 0)
        checked_array("radii", self.radii, (n_landmarks,), 0)
        checked_array("inverse_roots", self.inverse_roots, (n_landmarks,), 0)

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the affinities to these landmarks."""
        assert self.radii is not None
        squares = squared_distances_to(landmarks)
        k = min(self.n_neighbors + 1, len(landmarks))
        scales = np.maximum(self.radii, self.floor)
        # The margin keeps rounding from unlinking a landmark from itself or from the one at its radius.
        reaches = np.square(self.radii) + 1e-9 * np.square(scales)

        def fill(rows: Floats, out: Floats) -> None:
            squares(rows, out)
            neighbour_affinities(out, k, self.floor, scales, reaches, self.inverse_roots)

        return fill


@dataclass(frozen=True)
class NearestNeighbors(_NeighbourGraph):
    """Affinity ``D^(-1/2) A D^(-1/2)`` of the symmetric graph of nearest neighbours among landmarks.

    A landmark is linked to itself and to its k nearest others, with the weight ``exp(-|x - y|^2 / (s_x s_y))`` of
    `LocalScaling` for the distance s to the k-th, halved where only one of the two is a neighbour of the other.
    A row is linked to its k + 1 nearest landmarks, and to those whose k-th neighbour is farther than the row; D holds
    the sums of weights.

    Parameters
    ----------
    n_neighbors : int
        k.
    steps : int
        Steps of the random walk along the links after which rows are compared (diffusion maps): the more, the fewer
        components have much variance. 1 for the graph itself.
    radii, inverse_roots : arrays of shape (n_landmarks,), optional
        Distance to the k-th neighbour and ``degree^(-1/2)``; set by `fit`, as is the least scale `floor`.

    Notes
    -----
    Not positive definite: directions of negative eigenvalues are left out. Source: von Luxburg, A tutorial on spectral
    clustering (2007); Bengio et al., Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering
    (2004); Coifman and Lafon, Diffusion maps (2006).
    """

    steps: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number("steps", self.steps, 0, int)

    def fading(self, ratios: Floats) -> Floats:
        """Return the eigenvalues' power of all steps but the first."""
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
        Distance to the k-th neighbour and ``degree^(-1/2)``; set by `fit`, as is the least scale `floor`.

    Notes
    -----
    Other rows have the features that their links to landmarks give them (Nyström). Directions along which the
    affinities vary by less than a hundredth of the first are left out, as links do not show where rows lie along them.
    Source: R. Kondor and J. Lafferty, Diffusion kernels on graphs and other discrete input spaces, ICML 2002; the sum
    over times: H. Huang, S. Yoo, D. Yu and H. Qin, Density-aware clustering based on aggregated heat kernel and its
    transformation, ACM Transactions on Knowledge Discovery from Data 9 (2015), cited by the thesis in section 8.2.1.

    Examples
    --------
    >>> Heat(shortest=1, longest=2).fading(np.array([1.0, 0.5])).round(3)
    array([1.   , 0.974])
    """

    shortest: int = 8
    longest: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_number("shortest", self.shortest, 0, int)
        checked_number("longest", self.longest, self.shortest - 1, int)

    def fading(self, ratios: Floats) -> Floats:
        """Return the heat that is left, summed over times, for the affinities' eigenvalues, as shares of the first."""
        times = np.arange(self.shortest, self.longest + 1)
        left = np.exp(-np.outer(1 - ratios, times)).mean(axis=1)
        return np.divide(left, ratios, out=np.zeros_like(ratios), where=ratios > LEAST_RATIO)
