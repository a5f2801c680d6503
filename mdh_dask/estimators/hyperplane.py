"""A single minimum density hyperplane, which gives two clusters."""

from dataclasses import field, replace
from typing import Any, ClassVar, get_args

import numpy as np

from .._levels import NO_LEVELS
from .._typing import AnyArray, Floats, Integers
from ..density.kde import kernel_height
from ..growth.branches import GrowthSettings
from ..projections.directions import NO_COLUMNS
from ..projections.mdh import Solver, Starts, minimum_density_hyperplanes
from ..projections.pursuit import within
from ..splits.rules import SplitRule
from .divisive_tree import DivisiveTree
from .parameters import StrOptions, documented
from .row_values import Absent


@documented
class MinimumDensityHyperplane(DivisiveTree):
    """The hyperplane of least density among those near the mean, which separates two clusters.

    Projection pursuit turns hyperplanes from several starts to minimise the density on them; the one that ends with the
    deepest valley is the result.

    Parameters
    ----------
    starts : {"balanced", "valleys", "pca2", "random"}
        Starts of the pursuits. ``"pca2"``: the first two principal components; as in the paper, their hyperplanes may
        also lie between the two values of a column, which others leave in one cluster. ``"balanced"``: these components
        and the three directions with the deepest valleys among 1000 random combinations of rows and the single columns.
        ``"valleys"``: the components and eight such directions, with hyperplanes held near their valleys.
        ``"random"``: ten random directions.
    alpha_max : float
        Largest distance of the hyperplane from the mean, in standard deviations; 0.9 in the paper.
    max_components : int or None
        With more columns or features than this, at least 2, hyperplanes are pursued in the span of this many principal
        components and of the starts; None to search all directions, as ``starts="pca2"`` and ``"random"`` always do.
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth of the densities that place the hyperplane; see `DivisiveClustering`.
    refine : bool
        Whether to turn the hyperplane to minimise the density of all rows on it, in up to five more passes.
    solver : {"pursuit", "sqp"}
        How hyperplanes are turned. ``"pursuit"``: by descents of the density on the best hyperplane along a direction.
        ``"sqp"``: by sequential quadratic programming, direction and threshold at once, which ends in nearer and mostly
        worse minima (thesis eq. 4.3).

    Attributes
    ----------
    direction_ : ndarray of shape (n_features,), float64
        Normal of the hyperplane for raw rows, with length one in units of the scaled columns. NaN if no hyperplane has
        a mode on both sides, so that there is one cluster. With a feature map: of shape (feature_map_.n_components_,),
        with length one in the feature space.
    offset_ : float
        Rows with ``x @ direction_ > offset_`` have the label ``tree_.cluster[2]``: 0 if they are more than the others,
        otherwise 1; with a feature map, ``feature_map_.transform(x)`` for x.
    density_ : float
        Kernel density on the hyperplane, of all rows, per unit of the projections.
    relative_depth_ : float
        How much the lower mode beside the hyperplane exceeds the density on it, as a share of this density (eq. 30).
    n_clusters_ : int
        2, or 1 if no hyperplane has a mode on both sides.
    tree_ : Tree
        The split, with the densities of the rows and of both sides.

    Notes
    -----
    Passes: one if the first sample holds all rows. Otherwise the pursuit works on `sample_size` rows, and a second pass
    moves the hyperplane along the direction to the nearest local minimum of the density of all rows.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research
    17(156), 2016.
    K. Yates, PhD thesis, Lancaster University, 2017, section 4.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import MinimumDensityHyperplane
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> model = MinimumDensityHyperplane().fit(X)
    >>> bool(abs(model.direction_[0]) > abs(model.direction_[1])), bool(abs(model.offset_) < 0.5)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"solver": [StrOptions(set(get_args(Solver)))]}

    projection = "mdh"
    threshold_rule = "minimum_density"
    # As in `UntestedTree`, on which it does not stand: `SemiSupervisedMDH` would stand on nine classes.
    n_projections = 1
    n_candidates = 1
    stop_rule = "none"
    quantile: float = field(init=False, default=0.975)
    min_relative_depth: float = field(init=False, default=0.0)
    min_cluster_size: float | None = field(init=False, default=1)
    merge: bool = field(init=False, default=False)
    max_clusters: int | None = field(init=False, default=None)
    n_clusters: Any = field(init=False, default=Absent("parameter n_clusters: one hyperplane gives two clusters"))
    max_levels = 1
    starts: Starts = "balanced"
    alpha_max: float = 1.5
    max_components: int | None = None
    solver: Solver = "pursuit"
    bandwidth: str | float = "principal"
    refine: bool = False
    as_divisive = Absent("as_divisive: DivisiveClustering(projection='mdh', max_levels=1) is near to it")

    def _rule(self) -> SplitRule:
        return replace(super()._rule(), alpha=self.alpha_max)

    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        settings = super()._settings(n_rows, seed)
        # A column that is one in a few rows would smooth the density across the clusters of all other columns.
        as_in_paper = self.starts == "pca2" and settings.levels is None
        return replace(settings, levels=NO_LEVELS) if as_in_paper else settings

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> tuple[AnyArray, Floats]:
        ends = minimum_density_hyperplanes(rows, rng, **self._options(), solver=self.solver, coarse=coarse)
        # Pursuits from valleys are bounded by these, not by `alpha_max`.
        best = next((end for end in ends if within(rows, end, self.alpha_max)), ends[0])
        return best.direction[None], np.array([best.offset])

    def _why_no_valley(self, leaf: int, least: str) -> str:
        return "one hyperplane gives two clusters" if leaf else "no hyperplane has a mode on both sides"

    @property
    def direction_(self) -> Floats:
        """Normal of the hyperplane for raw rows."""
        plane = self.tree_.planes[0]
        return np.full_like(plane, np.nan) if np.isnan(self.offset_) else plane

    @property
    def offset_(self) -> float:
        """Threshold along `direction_`."""
        return float(self.tree_.thresholds[0])

    @property
    def density_(self) -> float:
        """Kernel density on the hyperplane."""
        density = self.tree_.density(0)
        return float(np.interp(self.offset_, density.position, density.density)) if density else np.nan

    @property
    def relative_depth_(self) -> float:
        """How much the lower mode exceeds the density on the hyperplane, as a share of this density."""
        density = self.tree_.density(0)
        if density is None or np.isnan(self.offset_):
            return np.nan
        sides = density.position < self.offset_, density.position > self.offset_
        left, right = (density.density[side].max() for side in sides)
        here = self.density_
        floor = kernel_height(self.tree_.n_rows[0], self.tree_.bandwidth[0])
        return float((min(left, right) - here) / (here + floor))
