"""Trees of projection pursuit for the index of separation and depth."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ..projections.search import SearchKind
from .constraints import StrOptions
from .divisive_tree import DivisiveTree
from .docstrings import documented

if TYPE_CHECKING:
    from .divisive import DivisiveClustering


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ProjectionPursuitTree(DivisiveTree):
    """Hierarchical projection pursuit clustering (HPPC); finds the number of clusters.

    For every branch, a search finds the direction along which a threshold separates two groups best, by the separation
    of the groups in units of their spread times the depth of the minimum of the threshold's error. The branch is split
    there if rows that were not used in the search confirm the valley.

    Parameters
    ----------
    search : {"auto", "combined", "genetic", "brute", "random"}
        Search for directions. ``"combined"``: a genetic search that starts with the best five of the single columns
        and of `n_projections` random directions, and a local ascent from its best five. ``"genetic"``: the same, from
        unselected single columns and random directions. ``"brute"``: a grid on the sphere and the ascent, for up to
        four columns. ``"random"``: only the first directions of the combined search. ``"auto"``: brute force for up to
        three columns, else combined.
    n_projections : int
        Number of random directions to start with.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise a second pass counts all branches, and more follow only
    if a fresh sample of a large branch shows a new valley: the counts of all rows confirm, move or reject every split.
    With ``sample_size=None``, the depth of the tree plus two.

    The search uses `sample_size` rows of a branch (1024 with None); with a hold-out rule, the half of them that does
    not test the split. The best index by chance falls with their number: in normal rows of eight columns it is about
    2.4 for 100 rows, 0.28 for 600, and beyond in proportion to the power -1.1 of their number
    (``python -m tests.benchmarks hppc``). With few rows the search finds directions that other rows do not confirm.

    A valley along one direction bounds the density of the rows there in all columns. The report does not specify the
    depth of the error's minimum, which is here the lower of its rises to both sides. Its test against one direction of
    an uninteresting population is ``stop_rule="null"``, which the best of a search passes nearly always.

    References
    ----------
    E. Rome, A. Miasnikov and R. Haralick, A hierarchical projection pursuit clustering algorithm, CUNY TR-2003009.

    J. Kittler and J. Illingworth, Minimum error thresholding, Pattern Recognition 19(1), 1986.

    Examples
    --------
    >>> from mdh_dask import ProjectionPursuitTree
    >>> from mdh_dask.simulate import bolton_mixture
    >>> X, y = bolton_mixture(4)
    >>> ProjectionPursuitTree().fit(X).n_clusters_
    4
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivisiveTree._parameter_constraints,
        "search": [StrOptions({"auto", "combined", "genetic", "brute", "random"})],
    }

    projection = "pursuit"
    criterion = "minimum_error"
    threshold_rule = "minimum_error"
    bandwidth = "silverman"
    n_candidates = 1
    max_levels = 10
    merge: bool = field(init=False, default=False)
    n_projections: int = 1000
    search: SearchKind = "auto"

    @classmethod
    def as_in_paper(cls, max_clusters: int | None = None, **changes: Any) -> "DivisiveClustering":
        """Return the tree of TR-2003009 with its test, or with the known number of clusters.

        Parameters
        ----------
        max_clusters : int or None
            Number of clusters (section 3.3.1): the branch with the best index is split next until there are so many.
            None for the test against single directions of normal rows (section 3.3.6, phi = 0.005).
        **changes
            Other parameters of `as_divisive`, such as ``search="genetic"``.

        Notes
        -----
        Directions are drawn in units of the columns, on all of at most 100,000 rows, and clusters have no least size;
        a search only counts thresholds with at least the square root of its rows on each side. The test, which the
        report used, splits nearly every cloud; the number of the classes gives the accuracies it reports, or better
        (``python -m tests.benchmarks hppc``).

        Examples
        --------
        >>> ProjectionPursuitTree.as_in_paper(4).stop_rule, ProjectionPursuitTree.as_in_paper().stop_rule
        ('known-number', 'null')
        """
        of_paper: dict[str, Any] = {"whiten": False, "min_cluster_size": 1, "sample_size": 100_000}
        if max_clusters is None:
            return cls().as_divisive(**of_paper | {"stop_rule": "null", "quantile": 0.995} | changes)
        known = {"stop_rule": "known-number", "order": "criterion", "max_clusters": max_clusters}
        return cls().as_divisive(**of_paper | known | changes)

    def _options(self) -> dict[str, Any]:
        return {"search": self.search}
