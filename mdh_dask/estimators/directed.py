"""Several directions of rows, to look at them."""

from abc import abstractmethod
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._typing import Floats
from ..chunks import merge_chunks, run
from ..growth.branches import GrowthSettings
from ..growth.leading import leading_directions
from .base import ClusterEstimator
from .missing import complete_rows
from .validation import as_rows, check_first_look


class Directed(ClusterEstimator):
    """A mixin for trees of separators that adds `directions`."""

    feature_map_: Any

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> GrowthSettings: ...

    def directions(self, X: Any, n: int = 2) -> Floats:
        """Return several directions along which rows fall into clusters, to look at them in few dimensions.

        The first is the best direction of all rows, as at the root of the tree; each further one is the best of the
        rows without their components along those before (deflation).

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        n : int, default=2
            Number of directions.

        Returns
        -------
        ndarray of shape (at most n, n_features), float64
            Directions for raw rows, orthogonal and of length one in units of the scaled columns; ``X @ directions.T``
            are the coordinates. With a feature map, directions of the features. Fewer than `n` if the rows do not vary
            across those before.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`; also if `n` is not a positive integer.

        Notes
        -----
        One pass, and with a feature map one that maps the rows; directions are those of `sample_size` rows. Source: D.
        Hofmeyr and N. Pavlidis, PPCI: an R package for cluster identification using projection pursuit, The R Journal
        11, 2019.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import ClusterabilityTree
        >>> rng = np.random.default_rng(0)
        >>> corners = np.array([[0, 0], [9, 0], [0, 12], [9, 12]]) @ np.eye(2, 5)
        >>> X = rng.normal(size=(800, 5)) + np.repeat(corners, 200, axis=0)
        >>> model = ClusterabilityTree(scale=False).fit(X)
        >>> V = model.directions(X, 2)
        >>> bool(np.abs(V @ V.T - np.eye(2)).max() < 1e-6), bool(np.abs(V[:, 2:]).max() < 0.1)
        (True, True)
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"expected a positive integer for n, the number of directions; got {n!r}")
        model = copy(self)  # projections may keep what they pursued
        rows, _ = complete_rows(model, as_rows(model, X, reset=False))
        settings = model._settings(rows.shape[0], model._seed())
        names = getattr(model, "feature_names_in_", None)
        if model.feature_map_ is not None:
            rows, names = model.feature_map_.transform(model._typed(rows)), None
            settings = replace(settings, scale=False)
        shape = (rows.shape[0], rows.shape[1])
        plan = leading_directions(settings, shape, partial(check_first_look, names=names), n)
        found: Floats = run(plan, merge_chunks(rows), announce=model._bar)[0]
        return found
