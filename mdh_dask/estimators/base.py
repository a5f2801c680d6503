"""What all estimators of one tree share: fit, predict, save."""

from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .._typing import Integers, RowArray
from ..chunks import Progress, map_rows, merge_chunks
from ..io.models import save_tree
from ..tree.growth import Growth
from ..tree.polish import polish
from ..tree.structure import Tree
from .validation import as_rows, check_finite, check_first_look


class TreeEstimator(ClusterMixin, BaseEstimator):
    """Base of the estimators that grow one tree of separators."""

    @abstractmethod
    def _growth(self, n_rows: int, seed: int) -> Growth:
        """Return what grows the tree, from the estimator's parameters."""

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
        rows = as_rows(self, X, reset=True)
        seed = int(check_random_state(self.random_state).randint(2**31))
        growth = self._growth(len(rows), seed)
        merged = merge_chunks(rows)
        tree = growth.grow(merged, check_first_look)
        tree = tree if self.max_clusters is None else tree.prune(self.max_clusters)
        self.tree_ = polish(tree, merged, growth.standardise, growth.bar) if self.polish else tree
        self._keep(growth)
        self.n_passes_ = growth.n_passes
        self.n_clusters_ = self.tree_.n_leaves
        self.labels_ = map_rows(_labels, rows, dtype="int32", shared=self.tree_)
        return self

    def _keep(self, growth: Growth) -> None:
        """Set what an estimator keeps of the growth besides the tree."""

    def predict(self, X: Any) -> RowArray:
        """Return the label of every row.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), int32
            NumPy for NumPy input; else lazy, in the row chunks of `X`, one pass to compute.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If `X` has another number of columns than in `fit`, or NaN or infinities (for lazy input, on computing).
        """
        check_is_fitted(self)
        return map_rows(_labels, as_rows(self, X, reset=False), dtype="int32", shared=self.tree_)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to a Zarr group with JSON attributes; `load_model` reads it.

        Parameters
        ----------
        path : str or Path
        overwrite : bool, default=False

        Raises
        ------
        FileExistsError
            If there is something at `path` and `overwrite` is False.
        TypeError
            If a parameter has a value that JSON cannot hold, as a function; before anything is written.
        """
        check_is_fitted(self)
        parameters = {
            "estimator": type(self).__name__,
            "parameters": self._saved_parameters(),
            "n_features": self.n_features_in_,
            "feature_names": list(getattr(self, "feature_names_in_", [])) or None,
            "n_passes": self.n_passes_,
        }
        save_tree(path, self.tree_, parameters=parameters, overwrite=overwrite)

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters that a saved model gets again."""
        return self.get_params()

    def _bar(self, description: str) -> Progress | None:
        if not self.progress:
            return None
        return lambda total: tqdm(total=total, desc=description, unit="block")


def _labels(tree: Tree, rows: Any) -> Integers:
    check_finite(rows)
    return tree.labels(rows)
