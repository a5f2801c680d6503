"""Trees of projection pursuit for the index of separation and depth."""

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import AnyArray, Floats, Integers
from ..density.bandwidth import resolve_bandwidth
from ..projections import Projection
from ..projections.random import NO_COLUMNS
from ..projections.search import DirectionSearch, GeneticSearch, SearchKind
from ..splits.rules import CRITERIA
from ..splits.search_null import Search, search_score, shared_search
from .constraints import Interval, StrOptions
from .divisive import DivisiveClustering
from .docstrings import documented


@dataclass(frozen=True)
class _Proposing:
    """A search with its number of directions; equal ones share their null distributions."""

    search: DirectionSearch
    n_directions: int

    def __call__(self, rows: AnyArray, rng: np.random.Generator) -> Floats:
        return self.search(rows, rng, self.n_directions)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ProjectionPursuitTree(DivisiveClustering):
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
    population : int
        Number of directions in a generation, at least 2.
    crossover : float
        Probability that a new direction takes its coordinates from two others.
    mutation : float
        Probability that a coordinate of a new direction changes.
    step : float
        Step between the directions of brute force, in radians.
    n_bins : int
        Number of bins of the histograms in a search, at least 8. A split is placed and tested on bins that are a fifth
        of the density's bandwidth wide.
    whiten : bool
        Whether the search draws and moves directions in units of a branch's principal components (at most 50, and one
        per five rows) instead of its columns. The index of a direction is the same.
    criterion : str
        Score that the search maximises. ``"minimum_error"``: the index; ``"minimum_error_corrected"``: the same with
        the tails that the threshold cuts off; ``"relative_depth"``, ``"dip"``, ``"kurtosis"``, ``"clusterability"``,
        ``"normalised_cut"``, ``"eigenvalue"``: as for `DivisiveClustering`, without those that depend on the variance,
        which is the same in all directions of a search.

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
        **DivisiveClustering._parameter_constraints,
        "search": [StrOptions({"auto", "combined", "genetic", "brute", "random"})],
        "population": [Interval(Integral, 2, None, closed="left")],
        "crossover": [Interval(Real, 0, 1, closed="both")],
        "mutation": [Interval(Real, 0, 1, closed="both")],
        "step": [Interval(Real, 0, 3, closed="neither")],
        "n_bins": [Interval(Integral, 8, None, closed="left")],
        "whiten": ["boolean"],
        "criterion": [StrOptions({name for name, entry in CRITERIA.items() if not entry.depends_on_length})],
    }

    projection: str | Projection = field(init=False, default="pursuit")
    criterion: str = "minimum_error"
    threshold_rule: str = "minimum_error"
    bandwidth: str | float = "silverman"
    n_candidates: int = 1
    max_levels: int | None = 10
    search: SearchKind = "auto"
    population: int = 20
    crossover: float = 0.8
    mutation: float = 0.4
    step: float = 0.1
    n_bins: int = 100
    whiten: bool = True

    @classmethod
    def as_in_paper(cls, max_clusters: int | None = None, **changes: Any) -> Self:
        """Return the tree of TR-2003009 with its test, or with the known number of clusters.

        Parameters
        ----------
        max_clusters : int or None
            Number of clusters (section 3.3.1): the branch with the best index is split next until there are so many.
            None for the test against single directions of normal rows (section 3.3.6, phi = 0.005).
        **changes
            Other parameters, such as ``search="genetic"``.

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
            return cls(**of_paper | {"stop_rule": "null", "quantile": 0.995} | changes)
        known = {"stop_rule": "known-number", "order": "criterion", "max_clusters": max_clusters}
        return cls(**of_paper | known | changes)

    def _proposing(self) -> _Proposing:
        genetic = GeneticSearch(self.population, self.crossover, self.mutation)
        score = search_score(self._rule(), resolve_bandwidth(self.bandwidth), self.n_bins)
        search = DirectionSearch(self.search, self.n_projections, genetic, self.step, self.whiten, score)
        return _Proposing(search, self.population)

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> AnyArray:
        return self._proposing()(rows, rng)

    def _search(self) -> Search:
        search = super()._search()
        return shared_search(self._proposing(), search.n_features, search.rule, search.bandwidth)
