"""Trees of separators on random projections."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import AnyArray, Integers
from ..growth.branches import GrowthSettings
from ..projections.random import NO_COLUMNS, RANDOM_PROJECTIONS, single_columns
from ..splits.rules import SplitRule
from .constraints import StrOptions
from .divisive import DivisiveClustering
from .docstrings import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class RandomProjectionTree(DivisiveClustering):
    """Divisive clustering by low-density separators on random projections; finds the number of clusters.

    Every branch is projected on many random directions and split at the deepest valley of the densities along them, if
    this valley is significant. The branches that are not split are the clusters.

    Parameters
    ----------
    projection : str
        Family of the directions: ``"row_combinations"`` (random combinations of the branch's rows, that is Gaussian
        directions with their covariance, and beside them the single columns if there are at most 50) or one from thesis
        section 6.2.3: ``"uniform_sphere"``, ``"normal"``, ``"bernoulli"``, ``"achlioptas"``.
    criterion_first : bool
        Whether to split along the direction with the best criterion of all; without a valley there, the branch is a
        cluster. By default, only directions with a valley are scored.
    fixed_directions : bool
        Whether all branches have the same random directions, as in the thesis; by default each draws its own, as do
        the divisions of few rows by which ``"hold-out"`` votes. Updates draw the same ones if `random_state` is an
        integer, in units of the batch's columns with `scale`.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivisiveClustering._parameter_constraints,
        "projection": [StrOptions({"row_combinations", *RANDOM_PROJECTIONS})],
        "criterion_first": ["boolean"],
        "fixed_directions": ["boolean"],
    }

    n_projections: int = 1000
    criterion_first: bool = False
    fixed_directions: bool = False

    @classmethod
    def as_in_thesis(cls, n_projections: int = 1000, **changes: Any) -> Self:
        """Return the tree of the thesis, sections 6.1 to 6.3.1, with other parameters where given.

        Parameters
        ----------
        n_projections : int, default=1000
            100, 500 or 1000 in the thesis.
        **changes
            Parameters of the tree, such as ``criterion="dip"``, ``stop_rule="level"`` or `max_clusters`.

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
        return cls(**{"n_projections": n_projections} | of_thesis | changes)

    def _rule(self) -> SplitRule:
        return replace(super()._rule(), criterion_first=self.criterion_first)

    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        return replace(super()._settings(n_rows, seed), direction_seed=seed if self.fixed_directions else None)

    def _directions(
        self, rows: AnyArray, rng: np.random.Generator, coarse: Integers = NO_COLUMNS, min_rows: float = 0.0
    ) -> AnyArray:
        drawn = np.asarray(super()._directions(rows, rng, coarse, min_rows))
        if self.projection != "row_combinations":
            return drawn
        return np.concatenate([drawn, single_columns(rows, coarse).astype(drawn.dtype)])
