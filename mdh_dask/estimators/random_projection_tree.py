"""Trees of separators on random projections."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .divisive_tree import DivisiveTree
from .docstrings import documented

if TYPE_CHECKING:
    from .divisive import DivisiveClustering


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class RandomProjectionTree(DivisiveTree):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions, combinations of its rows and single columns, and split at the
    deepest valley of the densities along them, if this valley is significant. The branches that are not split are the
    clusters.

    Parameters
    ----------
    n_projections : int
        Number of random directions to score for every branch, 256 at a time; none after a valley beyond doubt (relative
        depth above 10).

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley. With ``sample_size=None``, the depth of the tree plus two.

    References
    ----------
    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, sections 6.2.3 to 6.3.1.

    Examples
    --------
    >>> from mdh_dask import RandomProjectionTree
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = RandomProjectionTree(n_projections=100).fit(X)
    >>> model.n_clusters_
    4
    >>> model.labels_.compute()[:3].shape
    (3,)
    """

    n_projections: int = 1000

    @classmethod
    def as_in_thesis(cls, n_projections: int = 1000, **changes: Any) -> "DivisiveClustering":
        """Return the tree of the thesis, sections 6.1 to 6.3.1, with other parameters where given.

        Parameters
        ----------
        n_projections : int, default=1000
            100, 500 or 1000 in the thesis.
        **changes
            Parameters of `DivisiveClustering`, such as ``criterion="dip"``, ``stop_rule="level"`` or `max_clusters`.

        Notes
        -----
        The directions are uniform on the sphere and the same for all branches. The best of all by the criterion is
        split at its deepest valley, if that is deeper than in as many uniform rows as there are in all; there is no
        least size and no least depth. The text does not bound thresholds, and so splits off many tails; here
        ``alpha=1``, as for the hyperplanes of its chapter 4.

        Examples
        --------
        >>> tree = RandomProjectionTree.as_in_thesis(100, criterion="dip")
        >>> tree.projection, tree.stop_rule, tree.alpha
        ('uniform_sphere', 'fixed', 1.0)
        """
        of_thesis: dict[str, Any] = {
            "projection": "uniform_sphere", "criterion_first": True, "fixed_directions": True, "order": "criterion",
            "stop_rule": "fixed", "n_candidates": 1, "min_cluster_size": 1, "min_relative_depth": 0.0, "alpha": 1.0,
            "sample_size": None,
        }  # fmt: skip
        return cls(n_projections=n_projections).as_divisive(**of_thesis | changes)
