"""Trees of separators on random projections."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..density.bandwidth import BANDWIDTHS, resolve_bandwidth
from ..projections import PROJECTIONS
from ..projections.random import RANDOM_PROJECTIONS
from ..splits.choose import Chooser
from ..splits.rules import CRITERIA, SplitRule
from ..splits.stopping import STOP_RULES
from ..tree.growth import Growth
from .divisive import DivisiveEstimator, rows_of_share


class RandomProjectionTree(DivisiveEstimator):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions. The direction whose density has the deepest valley splits it
    there, if the valley is deeper than chance would make it; the branches that are left are the clusters.

    Parameters
    ----------
    n_projections : int, default=1000
        Directions that are scored for every branch.
    projection : str, default="row_combinations"
        Family of the directions: ``"row_combinations"`` (random weights of the branch's own rows, that is Gaussian
        directions with their covariance) or one of thesis section 6.2.3: ``"uniform_sphere"``, ``"normal"``,
        ``"bernoulli"``, ``"achlioptas"``.
    criterion : {"relative_depth", "dip", "variance", "kurtosis"}, default="relative_depth"
        What makes a direction good (thesis section 6.2.6). The split lies in the deepest valley in any case.
    bandwidth : {"normal", "multimodal", "silverman"} or float, default="normal"
        Rule for the bandwidth: ``1.06 sd n^(-1/5)``, ``0.9 sd n^(-1/5)``, ``0.9 min(sd, IQR / 1.35) n^(-1/5)``; a
        number replaces the factor of the first.
    stop_rule : {"hold-out", "hold-out-uniform", "level", "fixed"}, default="hold-out"
        When a valley is real. ``"fixed"``: deeper than a quantile of the deepest valley of as many uniform rows as
        there are in all (thesis section 6.3.1); ``"level"``: as there are in the branch. ``"hold-out-uniform"``: half
        of the rows choose the split, the depth on the other half is compared (thesis algorithm 1). ``"hold-out"``:
        the same, compared with rows from the closest unimodal distribution, which is also right for long tails.
    quantile : float, default=0.975
        Of the null distribution. One minus this bounds the probability that a branch without valleys is split.
    n_candidates : int, default=8
        Directions of a branch that may be tested one after the other until a valley is accepted; the tests share
        ``1 - quantile``. All of them are counted on all rows, unless one was accepted on the sample and is confirmed.
    min_cluster_size : int or float or None, default=None
        Rows that a split leaves on both sides at least: a count, a share of all rows if under 1, or, if None, the
        square root of their number.
    max_clusters : int or None, default=None
        If more are found, the splits of largest relative depth that hang together are kept.
    max_depth : int or None, default=None
        Splits above a cluster at most.
    min_depth : float, default=0.1
        Least relative depth of a split: how much the lower mode exceeds the valley, as a share of the valley. Among
        very many rows chance makes no valley, so that without it ever shallower ones are taken for clusters.
    alpha : float or None, default=None
        If given, a split lies within `alpha` standard deviations of the mean of its branch.
    sample_size : int or None, default=10000
        Rows on which the directions of a branch are scored. The driver holds about four times as many rows. None to
        score all directions on all rows, at the price of a pass over the data for every level.
    scale : bool, default=True
        Whether the columns are taken in units of their standard deviation, which the first pass measures.
    random_state : int, RandomState instance or None, default=0
        The same integer gives the same tree whatever the chunks, the scheduler and the number of workers.
    progress : bool, default=False
        Whether every pass shows a progress bar.

    Attributes
    ----------
    labels_ : ndarray or dask Array of shape (n_samples,), int32
        NumPy for NumPy input; else lazy, in the row chunks of the input: computing it is one pass.
    n_clusters_ : int
    tree_ : Tree
        The splits, with the density of every node.
    n_passes_ : int
        Passes over the data that `fit` made.
    n_features_in_ : int

    See Also
    --------
    load_model : Read a saved model.

    Notes
    -----
    Passes: one if there are at most four times `sample_size` rows. Else a second counts all branches, and further
    ones follow only if a large branch shows a new valley on a fresh sample. With ``sample_size=None``, the depth of
    the tree plus two.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_projections": [Interval(Integral, 1, None, closed="left")],
        "projection": [StrOptions(set(PROJECTIONS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "bandwidth": [StrOptions(set(BANDWIDTHS)), Interval(Real, 0, None, closed="neither")],
        "stop_rule": [StrOptions(set(STOP_RULES))],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "min_cluster_size": [None, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
        "max_clusters": [None, Interval(Integral, 1, None, closed="left")],
        "max_depth": [None, Interval(Integral, 0, None, closed="left")],
        "min_depth": [Interval(Real, 0, None, closed="left")],
        "alpha": [None, Interval(Real, 0, None, closed="neither")],
        "sample_size": [None, Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
        "progress": ["boolean"],
    }

    def __init__(
        self,
        n_projections: int = 1000,
        *,
        projection: str = "row_combinations",
        criterion: str = "relative_depth",
        bandwidth: str | float = "normal",
        stop_rule: str = "hold-out",
        quantile: float = 0.975,
        n_candidates: int = 8,
        min_cluster_size: float | None = None,
        max_clusters: int | None = None,
        max_depth: int | None = None,
        min_depth: float = 0.1,
        alpha: float | None = None,
        sample_size: int | None = 10_000,
        scale: bool = True,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.n_projections = n_projections
        self.projection = projection
        self.criterion = criterion
        self.bandwidth = bandwidth
        self.stop_rule = stop_rule
        self.quantile = quantile
        self.n_candidates = n_candidates
        self.min_cluster_size = min_cluster_size
        self.max_clusters = max_clusters
        self.max_depth = max_depth
        self.min_depth = min_depth
        self.alpha = alpha
        self.sample_size = sample_size
        self.scale = scale
        self.random_state = random_state
        self.progress = progress

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities. Dask arrays need known row chunks.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or `X` is not as described; before any work where that can be seen, else in the first pass.
        """
        return self._fit(X)

    def _growth(self, n_rows: int, seed: int) -> Growth:
        bandwidth = resolve_bandwidth(self.bandwidth)
        return Growth(
            propose=lambda rows, rng: PROJECTIONS[self.projection](rows, rng, self.n_projections),
            chooser=Chooser(
                rule=SplitRule(self.criterion, self.alpha, self.min_depth),
                stop=STOP_RULES[self.stop_rule](self.quantile),
                bandwidth=bandwidth,
                n_tests=self.n_candidates,
                n_root=n_rows,
                min_rows=rows_of_share(self.min_cluster_size, n_rows),
            ),
            bandwidth=bandwidth,
            n_candidates=self.n_candidates,
            sample_size=self.sample_size,
            scale=self.scale,
            max_depth=self.max_depth,
            seed=seed,
            family=self.projection if self.projection in RANDOM_PROJECTIONS else None,
            progress=self._bar,
        )
