"""A base of estimators that say why there are so many clusters, and write reports."""

import warnings
from abc import abstractmethod
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._words import full_count
from .planned import Planned


class Described(Planned):
    """A base of estimators with a fitted state that describes their clusters in words and pictures."""

    @property
    @abstractmethod
    def state_(self) -> Any:
        """The fitted state."""

    @property
    @abstractmethod
    def n_clusters_(self) -> int:
        """Number of clusters, not counting the label -1."""

    def why(self) -> str:
        """Return in words why there are so many clusters, and by how much the best valley for one more failed.

        Returns
        -------
        str
            A sentence or two. If the number of clusters was given, it says so. No pass.

        Raises
        ------
        NotFittedError
            Before `fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import SupportVectorClustering
        >>> print(SupportVectorClustering().fit(np.random.default_rng(0).normal(size=(300, 2))).why().split(";")[0])
        1 cluster: no valley shows among the rows that drew the contours
        """
        check_is_fitted(self)
        sizes = self.state_.sizes
        of = "" if sizes is None else f" of {full_count(int(sizes.sum()), 'row')}"
        return f"{full_count(self.n_clusters_, 'cluster')}{of}: {self._limit() or self._reason()}"

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
        """Write a report of the clusters as one HTML file, in one pass over the rows.

        Parameters
        ----------
        path : path or URL
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        title : str, default="Clusters"
        overwrite : bool, default=False
            Whether to replace an existing file.

        Returns
        -------
        Path or str
            Path or URL of the file.

        Raises
        ------
        NotFittedError
            Before `fit`.
        FileExistsError
            If the file exists and `overwrite` is False.
        ValueError
            If `X` is invalid.
        ImportError
            If Jinja2 is missing.
        """
        from .reporting import write_model_report  # reports are not needed to fit

        return write_model_report(self, path, X, title, overwrite)

    def report_pictures(self) -> dict[str, bytes]:
        """Return PNG images for the report of the model by caption."""
        return {}
