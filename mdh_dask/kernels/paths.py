"""Kernels of distances along paths between landmarks: shortest paths, and paths of the least longest step."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.sparse.csgraph import connected_components, csgraph_from_dense, minimum_spanning_tree, shortest_path
from scipy.spatial.distance import squareform

from .._jit.landmarks import nearest_columns
from .._state import checked_array
from .._typing import Floats
from .base import Filler, Kernel, checked_number
from .distances import squared_distances_to, squares_among

MOST_LANDMARKS = 4000
"""Most landmarks, as a model keeps the distances between all pairs of them."""


@dataclass(frozen=True)
class _Paths(Kernel):
    """Kernel ``-d^2 / 2`` of distances along paths, which centring makes inner products.

    A row is at the distance from a landmark of the best path over one of its nearest landmarks.
    """

    n_neighbors: int = 10
    lengths: Floats | None = field(default=None, repr=False, compare=False)
    core: Floats | None = field(default=None, repr=False, compare=False)
    shift_invariant: ClassVar[bool] = True
    of_neighbours: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_number("n_neighbors", self.n_neighbors, 0, int)

    def fit(self, landmarks: Floats) -> Self:
        """Set the lengths of the paths between the landmarks."""
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

    def against(self, landmarks: Floats) -> Filler:
        """Return the function that fills in the kernel with these landmarks."""
        assert self.lengths is not None
        assert self.core is not None
        lengths, core, squares = self.lengths, self.core, squared_distances_to(landmarks)
        k = min(self.n_neighbors + 1, len(landmarks))  # a row counts its nearest landmark as itself
        least = 16 * np.finfo(np.float64).eps * float(np.square(landmarks).sum(axis=1).max(initial=0.0))

        def fill(rows: Floats, out: Floats) -> None:
            squares(rows, out)
            near = np.empty((len(out), k), dtype=np.int64)
            nearest_columns(out, near)
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

    def diagonal(self, rows: Floats) -> Floats:
        """Return zeros, minus half of the squared distance of every row from itself."""
        return np.zeros(len(rows))

    def check_fitted(self, n_landmarks: int, n_features: int) -> None:
        """Raise an error unless there is a length for each pair of landmarks."""
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
        heights: Floats = squareform(cophenet(linkage(squareform(steps, checks=False), "single")))
        return heights

    def _over(self, step: Floats, core: Floats, lengths: Floats) -> Floats:
        return np.where(step > 0, np.maximum(np.maximum(step, core), lengths), lengths)
