"""What all estimators of one tree share: fit, predict, save."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Integers, RowArray
from ..chunks import Announce, Plan, Progress, announced, fit_chunks, is_dask, map_rows, merge_chunks, run
from ..growth.growth import Grown, grow
from ..growth.refine import refine
from ..growth.scaling import Standardiser
from ..growth.settings import GrowthSettings
from ..io.keeping import Cache, kept
from ..io.models import save_tree
from ..kernels import NystromMap, kernel_settings, map_to_arrays
from ..tree.structure import Tree
from .kernel_pca_features import KernelPCAFeatures
from .updating import Updating
from .validation import as_rows, check_finite, check_first_look

ROWS_AT_ONCE = 8192
"""Of which the features are in memory while rows are labelled."""


class TreeEstimator(Updating, ClusterMixin, BaseEstimator):
    """Base of the estimators that grow one tree of separators."""

    cache: Cache | None
    feature_map_: KernelPCAFeatures | None
    pixel_columns_: dict[str, Any] | None = None
    """What the columns are of an image of which the rows are pixels; see `mdh_dask.images.PixelColumns`."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse the parameter by which other libraries are told the number of clusters."""
        known = signature(cls).parameters
        if "n_clusters" in parameters and "n_clusters" not in known:
            bound = "max_clusters= is the most that are kept" if "max_clusters" in known else "it is 2 at most"
            raise TypeError(f"{cls.__name__}() has no parameter n_clusters: the number of clusters is found; {bound}")
        return super().__new__(cls)

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        """Return how the tree is grown, from the estimator's parameters."""

    @abstractmethod
    def _new_feature_map(self, seed: int) -> KernelPCAFeatures | None:
        """Return what is to be fitted to the rows to map them, from the estimator's parameters."""

    @_fit_context(prefer_skip_nested_validation=False)
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
        self.pixel_columns_ = None
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.feature_map_ = self._new_feature_map(seed)
        if self.feature_map_ is None:
            self.n_passes_ = self._grow(seed, merge_chunks(rows), self._bar)
        else:
            self.n_passes_ = self._map_and_grow(seed, self.feature_map_.fit(rows), rows)
        self.n_batches_ = 1
        self._finish(rows)
        return self

    def _finish(self, rows: RowArray) -> None:
        """Set what follows from the tree, and the labels of the rows."""
        self.name_columns(getattr(self, "feature_names_in_", None))
        self.n_clusters_ = self.tree_.n_leaves
        self.labels_ = self._labels_of(rows)

    def _map_and_grow(self, seed: int, feature_map: KernelPCAFeatures, rows: RowArray) -> int:
        """Grow the tree on features; return the number of passes over the rows."""
        row_bytes = max(rows.dtype.itemsize * rows.shape[1], 4 * feature_map.n_components_)
        features = feature_map.transform(fit_chunks(rows, row_bytes))
        with kept(features, self.cache, self._bar("pass 2: mapping")) as there:
            if is_dask(features) and there is features:
                # One pass was that of the feature map; the others map all rows again.
                return self._grow(seed, there, self._bar, n_passes=1)
            self._grow(seed, there, lambda description: self._bar(f"features, {description}"))
            return 2

    def _grow(self, seed: int, rows: RowArray, announce: Announce, n_passes: int = 0) -> int:
        """Grow the tree; return the number of passes, those that were made before included."""
        plan = self._plan(seed, (rows.shape[0], rows.shape[1]))
        grown, n_passes = run(plan, rows, announce=announce, n_passes=n_passes)
        self.tree_ = grown.tree
        self._keep(grown.standardise)
        return n_passes

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[Grown]:
        """Plan the tree of rows, or features, of a shape."""
        settings = self._settings(shape[0], seed)
        if self.feature_map_ is not None:
            settings = replace(settings, scale=False)  # features are taken as they are
        names = getattr(self, "feature_names_in_", None) if self.feature_map_ is None else None
        tree, standardise = yield from grow(settings, shape, partial(check_first_look, names=names))
        tree = tree if self.max_clusters is None else tree.prune(self.max_clusters)
        if self.refine:
            tree = yield from refine(tree, standardise)
        return Grown(tree, standardise)

    def name_columns(self, names: Sequence[str] | None) -> None:
        """Give the columns of the rows that were fitted their names; the columns of a feature map have none."""
        if names is None:
            return
        self.feature_names_in_ = np.array(names, dtype=object)
        if self.feature_map_ is None:
            self.tree_ = replace(self.tree_, feature_names=tuple(map(str, names)))

    def _labels_of(self, rows: RowArray) -> RowArray:
        if not is_dask(rows):
            check_finite(rows)  # here, where row numbers are those of all rows
        return map_rows(_labels, rows, dtype="int32", shared=self._labelling())

    def _labelling(self) -> tuple[NystromMap | None, Tree]:
        return (None, self.tree_) if self.feature_map_ is None else _short_cut(self.feature_map_.map_, self.tree_)

    def block_labels(self) -> Callable[[AnyArray], Integers]:
        """Return what labels a block of rows on the thread that calls it, and is small enough to be sent to workers."""
        check_is_fitted(self)
        return partial(_labels, self._labelling())

    def _keep(self, standardise: Standardiser, updated: bool = False) -> None:
        """Set what an estimator keeps besides the tree of a fit, or of an update."""

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
        return self._labels_of(as_rows(self, X, reset=False))

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
        settings, arrays = (None, {}) if self.feature_map_ is None else map_to_arrays(self.feature_map_.map_)
        parameters = {
            "estimator": type(self).__name__,
            "parameters": self._saved_parameters(),
            "feature_map": settings,
            "n_features": self.n_features_in_,
            "feature_names": list(getattr(self, "feature_names_in_", [])) or None,
            "n_passes": self.n_passes_,
            "n_batches": self.n_batches_,
        }
        if self.pixel_columns_ is not None:
            parameters["pixel_columns"] = self.pixel_columns_
        save_tree(path, self.tree_, parameters=parameters, arrays=arrays, overwrite=overwrite)

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters that a saved model gets again."""
        parameters = self.get_params(deep=False)
        if isinstance(feature_map := parameters["feature_map"], KernelPCAFeatures):
            own = feature_map.get_params(deep=False)
            parameters["feature_map"] = own | {"kernel": kernel_settings(own["kernel"])}
        return parameters

    def _bar(self, description: str) -> Progress | None:
        return announced(description, self.progress)


def _short_cut(feature_map: NystromMap, tree: Tree) -> tuple[NystromMap, Tree]:
    """Return a map to what the tree asks for, and the tree to ask it: mostly there are more features than splits."""
    planes, asking = tree.on_projections()
    if not 0 < len(planes) < feature_map.n_components:
        return feature_map, tree
    return feature_map.along(planes), asking


def _labels(shared: tuple[NystromMap | None, Tree], rows: Any) -> Integers:
    check_finite(rows)
    feature_map, tree = shared
    if feature_map is None:
        return tree.labels(rows)
    # A long block of rows may have more features than fit into memory.
    parts = (rows[i : i + ROWS_AT_ONCE] for i in range(0, max(len(rows), 1), ROWS_AT_ONCE))
    return np.concatenate([tree.labels(feature_map(part)) for part in parts])
