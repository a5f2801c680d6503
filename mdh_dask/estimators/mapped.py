"""The list of feature maps, and the base of estimators that may cluster the features of rows instead of the rows."""

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self, get_args

from sklearn.base import clone
from sklearn.utils import Tags, get_tags

from .._state import FeatureMap
from .._typing import RowArray
from ..chunks import Announce, Cache, Plan, fit_chunks, is_dask, kept, merge_chunks, run_together
from ..columns.coding import TypedRows
from ..growth.passes import FirstLook, Sample, draw
from ..kernels import KERNELS
from ..kernels.truncated_svd import TruncatedSVDMap
from ..summaries.history import MOST_VALUES, REMEMBERED
from .direct_features import QuadraticFeatures as QuadraticFeatures
from .direct_features import TruncatedSVDFeatures as TruncatedSVDFeatures
from .direct_features import UnitLengthFeatures as UnitLengthFeatures
from .gower_features import GowerFeatures as GowerFeatures
from .kernel_pca_features import KernelPCAFeatures as KernelPCAFeatures
from .mixed_pca import MixedPCA as MixedPCA
from .models import form_of, of_form
from .parameters import StrOptions, check_first_look
from .planned import FeatureTransformer
from .row_values import RowValues
from .rows import MAP
from .spectral_features import AffinityFeatures as AffinityFeatures
from .spectral_features import MultidimensionalScaling as MultidimensionalScaling
from .spectral_features import SpectralFeatures as SpectralFeatures
from .states import MappedState

FEATURE_MAPS: dict[str, type[FeatureTransformer]] = {
    "products": QuadraticFeatures,
    "gower": GowerFeatures,
    "mixed_pca": MixedPCA,
    "scaling": MultidimensionalScaling,
    "spectral": SpectralFeatures,
    "affinities": AffinityFeatures,
    "truncated_svd": TruncatedSVDFeatures,
    "unit_length": UnitLengthFeatures,
}
"""Transformers by name, without those of kernels."""


def transformers() -> dict[str, type[FeatureTransformer]]:
    """Return the classes of feature maps by name."""
    known: list[type[FeatureTransformer]] = [KernelPCAFeatures, *FEATURE_MAPS.values()]
    return {cls.__name__: cls for cls in known}


