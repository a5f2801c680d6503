"""A mixin for classifiers whose two clusters are classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags, Tags

from .._typing import AnyArray, RowArray
from ..chunks import is_dask
from .aligned import plain_labels, with_values
from .base import ClusterEstimator
from .saved import part


class TwoClasses(ClusterEstimator):
    """A mixin for estimators of two clusters that adds classes: their names, predictions and scores."""

    classes_: AnyArray

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> RowArray:
        """Fit the hyperplane and return the class of every row; see `fit` and `predict`."""
        return self.fit(X, y, **kwargs).predict(X)

    def predict(self, X: Any) -> RowArray:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,)
            Entries of `classes_`; NumPy for NumPy input, otherwise lazy with one pass to compute.
        """
        found = self.cluster_labels(X)
        places = plain_labels(found)
        if is_dask(places):
            return with_values(found, places.map_blocks(_named, self.classes_, dtype=self.classes_.dtype))
        return with_values(found, self.classes_[places])

    def decision_function(self, X: Any) -> RowArray:
        """Return the signed distance of every row from the hyperplane, in units of the projections; positive above.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)

        Returns
        -------
        ndarray or dask Array of shape (n_samples,), float64
            NumPy for NumPy input, otherwise lazy with one pass to compute.
        """
        return self._of_rows(X, "distances", "float64")

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score  # imported late: predictions do not need it

        return float(accuracy_score(np.asarray(y), np.asarray(self.predict(X))))

    def _saved_state(self, settings: dict[str, Any]) -> dict[str, Any]:
        return super()._saved_state(settings) | {"classes": self.classes_.tolist()}

    def _restore(self, saved: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
        super()._restore(saved, arrays)
        self.classes_ = np.array(part(saved, "classes", list))
        if self.classes_.shape != (2,) or self.classes_.dtype.kind not in "iuU":
            raise ValueError(f"expected two integers or texts for classes, got {self.classes_.tolist()}")

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn's checks need to know."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        return tags


def _named(places: AnyArray, classes: AnyArray) -> AnyArray:
    return classes[places]
