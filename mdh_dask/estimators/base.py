"""The base class of estimators, with fit, predict and save for models of any kind."""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._journal import traced
from .._state import State
from .._typing import AnyArray, Integers, RowArray
from ..chunks import one_bar
from ..growth.exemplars import Exemplars
from ..images import PixelColumns
from ..io.models import save_model
from ..splits.stopping import STOP_RULES
from ..summaries.evidence import restored_merges, stored_merges
from ..summaries.history import REMEMBERED, History
from ..summaries.words import ColumnNotes, columns_in_words, notes_on
from .explaining import evidence, why
from .groups import parts_of_groups, weighted_rows, without_groups
from .history import begun, name_clusters
from .mapped import Mapped
from .missing import of_block, of_complete_rows, without_missing
from .models import optional
from .repeats import Repeats, repeats
from .states import MappedState
from .tables import column_names, labels_like, plain_labels, sure_of

logger = logging.getLogger(__name__)


class ClusterEstimator(ClusterMixin, Mapped):
    """Base of the estimators: the scikit-learn interface to a `State`, which a plan of passes computes.

    A subclass is a dataclass of parameters, `random_state` and `progress` among them, with scikit-learn's
    ``_parameter_constraints`` for them. It names its `state_type` and implements `_plan`. A line in
    `mdh_dask.estimators.registry` makes it public and known to `load_model`, the command line and job files.

    Parameters
    ----------
    missing : {"error", "mean", "drop"}
        Rule for missing values (NaN). ``"error"``: they are refused, unless the method or its feature map has a use
        for them. ``"mean"``: the means of all other values of the column replace them, rounded if all values are whole
        numbers, as another one would be a level of its own among codes and ratings. Means lie between clusters, so that
        many rows filled in may be clusters of their own; trees with ``feature_map="gower"`` fill in numbers of similar
        rows instead.
        ``"drop"``: rows with missing values are left out, and labelled -1. Either takes one more pass, and
        `missing_values_` counts them.

    Attributes
    ----------
    labels_ : ndarray or dask Array of shape (n_samples,), int32
        Clusters are numbered from 0 by their numbers of rows in `fit`, the largest first; -1 is for rows in none. Where
        `n_clusters_` says so, a part of the rows is counted.
        NumPy for input in memory, otherwise lazy in the row chunks of the input with one pass to compute. For a frame
        of pandas or polars a series, with the index; for an xarray DataArray a DataArray of its rows. For a Dask
        DataFrame there is a chunk for each partition, so that they can be assigned to it as a column.
    probabilities_ : ndarray or dask Array of shape (n_samples,), float64
        The `confidence` in each label, from 0 to 1, and 0 for the label -1; in the form of `labels_`. The model refers
        to the rows of `fit` and reads them when this is first asked for; afterwards copies and pickles of it have it.
    n_clusters_ : int
        Number of clusters, not counting the label -1.
    missing_values_ : MissingValues or None
        Numbers of missing values in `fit`, if they were replaced or left out.

    See Also
    --------
    load_model : Load a saved model.
    """

    uses_labels: ClassVar[Literal["never", "given", "always"]] = "never"
    """Whether `fit` uses labels of some rows: never, if there are any, or not without."""
    n_groups_: int | None = None
    merges_: AnyArray | None = None
    """The merges of cells or leaves; None of methods that merge none."""
    _notes: ColumnNotes | None = None
    _repeats: Repeats | None = None
    _words: tuple[str, ...] = ()
    """Each cluster in words, until the clusters change."""
    _labelled: Any = None
    """The rows of `labels_`, as they were given."""
    _probabilities: Any = None
    _history: History | None = None
    pixel_columns_: PixelColumns | None = None
    """Columns of the image whose pixels are the rows; see `mdh_dask.images.PixelColumns`."""

    @classmethod
    def _without(cls, name: str) -> str:
        if name != "n_clusters":  # of other libraries
            return super()._without(name)
        bound = (
            "max_clusters= is the most that are kept" if "max_clusters" in cls._get_param_names() else "it is 2 at most"
        )
        return f"has no parameter n_clusters: the number of clusters is found; {bound}"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : array-like, frame, DataArray, Dask array or DataFrame, or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities, unless the parameters allow others. Dask arrays need known row chunks;
            Dask DataFrames, and texts or categories of lazy rows, take one more pass.
        y : ignored
        sample_weight : array-like or Dask array of shape (n_samples,), or None
            How many equal rows each row stands for; see the Notes of `TreeEstimator.fit`.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, weights: Any = None, groups: Any = None) -> Self:
        """Fit to rows, which count as often as their weights say, and depend on those of their groups."""
        self._check_parameters()
        if groups is not None:
            self._check_groups(weights)
            X, groups = without_groups(X, groups)
        with one_bar(self.progress), traced(f"fit {type(self).__name__}") as note:
            read = self._read(X, fits=True)
            self._take_columns(read)
            self._notes = notes_on(read.array, self.columns) if isinstance(read.array, np.ndarray) else None
            if hasattr(self, "feature_names_in_"):
                logger.info("%s", columns_in_words(self._notes, column_names(self), self.columns))
            self._take_target(y, read.array.shape[0])
            check_length(y, read.array.shape[0])
            rows, learnt, self.missing_values_, n_passes = without_missing(self, read)
            self._beside, self.n_groups_ = (), None
            if groups is not None:
                parts = parts_of_groups(groups, rows.shape[0], self._seed())
                self._beside, self.n_groups_ = (parts.of_rows,), parts.n_groups
            self.pixel_columns_ = self._exemplars = self._drawn = self._repeats = self._history = self.merges_ = None
            self._words = ()
            try:
                learnt, self._ends = weighted_rows(self, learnt, weights)
                self.n_passes_ = read.n_passes + n_passes + self._learn(learnt, self._seed())
                self._keep_exemplars(learnt)
                self._history = begun(self, None if self._seen is None else self._seen.in_random_order(REMEMBERED).rows)
                self._warn_of_fewer()
                self._finish(rows, X)
                feature_map: Any = self.feature_map_
                if hasattr(feature_map, "landmarks_"):
                    feature_map.landmarks_ = self._original(feature_map.landmarks_)
                note(rows=rows.shape[0], columns=rows.shape[1], clusters=self.n_clusters_, passes=self.n_passes_)
            finally:
                self._ends, self._beside, self._seen = None, (), None
        return self

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> RowArray:
        """Cluster rows and return their labels; see `fit`."""
        return self.fit(X, y, **kwargs).labels_  # scikit-learn's leaves out `y`, which may hold labels

    def _take_target(self, y: Any, n_rows: int) -> None:
        """Check and keep the labels of so many rows, in estimators that learn from labels."""

    def _check_groups(self, weights: Any = None) -> None:
        """Raise an error if other parameters, or weights of rows, exclude groups of dependent rows."""
        if weights is not None:
            raise ValueError("expected sample_weight or groups; got both: repeat the rows of equal ones")
        if self.missing == "drop":
            raise ValueError("expected missing='error' or 'mean' with groups; got 'drop': leave out these rows before")
        if (rule := getattr(self, "stop_rule", None)) is not None and not STOP_RULES[rule].takes_groups:
            raise ValueError(f"expected stop_rule='hold-out' or 'none' with groups; got {rule!r}, which compares rows")

    @property
    def noise(self) -> bool:
        """Return whether rows may have the label -1: in no cluster, or left out for missing values."""
        return self._leaves_rows or self.missing == "drop"

    @property
    def _leaves_rows(self) -> bool:
        """Whether rows may be in no cluster, where few others are near."""
        return self.state_type.noise

    @property
    def state_(self) -> Any:
        """The fitted state, of class `state_type`."""
        return self._state

    @property
    def n_clusters_(self) -> int:
        """Number of clusters, not counting the label -1."""
        check_is_fitted(self)
        return int(self.state_.n_clusters)

    @property
    def history_(self) -> History:
        """What became of each cluster in each night; `to_records` and `to_pandas` make a table of it."""
        check_is_fitted(self)
        return begun(self, None) if self._history is None else self._history

    @property
    def ids_(self) -> Integers:
        """The id of each cluster by its label, shape (n_clusters_,), which `continued` and `partial_fit` keep."""
        return self.history_.ids

    def _finish(self, rows: RowArray, X: Any) -> None:
        """Set the attributes that follow from the state, and the labels of the rows in the form of `X`."""
        self._name_columns(getattr(self, "feature_names_in_", None))
        self.labels_ = labels_like(X, self._labels_of_valid_rows(rows))
        self._labelled, self._probabilities = X, None

    @property
    def probabilities_(self) -> RowArray:
        """The confidence in each label, and 0 for the label -1."""
        if self._probabilities is None:
            check_is_fitted(self)
            if self._labelled is None:
                raise AttributeError(
                    "probabilities_ belongs to the rows of fit, which are not saved: take confidence(X)"
                )
            sure = plain_labels(self.confidence(self._labelled))
            self._probabilities = labels_like(self.labels_, sure_of(plain_labels(self.labels_), sure), "probability")
        return self._probabilities

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the rows of `fit`, for pickle."""
        return {**super().__getstate__(), "_labelled": None}

    def _name_columns(self, names: Sequence[str] | None) -> None:
        """Set the names of the columns of the fitted rows."""
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _labels_of_valid_rows(self, rows: RowArray) -> RowArray:
        """Return the cluster of every row of the array of `_read`."""
        return self._of_valid_rows(rows, "labels", "int32")

    def _fitted(self) -> State:
        return self.state_

    def _block_labels(self) -> Callable[[AnyArray], Integers]:
        """Return a function that labels a block of rows on the calling thread, small enough to be sent to workers."""
        check_is_fitted(self)
        return partial(of_complete_rows if self.missing == "drop" else of_block, "labels", "int32", self._fitted())

    def predict(self, X: Any) -> RowArray:
        """Return the label of every row of `X`, int32: NumPy for NumPy input, otherwise lazy with one pass to compute.

        Raises a ValueError if `X` has other columns than in `fit`, or NaN or infinities (of lazy rows, on computing).
        """
        return self.cluster_labels(X)

    def cluster_labels(self, X: Any) -> RowArray:
        """Return the cluster of every row, int32, also for classifiers, whose `predict` returns classes."""
        return self._of_rows(X, "labels", "int32")

    why, evidence, repeats, name_clusters = why, evidence, repeats, name_clusters

    def _limit(self) -> str:
        """Return which parameter gave the number of clusters, or an empty text."""
        for name, said in (("n_clusters", "asked for"), ("max_clusters", "allowed")):
            if getattr(self, name, None) == self.n_clusters_:
                return f"as many as {name}={self.n_clusters_} {said}"
        return ""

    def _reason(self) -> str:
        """Return in words why there are so many clusters, if no parameter says so."""
        return f"{type(self).__name__} found no more"

    def _warn_of_fewer(self) -> None:
        """Warn if there are fewer clusters than were asked for, and say why."""
        wanted = getattr(self, "n_clusters", None)
        if wanted is not None and self.n_clusters_ < wanted:
            said = f"found {self.n_clusters_} of n_clusters={wanted}: {self._why_fewer()}"
            warnings.warn(said, ConvergenceWarning, stacklevel=3)

    def _why_fewer(self) -> str:
        """Return in words why there are fewer clusters than were asked for."""
        return self._reason()

    def report(self, path: str | Path, X: Any, *, title: str = "Clusters", overwrite: bool = False) -> Path | str:
        """Write a report of the clusters as one HTML file, in one pass over the rows, and return its path or URL.

        Parameters
        ----------
        path : path or URL
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        title : str, default="Clusters"
        overwrite : bool, default=False
            Whether to replace an existing file, which is a FileExistsError otherwise.
        """
        from .profiles import write_model_report  # reports are not needed to fit

        return write_model_report(self, path, X, title, overwrite)

    def report_pictures(self) -> dict[str, bytes]:
        """Return PNG images for the report of the model by caption."""
        return {}

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Save the model to a Zarr group at a path, to be loaded by `load_model`.

        Raises a FileExistsError if there is something and `overwrite` is False; a TypeError for a parameter that cannot
        be stored, such as a function, before anything is written.
        """
        check_is_fitted(self)
        saved = {
            "estimator": type(self).__name__,
            "parameters": self._saved_parameters(),
            "n_features": self.n_features_in_,
            "feature_names": list(map(str, getattr(self, "feature_names_in_", []))) or None,
            "n_passes": self.n_passes_,
            "n_groups": self.n_groups_,
            "pixel_columns": self.pixel_columns_,
            "columns": self.columns,
            "missing_values": self.missing_values_,
            "notes": self._notes,
            "repeats": self._repeats,
            "history": self._history,
            "state": self.state_,
            **self._saved_state(),
        }
        saved |= {"words": list(self._words)} if self._words else {}
        save_model(path, saved, overwrite=overwrite)

    def _saved_state(self) -> dict[str, Any]:
        """Return what is saved besides the state."""
        return {"exemplars": self._exemplars, "merges": stored_merges(self.merges_)}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        """Set the state and what was saved besides it."""
        self.feature_map_ = None
        if isinstance(state := saved["state"], MappedState):
            self._restore_feature_map(state)
        self.merges_ = restored_merges(optional(saved, "merges", np.ndarray))
        self._adopt(state)
        if (exemplars := optional(saved, "exemplars", Exemplars)) is not None:
            exemplars.check_clusters(self.n_clusters_)
            self._exemplars = exemplars

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        """Return the fewest and the most passes of `fit` over rows of a shape; None if unknown."""
        return 1, None

    def _task_bytes(self, rows: RowArray) -> int:
        """Return the most bytes that a task of `fit` returns, or holds besides its rows."""
        return 0


def check_length(y: Any, n_rows: int) -> None:
    """Raise an error if there are labels, but not one for each row: those that are ignored, too."""
    shape = getattr(y, "shape", None)
    n = len(y) if shape is None and hasattr(y, "__len__") else shape[0] if shape else None
    if isinstance(n, Integral) and n != n_rows:  # the length of lazy labels may be unknown
        raise ValueError(f"expected one label for each of the {n_rows} rows; got an array of shape ({n},)")


class InGroups(ClusterEstimator):
    """Base of the estimators of rows that may count several times, or depend on each other in groups."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Cluster rows.

        Parameters
        ----------
        X : array-like, frame, DataArray, Dask array or DataFrame, or Zarr array of shape (n_samples, n_features)
            As for `TreeEstimator.fit`.
        y : ignored
        sample_weight : array-like or Dask array of shape (n_samples,), or None
            How many equal rows each row stands for; see the Notes of `TreeEstimator.fit`.
        groups : array-like, series, or Dask array or series of shape (n_samples,), or str, optional
            Groups of rows that depend on each other, as for `TreeEstimator.fit`. All tests, and merging, compare these.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, groups)
