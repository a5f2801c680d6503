"""The public methods of fitted trees."""

from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats, Integers
from ..chunks import merge_chunks, reduce_rows, run
from ..growth.refine import leading_directions
from ..summaries.passes import NearestRows
from ..tree.clusters import Level
from .editing import cut, extract, with_tree
from .explaining import least_rows, why_clusters
from .grown_tree import GrownTree
from .missing import complete_rows
from .targets import encoded
from .updating import partial_fit, regrow

COMES_TO_ITS_TURN = ("scatter", "eigenvalue")
"""Orders that examine a cluster only when its turn comes to be split."""


class TreeEstimator(GrownTree):
    """Base of the estimators of one tree: methods that explain, edit, update and use it."""

    updates: ClassVar[bool] = True
    """Whether fitted trees can be updated and grown further."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Cluster rows, guided by the labels of some of them if there are any.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities. Dask arrays need known row chunks.
        y : array-like or Dask array of shape (n_samples,), Links, or None
            Labels of some rows, -1 for the others, as integers; texts if `y` is in memory, "-1" or "" for the others.
            Masked labels are none, nor are missing ones (NaN, None) if `y` is in memory. Or links between rows. No
            split cuts the rows of one label; a valley between different labels needs no test. Anything else, such as
            the classes of all rows that a pipeline passes on, also if they are -1 and 1, is ignored: clusters
            should not follow what they are later compared with. At most 100,000 labelled rows are used.
        sample_weight : array-like or Dask array of shape (n_samples,), or None
            How many equal rows each row stands for: whole numbers from 0, also as floats. They are held in memory.
        groups : array-like, series, or Dask array or series of shape (n_samples,), or str, optional
            Numbers or texts that name the group of each row, if rows of one group may depend on each other: the donor
            of a cell, the day of a measurement, the tile of a pixel. Splits are then tested on groups that did not
            choose them, and a valley must show between the groups, however many rows they have. Eight groups are
            enough to confirm a split; fewer may be too few. Lazy groups are read once more. A text is the column of a
            frame that names them, which is then no feature. They need ``stop_rule="hold-out"``.

        Notes
        -----
        Groups are dealt to 32 parts of about as many rows. Half of the parts choose a split; for the others, Student's
        t-test compares the rows around the lower mode with those around the valley. Its p-value is valid however rows
        depend on others of their group: Liang and Zeger, Biometrika 73, 1986.

        A fit with weights is that of the repeated rows to the last bit: ``fit(np.repeat(X, sample_weight, axis=0))``,
        but for the row numbers of exemplars, and without their memory. It takes as long. Fractions are refused.

        Rows that are equal as their values are rounded are independent observations. Others are copies, which would
        confirm any valley if both halves of the rows had some: where more than a tenth of the sampled rows are copies,
        splits are found and tested on one of each. But as many copies as a cluster has rows are a cluster by
        themselves, and all count. Sizes are those of all rows. Features of a map, groups, methods without held-out
        rows and ``sample_size=None`` count all copies.

        Of up to 100 columns, those of few values that others tell are left out: by their order, as the decade of an
        age, or by a linear function, as the total of three answers. Beside what tells it, such a column holds rows in
        boxes, which look like clusters.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2)) + np.repeat([[-9, 0], [0, 0], [9, 0]], 100, axis=0)
        >>> y = np.full(300, -1)
        >>> y[[0, 1, 100, 101]], y[[200, 201]] = 5, 7
        >>> model = RandomProjectionTree().fit(X, y)
        >>> model.n_clusters_, model.known_labels_.tolist(), sorted(model.label_counts_.tolist())
        (2, [5, 7], [[0, 2], [4, 0]])
        """
        return self._fit(X, y, sample_weight, groups)

    partial_fit = available_if(lambda model: model.updates)(partial_fit)
    regrow = available_if(lambda model: model.updates)(regrow)
    cut, extract, with_tree = cut, extract, with_tree

    @property
    def levels_(self) -> tuple[Level, ...]:
        """Cuts of the tree at several depths of its valleys, from one cluster to all; `cut` makes models of them."""
        return self.tree_.levels()

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

        Notes
        -----
        One pass, and with a feature map one that maps the rows; directions are those of `sample_size` rows. Source: D.
        Hofmeyr and N. Pavlidis, PPCI: an R package for cluster identification using projection pursuit, The R Journal
        11, 2019.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import ClusterabilityTree
        >>> corners = np.array([[0, 0], [9, 0], [0, 12], [9, 12]]) @ np.eye(2, 5)
        >>> X = np.random.default_rng(0).normal(size=(800, 5)) + np.repeat(corners, 200, axis=0)
        >>> V = ClusterabilityTree(scale=False).fit(X).directions(X, 2)
        >>> bool(np.abs(V @ V.T - np.eye(2)).max() < 1e-6), bool(np.abs(V[:, 2:]).max() < 0.1)
        (True, True)
        """
        check_is_fitted(self)
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"expected a positive integer for n, the number of directions; got {n!r}")
        rows, _ = complete_rows(self, self._read(X).array)
        rows, settings = self._clustered(rows), self._settings(rows.shape[0], self._seed())
        plan = leading_directions(settings, (rows.shape[0], rows.shape[1]), self._check_look, n)
        return run(plan, merge_chunks(rows), announce=self._bar)[0]

    def suggest_labels(self, X: Any, n: int = 10, y: Any = None) -> Integers:
        """Return the numbers of at most `n` rows whose labels are worth asking for: those nearest to the separators.

        Of each cluster in turn, the nearest to a separator first; see `boundary_distance`. One pass.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        n : int, default=10
            Number of rows.
        y : array-like or Dask array of shape (n_samples,), optional
            Labels as for `fit`; rows that have one are not suggested.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> x = np.concatenate([np.linspace(0, 4, 200), np.linspace(6, 10, 200)])[:, None]
        >>> np.sort(RandomProjectionTree().fit(x).suggest_labels(x, 4))
        array([198, 199, 200, 201])
        """
        if not isinstance(n, Integral) or n < 1:
            raise ValueError(f"expected a positive number of rows for n; got {n!r}")
        distances, labels = self.boundary_distance(X), self.cluster_labels(X)
        known = () if y is None else (encoded(y, distances.shape[0]).labels,)
        progress = self._bar("looking for rows to label")
        return reduce_rows(NearestRows(n, self._seed()), distances, labels, *known, progress=progress)

    def why(self, cluster: int | None = None) -> str:
        """Return in words what each cluster is, and why it is not split further; of one `cluster`, what to try next.

        Of each cluster, the middle 80 % of its sample rows in the columns in which it differs most from all others
        and from its sibling, or its most frequent level; after changes of the clusters, the splits that bound it.
        Of the best valley that was not split: its relative depth, its evidence in standard errors, and the share of
        samples from the closest distribution with a single mode that have one as deep there. No pass.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> print(RandomProjectionTree(n_projections=100).fit(X).why().split(":")[0])
        1 cluster of 500 rows
        """
        check_is_fitted(self)
        return why_clusters(self, cluster)

    def _why_no_valley(self, leaf: int, least: str) -> str:
        """Return why no valley of a leaf is known: it may not have been examined at all."""
        if self.max_levels is not None and self.tree_.level[leaf] >= self.max_levels:
            return f"it lies under max_levels={self.max_levels} splits"
        if self.order in COMES_TO_ITS_TURN:
            return f"its turn did not come, or no split with {least} on both sides was possible"
        return f"no valley with {least} on both sides was found"

    def _why_fewer(self) -> str:
        least = least_rows(self)
        levels = "" if self.max_levels is None else f", or lies under max_levels={self.max_levels} splits"
        return (
            f"every cluster has too few rows or no valley of min_relative_depth={self._least_depth():g} with "
            f"{least:,} rows (min_cluster_size) on both sides{levels}. Lower them, or ask for fewer"
        )

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and a map of the tree if there is one."""
        diagram = str(super()._html_repr())
        tree = getattr(self, "tree_", None)
        return diagram if tree is None else f"{diagram}{tree._repr_html_()}"