class Mapped(RowValues):
    """Base of the estimators, with or without the parameter `feature_map`: None to cluster the rows themselves.

    Parameters
    ----------
    feature_map : str or KernelPCAFeatures or GowerFeatures or QuadraticFeatures or None
        Map of the rows to features in which they are clustered, to find clusters that no hyperplane separates; None to
        cluster the rows themselves. The name of a kernel: ``"rbf"``, ``"local_scaling"``, ``"polynomial"``,
        ``"quadratic"``, ``"cosine"``, ``"nearest_neighbors"``, ``"heat"``, ``"isomap"``, ``"connectivity"`` or
        ``"precomputed"``; ``"gower"``: mixed columns with missing values; ``"mixed_pca"``: their latent variables;
        ``"scaling"``: multidimensional scaling; ``"spectral"``: the leading eigenvectors of affinities;
        ``"affinities"``: features whose inner products are affinities; ``"truncated_svd"``: products with singular
        vectors, for texts; ``"unit_length"``: rows of length one, for embeddings; ``"products"``: at most 60 columns
        and the products of two of them; or a transformer, such as `KernelPCAFeatures`, `GowerFeatures` or
        `QuadraticFeatures`, which is cloned. Features are not scaled; `scale` applies to the columns that a named map
        uses. For sparse rows of more than 1000 columns, None is ``"truncated_svd"``: their samples would be too large
        as dense rows.
    cache : {"auto", "memory"} or None
        Cache for the features of lazy rows between passes: the memory of the workers. ``"auto"``: if they take at most
        a quarter of it. Otherwise, and with None, they are computed again in every pass.

    Attributes
    ----------
    feature_map_ : FeatureTransformer or None
        Map fitted to the rows, to whose features centroids and the splits of trees belong.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        # A view, which has names that are registered later.
        "feature_map": [None, StrOptions(ChainMap[str, Any](KERNELS, FEATURE_MAPS).keys()), FeatureTransformer],
        "cache": [None, StrOptions(set(get_args(Cache)))],
    }
    feature_map: Any = None
    feature_map_: FeatureTransformer | None
    _seen: Sample | None = None
    """Rows that the history will remember, after they were drawn during a fit."""
    _beside: tuple[RowArray, ...] = ()
    """The part of every row, which plans read beside the rows, during a fit to groups of dependent rows."""
    cache: Cache | None = "auto"
    scale: bool
    map_settings: ClassVar[dict[str, Any]] = {}
    """Settings of maps that are given by name."""

    def _learn(self, rows: RowArray, seed: int) -> int:
        """Set the state and return the number of passes over the rows."""
        self.feature_map_ = self._new_feature_map(seed)
        if self.feature_map_ is None:
            return self._settle(seed, merge_chunks(rows), self._bar)
        self._fit_map(self.feature_map_, rows, seed)
        return self._on_features(self.feature_map_, rows, partial(self._settle, seed))

    def _adopt(self, state: Any) -> None:
        """Set a fitted or loaded state."""
        self._state = state

    def _fit_map(self, feature_map: FeatureTransformer, rows: RowArray, seed: int, *plans: Plan[Any]) -> list[Any]:
        """Fit the feature map to rows, draw some to remember, and return the results of other plans of these passes."""
        seeing = self._seeing(rows, seed)
        results = feature_map._fit_beside(self._typed(rows), *plans, *seeing, beside=self._beside)
        self._seen = results.pop() if seeing else None
        return results

    def _seeing(self, rows: RowArray, seed: int, array: int = 0) -> list[Plan[Sample]]:
        """Return the plan that draws rows to remember, of which there are none of kernel matrices or too wide rows."""
        n_rows, n_columns = rows.shape
        n_seen = 0 if get_tags(self).input_tags.pairwise else min(REMEMBERED, MOST_VALUES // n_columns)
        return [draw(seed, n_seen, n_rows, array=array)] if n_seen else []

    def _settle(self, seed: int, rows: RowArray, announce: Announce, n_passes: int = 0) -> int:
        """Set the state from rows or their features, and return the number of passes, including the earlier ones."""
        plan = self._plan(seed, (rows.shape[0], rows.shape[1]))
        plans = [plan, *([] if self.feature_map_ is not None else self._seeing(rows, seed))]
        (state, *drawn), n_passes = run_together(plans, rows, *self._beside, announce=announce, n_passes=n_passes)
        if drawn:
            (self._seen,) = drawn
        self._adopt(state)
        return n_passes

    def _new_feature_map(self, seed: int) -> FeatureTransformer | None:
        """Return the unfitted feature map from the estimator's parameters, or None."""
        given = MAP if self.feature_map is None and self._wide else self.feature_map
        if not isinstance(given, str):
            return None if given is None else clone(given)
        cls: Any = FEATURE_MAPS.get(given, KernelPCAFeatures)
        own = {"scale": self.scale, "random_state": seed, "progress": self.progress, **self.map_settings}
        own = {name: value for name, value in own.items() if name in cls._get_param_names()}
        return cls(**own) if given in FEATURE_MAPS else cls(kernel=given, **own)

    @property
    def takes_sparse(self) -> bool:
        """Return whether rows are mapped without becoming dense, and only their features are clustered."""
        if "feature_map" not in self._get_param_names() or getattr(self, "merge", False):
            return False
        new = self._new_feature_map(seed=0)
        return new is None or new.takes_sparse  # None becomes the map for sparse rows

    def _sparse_remedy(self) -> str:
        mapped = "feature_map" in self._get_param_names() and not getattr(self, "merge", False)
        return f"take feature_map={MAP!r}" if mapped else super()._sparse_remedy()

    @property
    def uses_types(self) -> bool:
        """Return whether the feature map uses categorical columns and missing values as they are."""
        new = self._new_feature_map(seed=0)
        if new is None:
            return False
        new._validate_params()  # what it uses depends on them
        return new.uses_types

    def _typed(self, rows: RowArray) -> RowArray | TypedRows:
        """Return rows with the types of their columns, for the feature map."""
        return rows if self.columns is None else TypedRows(rows, self.columns)

    def _clustered(self, rows: RowArray) -> RowArray:
        """Return what the model clusters of valid rows: their features, or the rows themselves without a map."""
        return rows if self.feature_map_ is None else self._features_of(rows, self.feature_map_)

    def _features_of(self, rows: RowArray, feature_map: FeatureTransformer) -> RowArray:
        """Return the features of valid rows of a table or of numbers, lazy in chunks for both."""
        row_bytes = max(rows.dtype.itemsize * rows.shape[1], 4 * feature_map.n_components_)
        return feature_map.transform(self._typed(fit_chunks(rows, row_bytes)))

    def _on_features(
        self, feature_map: FeatureTransformer, rows: RowArray, work: Callable[[RowArray, Announce, int], int]
    ) -> int:
        """Do a work of several passes on the features of rows, and return the number of passes over the rows.

        `work` takes the features, what announces a pass, and the number of earlier passes, and returns the number of
        all passes.
        """
        features = self._features_of(rows, feature_map)
        n_passes = feature_map.n_passes_
        there = kept(features, self.cache)
        if is_dask(features) and there is features:
            # The first passes were those of the feature map; the others map all rows again.
            return work(there, self._bar, n_passes)
        work(there, lambda description: self._bar(f"features, {description}"), 0)
        return n_passes + 1

    def _passes_on_features(self, fewest: int, most: int | None) -> tuple[int, int | None]:
        """Return the fewest and the most passes of `fit` over the rows, for those over rows or features."""
        if self._new_feature_map(seed=0) is None:
            return fewest, most
        # Cached features are mapped once, after the pass that chooses the landmarks.
        fewest = 2 if self.cache is not None else 1 + fewest
        return fewest, 2 if self.cache == "memory" else None if most is None else 1 + most

    @property
    def _parts_at(self) -> int | None:
        """Index of the parts of dependent rows among the arrays that plans read; None without groups."""
        return len(self._beside) or None

    @property
    def _map(self) -> FeatureMap | None:
        """The fitted map, if there is one."""
        return None if self.feature_map_ is None else self.feature_map_.map_

    @property
    def _names(self) -> Sequence[str] | None:
        """Names of the columns that are clustered; features have none."""
        return getattr(self, "feature_names_in_", None) if self.feature_map_ is None else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if getattr(self.feature_map, "column_types", "auto") != "auto":
            raise ValueError(
                "expected column_types of the estimator, whose map gets its columns; got those of the map: give "
                f"{type(self).__name__}(column_types=..., feature_map=...)"
            )

    def _check_look(self, look: FirstLook) -> None:
        """Raise an error if the first pass shows that the rows, or their features, cannot be clustered."""
        check_first_look(look, self._names, self._get_param_names())

    def _restore_feature_map(self, state: MappedState) -> None:
        """Set the feature map of a saved state, which must have as many features as the state has columns."""
        feature_map = state.feature_map
        self._wide = self.feature_map is None and isinstance(feature_map, TruncatedSVDMap)
        self.feature_map_ = self._new_feature_map(seed=0)
        if (feature_map is None) != (self.feature_map_ is None):
            expected = "no feature map, as its parameter is None" if self.feature_map_ is None else "a feature map"
            raise ValueError(f"expected {expected}; got {'none' if feature_map is None else 'one'}")
        if self.feature_map_ is not None and feature_map is not None:
            self.feature_map_.columns = self.columns
            self.feature_map_._restore(feature_map)
            if (n := self.feature_map_.n_components_) != state.n_columns:
                raise ValueError(f"expected {n} columns in the array {state.of_columns}, got {state.n_columns}")

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        if isinstance(feature_map := parameters.get("feature_map"), FeatureTransformer):
            parameters["feature_map"] = form_of(feature_map)
        return parameters

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        form = parameters.get("feature_map")
        own = {"feature_map": of_form(form, transformers(), "a feature map")} if isinstance(form, dict) else {}
        return super()._from_saved({**parameters, **own})

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.feature_map, FeatureTransformer):
            tags.input_tags.pairwise = get_tags(self.feature_map).input_tags.pairwise
        elif self.feature_map is not None:
            tags.input_tags.pairwise = self.feature_map == "precomputed"
        with suppress(TypeError, ValueError):  # parameters are checked in `fit`
            tags.input_tags.allow_nan = self.uses_types
        return tags
