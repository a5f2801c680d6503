"""What fitted models know about single rows besides their labels, and the rows that stand for clusters.

A method is there if the state of the model has the values that it returns.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._jit.rows import loop_ready
from .._sparse import SparseRows, sources
from .._state import State
from .._typing import Booleans, Integers, RowArray
from ..chunks import is_dask
from ..columns.coding import decoded
from ..growth.exemplars import Exemplars
from .planned import Planned
from .tables import column_names


class Absent:
    """An attribute that is not there; the error says why, and what to use."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __get__(self, instance: object, owner: type) -> NoReturn:
        """Raise the error."""
        raise AttributeError(f"{owner.__name__} has no {self.why}")


def _knows(name: str) -> Callable[[Any], bool]:
    """Return the condition that the state of a model has a method."""
    return lambda model: hasattr(model.state_type, name)


class RowValues(Planned):
    """Base of the estimators with the methods of their states for single rows, and exemplars of clusters."""

    state_type: ClassVar[type[State]]
    """Class of the fitted states."""
    _exemplars: Exemplars | None = None
    _drawn: Exemplars | None = None
    """Exemplars that a plan has drawn among the rows from which it learns."""
    _ends: Integers | None = None
    """Sums of the weights up to each row, during a fit with weights."""

    @available_if(_knows("shares"))
    def predict_proba(self, X: Any) -> RowArray:
        """Return the share of every cluster for every row, shape (n_samples, n_clusters_), float64; rows sum to one.

        NumPy for NumPy input, otherwise lazy with one pass to compute.
        """
        return self._of_rows(X, "shares", "float64", "n_clusters_")

    @available_if(_knows("agreeing"))
    def confidence(self, X: Any) -> RowArray:
        """Return the confidence in the label of every row, from 0 to 1, float64; lazy rows take one pass to compute.

        How sure the side of the row is of the borders of this model: `repeats` says whether fits with other seeds have
        the same clusters.
        """
        return self._of_rows(X, "agreeing", "float64")

    @available_if(_knows("distances"))
    def boundary_distance(self, X: Any) -> RowArray:
        """Return how far every row is from the nearest place at which its label ends, shape (n_samples,), float64.

        NumPy for NumPy input, otherwise lazy with one pass to compute, which `predict` and `confidence` share if they
        are computed together.

        Notes
        -----
        In trees, the distance to the nearest separator on the way of a row, in standard errors of the minimum of the
        density along its direction (see `mdh_dask.density.kde.threshold_error`); infinite without splits.
        `confidence` is the product of the normal distribution function of these distances for all separators on the
        way: 0.5 on one, and nearly 1 from two standard errors on.

        Around centroids, the distance to the nearest border of the cells of two of them, in units of
        `cluster_centers_`; infinite for one cluster. With a level of density, the share by which a row is inside:
        negative, from -1, outside. That is for `DensityTree` by which share `level_` exceeds the distance to the tenth
        nearest landmark, infinite at ten equal ones, and for `SupportVectorClustering` by which share the sum of
        kernels exceeds `level_`.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import DensityTree, RandomProjectionTree
        >>> x = np.random.default_rng(0).normal(size=(600, 1)) + np.repeat([[0], [6]], 300, axis=0)
        >>> model, new = RandomProjectionTree().fit(x), np.array([[0.0], [3.1], [80.0]])
        >>> model.confidence(new).round(1).tolist()[::2], model.outliers(new).tolist()
        ([1.0, 1.0], [False, False, True])
        >>> (DensityTree().fit(x).boundary_distance(new) < 0).tolist()
        [False, True, True]
        """
        return self._of_rows(X, "distances", "float64")

    @available_if(_knows("rarity"))
    def score_samples(self, X: Any) -> RowArray:
        """Return how common rows where each row lies are, from 0 to 1, float64: near 0 where the density is low.

        In trees, the share of the rows of a branch that lie where the density along its direction is no higher, the
        least of all branches on the way, times the mean number of branches on the way of a row; at most 1. Of several
        trees, twice the median. Around centroids, the share of the rows of the cluster that are no nearer. Of the rows
        of `fit`, at most a share of p has a lower score than p, or somewhat more among equal values, which branches
        count as if they lay around their value. NumPy for NumPy input, otherwise lazy with one pass to compute.

        Notes
        -----
        Densities are those along the splits on the way and, without a feature map, along the best rejected split of the
        leaf. Rows that are rare in other directions only are not found. Distances from centroids are compared in steps
        of about 2 %. With a map they are those between features: those of far rows are all alike with a kernel such as
        ``"rbf"``, and may be nearer than those of some rows of a wide cluster.
        """
        return self._of_rows(X, "rarity", "float64")

    @available_if(_knows("rarity"))
    def outliers(self, X: Any, level: float = 0.001) -> Booleans:
        """Return whether each row lies where the density is low: its `score_samples` is below `level`.

        Of the rows of `fit`, at most about a share of `level` are outliers. NumPy for NumPy input, otherwise lazy with
        one pass to compute.
        """
        if not 0 <= level <= 1:
            raise ValueError(f"expected a level from 0 to 1, a share of the rows; got {level!r}")
        return self.score_samples(X) < level

    @property
    def exemplar_indices_(self) -> Integers:
        """Row numbers of `exemplars_` among the rows of `fit`, shape (n_clusters,), int64."""
        return self._known_exemplars().numbers

    @property
    def exemplars_(self) -> Any:
        """A row of `fit` for each cluster, shape (n_clusters, n_features).

        Of the sample rows of its cluster: in trees, the one with the least sum of distances to the others, in the
        scaled columns or the features in which the tree was grown; of ensembles, the same in the scaled columns, or in
        the features of the representative tree; in a density tree or inside a contour, the one where rows are densest;
        of centroids, the nearest. NaN for a cluster without sample rows. For a table with levels a frame of pandas with
        its values, or an array of objects without pandas. Not known for lazy rows with a feature map, which has no
        sample of the rows themselves: use `exemplar_indices_` there.
        """
        rows, numbers = self._known_exemplars()
        if rows is None:
            raise AttributeError("exemplars_ of lazy rows with a feature map are not in memory: use exemplar_indices_")
        if self.columns is not None:
            return decoded(rows, numbers, self.columns, column_names(self))
        return rows if (numbers >= 0).all() else np.where(numbers[:, None] >= 0, rows, np.nan)

    def _known_exemplars(self) -> Exemplars:
        if self._exemplars is None and self.missing == "drop":
            raise AttributeError(
                "exemplars need row numbers, which are not known if rows are left out: fit complete rows, or "
                "use another rule than missing='drop'"
            )
        if self._exemplars is None:
            raise AttributeError(
                f"this {type(self).__name__} has no exemplars: fit chooses them, and changes of the clusters drop them"
            )
        return self._exemplars

    def _keep_exemplars(self, rows: RowArray) -> None:
        """Set the exemplars that a plan has drawn from the rows from which the model was learnt.

        None if rows with missing values were left out, as numbers are then those of other rows. With a feature map,
        features were drawn, and the rows are only known if all are in memory.
        """
        drawn, self._drawn = self._drawn, None
        if drawn is None or self.missing == "drop":
            return
        chosen, numbers = drawn
        if getattr(self, "feature_map_", None) is not None:
            chosen = None if is_dask(rows) else rows[numbers]
            chosen = chosen.dense() if isinstance(chosen, SparseRows) else chosen
        if chosen is not None:
            chosen = loop_ready(chosen)
            chosen = np.where(numbers[:, None] >= 0, chosen, np.zeros(1, dtype=chosen.dtype))
        self._exemplars = Exemplars(chosen, self._original(numbers))

    def _original(self, numbers: Integers) -> Integers:
        """Return the numbers of the rows of `fit` for those of rows that count several times."""
        if self._ends is None:
            return numbers
        return np.where(numbers >= 0, sources(self._ends, numbers), numbers).astype(np.int64)
