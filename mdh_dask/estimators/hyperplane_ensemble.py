"""Ensembles of minimum density hyperplanes."""

from numbers import Integral, Real
from typing import Any, ClassVar, get_args

import numpy as np

from .._words import depth_text, full_count
from ..chunks import Plan
from ..density.kde import BANDWIDTHS, resolve_bandwidth
from ..ensembles.hyperplanes import EnsembleSettings, hyperplane_ensemble
from ..ensembles.mixture import Criterion, HyperplaneMixture
from ..splits.stopping import STOP_RULES
from ..summaries.evidence import table_of_cells
from .base import InGroups
from .parameters import Interval, StrOptions, documented
from .row_values import Absent

MOST_HYPERPLANES = 1024


@documented
class HyperplaneEnsemble(InGroups):
    """A mixture of the sides of many minimum density hyperplanes; finds the number of clusters.

    From random directions, sequential quadratic programming turns and moves hyperplanes within random distances of the
    mean to local minima of the density on them. The sides of the hyperplanes make each row a tuple of bits, and a
    mixture of products of Bernoulli distributions of these bits gives the clusters, which may have any shape.

    Parameters
    ----------
    n_hyperplanes : int, default=30
        Most hyperplanes to combine; twice as many are searched, as some divide the rows in the same way.
    alpha_max : float, default=1.0
        A hyperplane lies within a random share of this many standard deviations of the mean.
    stop_rule : {"hold-out", "hold-out-uniform", "level", "fixed", "none"}, default="hold-out"
        Test of the valley in which a hyperplane lies; see `DivisiveClustering`. ``"none"`` accepts every hyperplane, as
        in the thesis, and then also splits a cloud without valleys.
    quantile : float, default=0.975
        One minus this bounds the probability that any hyperplane is accepted if there are no valleys.
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float, default="normal"
        Rule for the bandwidth of the densities that test the hyperplanes; see `DivisiveClustering`.
    sample_size : int, default=10000
        Number of rows on which hyperplanes are searched and tested.
    scale : bool, default=True
        Whether to scale the columns by their standard deviations, which the first pass measures.
    max_clusters : int, default=30
        Largest number of clusters to try.
    n_clusters : int or None, default=None
        The number of components; None to choose it by `information_criterion`.
    information_criterion : {"bic", "aic", "icl"}, default="bic"
        Criterion for the number of components: the Bayesian or Akaike's information criterion, or the integrated
        classification likelihood, which prefers clusters that do not overlap.
    n_init : int, default=5
        Number of starts of every mixture.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters that are the most probable one of any row. They are numbered by the rows of the counted
        tuples of sides, the largest first.
    directions_ : ndarray of shape (n_distinct, n_features), float64
        Normals of the distinct hyperplanes.
    offsets_ : ndarray of shape (n_distinct,), float64
        Thresholds; rows with ``x @ direction > offset`` lie above.
    side_probabilities_ : ndarray of shape (n_components, n_distinct), float64
        Probabilities of lying above each hyperplane.
    scores_ : tuple of float
        The information criterion for 1, 2, ... components, or only for `n_clusters`; smaller is better. Empty
        for fewer than six hyperplanes, and not available in a loaded model.

    See Also
    --------
    ConsensusClustering : The consensus of trees.

    Notes
    -----
    Passes: one to draw the sample on which hyperplanes are found, and a second to count the tuples of the sides of all
    rows, unless the sample holds all rows or no hyperplane lies in a valley. The mixture is fitted to the distinct
    tuples and their counts, at a cost that does not depend on the number of rows. With fewer than six hyperplanes no
    larger mixture is identified, and every tuple with at least the square root of the number of rows is a
    component. Components between which the sample shows no valley are one cluster, unless `n_clusters` is given or
    the stop rule tests nothing on held-out rows.
    Hyperplanes that divide 99 % of the sample like an earlier one count once. With more than 50 columns they are
    searched in the span of 50 principal components and the start.

    References
    ----------
    A. Topchy, A. K. Jain and W. Punch, Clustering ensembles: models of consensus and weak partitions, IEEE Transactions
    on Pattern Analysis and Machine Intelligence 27(12), 2005.
    K. Yates, PhD thesis, Lancaster University, 2017, section 4.2.3 and algorithm 3.

    Examples
    --------
    >>> from mdh_dask import HyperplaneEnsemble
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(2000, 8, 4, sd=1.0, random_state=0)
    >>> model = HyperplaneEnsemble().fit(X)
    >>> model.n_clusters_, model.predict_proba(X).shape
    (4, (2000, 4))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_hyperplanes": [Interval(Integral, 1, MOST_HYPERPLANES, closed="both")],
        "alpha_max": [Interval(Real, 0, None, closed="neither")],
        "stop_rule": [StrOptions({name for name, rule in STOP_RULES.items() if rule.of_any_hyperplane})],
        "bandwidth": [StrOptions(BANDWIDTHS.keys()), Interval(Real, 0, None, closed="neither")],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        "information_criterion": [StrOptions(set(get_args(Criterion)))],
    }
    state_type = HyperplaneMixture
    score_samples = outliers = Absent(
        "outliers: it keeps on which side of each hyperplane a row is, not how far: take ConsensusClustering or a tree"
    )

    n_hyperplanes: int = 30
    alpha_max: float = 1.0
    stop_rule: str = "hold-out"
    quantile: float = 0.975
    bandwidth: str | float = "normal"
    sample_size: int = 10_000
    scale: bool = True
    max_clusters: int = 30
    n_clusters: int | None = None
    information_criterion: Criterion = "bic"
    n_init: int = 5
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[HyperplaneMixture]:
        settings = self._set(
            EnsembleSettings,
            stop=STOP_RULES[self.stop_rule](self.quantile),
            bandwidth=resolve_bandwidth(self.bandwidth),
            criterion=self.information_criterion,
            seed=seed,
            parts_at=self._parts_at,
        )
        found = yield from hyperplane_ensemble(settings, shape, self._check_look)
        self.scores_, self._drawn = found.scores, found.exemplars
        self.merges_ = table_of_cells(found.merges)
        return found.mixture

    def _adopt(self, state: HyperplaneMixture) -> None:
        super()._adopt(state)
        self.directions_, self.offsets_ = state.planes, state.offsets
        self.side_probabilities_ = np.exp(state.log_probabilities[:, :, 1])

    def _reason(self) -> str:
        n, failed = len(self.offsets_), self.state_.failed
        said = (
            f"the sides of {full_count(n, 'hyperplane')} in valleys make so many"
            if n
            else "no hyperplane is in a valley"
        )
        if not len(failed):
            return said if n else f"{said}: no search ended in one"
        depth, share, needed = failed
        said += f"; the best {'of the others ' * (n > 0)}has relative depth {depth_text(depth)}"
        if np.isnan(share):
            return f"{said}, and stop_rule={self.stop_rule!r} rejected it"
        return (
            f"{said}, and {share:.2g} of samples with a single mode have one as deep there, on rows that did not "
            f"choose it; a hyperplane needs {needed:.2g}"
        )

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        return 1, 1 if n_rows <= self.sample_size else 2
