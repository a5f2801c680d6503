"""The public methods of fitted trees, which plain functions carry out."""

from typing import Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import Floats, Integers
from ..tree.clusters import Level, Quality
from ..tree.structure import Tree
from .editing import check_fewer, united, with_tree
from .explaining import directions_of, rows_to_label, why_clusters, why_fewer, why_no_valley
from .grown_tree import GrownTree
from .updating import refuse_groups, regrown, update_by


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
            choose them, and a valley must show between the groups, however many rows they have. At least eight groups
            are needed to confirm a split. Lazy groups are read once more. A text is the column of a frame that names
            them, which is then no feature.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, `X`, `y`, `sample_weight` or `groups` is invalid; before any work if possible, otherwise in
            the first pass. Groups need ``stop_rule="hold-out"``.

        Notes
        -----
        Groups are dealt to 32 parts of about as many rows. Half of the parts choose a split; for the others, Student's
        t-test compares the rows around the lower mode with those around the valley. Its p-value is valid however rows
        depend on others of their group: Liang and Zeger, Biometrika 73, 1986.

        A fit with weights is that of the repeated rows to the last bit: ``fit(np.repeat(X, sample_weight, axis=0))``,
        but for the row numbers of exemplars, and without their memory. It takes as long. A row of weight w is w
        independent observations of the same values, of which either half of the rows that confirms a split gets some.
        So weights that are no such counts would make chance valleys significant, and fractions are refused.

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

    @available_if(lambda model: model.updates)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the tree with a batch of new rows; the first batch is fitted.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            As for `fit`, with the same columns as before.
        y : ignored

        Returns
        -------
        self
            `tree_` and `n_clusters_` are updated, `labels_` are those of the batch, and `n_passes_` is 1.

        Raises
        ------
        ValueError
            As for `fit`; the model then stays unchanged.

        Notes
        -----
        One pass over the batch. With every batch, the weight of all earlier rows is multiplied by `decay`; the tree
        holds their counts along its directions, but none of the rows. A split stays while old and new rows together
        show it, and follows its valley. A split whose valley has filled is removed, and the branch is grown anew from
        a sample of the batch; if one side gets no more rows, the other replaces it. Clusters in which the batch shows
        a valley are split. A new split is based on the batch only, and is counted on all rows from the next batch on.

        The feature map and the hyperplanes turned by `refine` stay as `fit` found them. Clusters keep their labels
        while there are the same, and are numbered anew, the largest first, when some are added or removed. With
        `merge`, clusters are never split by an update.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> rng = np.random.default_rng(0)
        >>> def night(*centres):
        ...     return np.concatenate([rng.normal(centre, 1, (500, 2)) for centre in centres])
        >>> model = RandomProjectionTree().fit(night(0, 8))
        >>> model.partial_fit(night(0, 8)).n_clusters_, model.partial_fit(night(0, 8, 16)).n_clusters_
        (2, 3)
        """
        if not hasattr(self, "tree_"):
            return self.fit(X, y)
        refuse_groups(self)
        update_by(self, X)
        return self

    @available_if(lambda model: model.updates)
    def regrow(self, node: int, X: Any, **parameters: Any) -> Self:
        """Return a model in which one branch of the tree is grown again, with other parameters.

        Parameters
        ----------
        node : int
            Node of `tree_`, a leaf or a split; ``tree_.cluster`` has the label of each leaf.
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows that `tree_` counts, as in `fit`.
        **parameters
            Parameters to change in this branch, such as ``min_relative_depth=0.02``. `max_clusters` and `n_clusters`
            are numbers of clusters in the branch, without a bound by default.

        Returns
        -------
        estimator
            A fitted model with the other branches as they are; its clusters are numbered anew, the largest first.

        Raises
        ------
        ValueError
            If there is no such node, a parameter is invalid or is `feature_map`, or `X` has other columns or another
            number of rows; before any work.

        Notes
        -----
        One pass to draw a sample of the rows in the branch, and further ones as in `fit`; with `merge`, one more.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(centre, 1, (500, 2)) for centre in (0, 8, 16)])
        >>> coarse = RandomProjectionTree(max_clusters=2).fit(X)
        >>> fine = coarse.regrow(np.flatnonzero(coarse.tree_.cluster == 0)[0], X)
        >>> coarse.n_clusters_, fine.n_clusters_
        (2, 3)
        """
        check_is_fitted(self)
        refuse_groups(self)
        grown: Self = regrown(self, node, X, parameters)
        return grown

    @property
    def levels_(self) -> tuple[Level, ...]:
        """Cuts of the tree at several depths of its valleys, from one cluster to all; `cut` makes models of them."""
        return self.tree_.levels()

    def cut(self, n_clusters: int) -> Self:
        """Return a model with fewer clusters, each a union of clusters of this one.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, at most `n_clusters_`; the splits with the largest relative depth stay, each after its
            parent.

        Returns
        -------
        estimator
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Raises
        ------
        ValueError
            If there are fewer clusters.

        Examples
        --------
        >>> from mdh_dask import RandomProjectionTree
        >>> from mdh_dask.simulate import gaussian_mixture
        >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
        >>> model = RandomProjectionTree(n_projections=100).fit(X)
        >>> model.levels_[-1].n_clusters
        4
        >>> model.cut(2).n_clusters_
        2
        """
        check_is_fitted(self)
        check_fewer(n_clusters, self.n_clusters_)
        model: Self = united(self, self.tree_.cut(n_clusters))
        return model

    def extract(self, quality: str | Quality = "stability") -> Self:
        """Return a model with the best clusters among all nodes of the tree, each a union of clusters of this one.

        Unlike those of `cut`, the splits above them need not be the deepest: a cluster that stands out is kept where
        another is divided by shallower valleys.

        Parameters
        ----------
        quality : "stability" or callable
            ``"stability"``: the rows of a node, times how long it is a cluster as the least depth of splits falls; or a
            function of `tree_` that returns the quality of each node as a cluster, shape (tree_.n_nodes,). The sum over
            the clusters is the largest there is.

        Returns
        -------
        estimator
            A fitted model, which predicts and is saved like any, with `labels_` if this one has them. No pass.

        Raises
        ------
        ValueError
            If there is no such quality, or it is not a finite number for each node.

        Examples
        --------
        >>> from mdh_dask import RandomProjectionTree
        >>> from mdh_dask.simulate import gaussian_mixture
        >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
        >>> model = RandomProjectionTree(n_projections=100).fit(X)
        >>> model.extract(lambda tree: tree.n_rows > 1000).n_clusters_ < model.extract().n_clusters_
        True
        """
        check_is_fitted(self)
        model: Self = united(self, self.tree_.extract(quality))
        return model

    def with_tree(self, tree: Tree, X: Any = None) -> Self:
        """Return a model with another tree, such as `tree_` after `Tree.prune` and `Tree.split`.

        Parameters
        ----------
        tree : Tree
            A tree for the same columns, or features of the map.
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features), optional
            Rows to count in the nodes of the tree, in one pass, and to label. Without them counts stay as they are.

        Returns
        -------
        estimator
            A fitted model, with `labels_` for `X` only.

        Raises
        ------
        ValueError
            If the tree has another number of columns.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> X = np.random.default_rng(0).normal(size=(400, 2))
        >>> model = RandomProjectionTree().fit(X)
        >>> halves = model.with_tree(model.tree_.split(0, [1.0, 0.0], 0.0), X)
        >>> halves.n_clusters_, halves.tree_.n_rows.tolist() == [400, *np.bincount(halves.labels_)]
        (2, True)
        """
        check_is_fitted(self)
        model: Self = with_tree(self, tree, X)
        return model

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
        return directions_of(self, X, n)

    def suggest_labels(self, X: Any, n: int = 10, y: Any = None) -> Integers:
        """Return the numbers of rows whose labels are worth asking for: those nearest to the separators.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            The rows of `fit`, or others.
        n : int, default=10
            Number of rows.
        y : array-like or Dask array of shape (n_samples,), optional
            Labels as for `fit`; rows that have one are not suggested.

        Returns
        -------
        ndarray of shape (at most n,), int64
            Row numbers from 0: of each cluster in turn, the nearest to a separator first; see `boundary_distance`.

        Raises
        ------
        NotFittedError, ValueError
            As for `predict`; also if `n` is not positive.

        Notes
        -----
        One pass.

        Examples
        --------
        >>> import numpy as np
        >>> from mdh_dask import RandomProjectionTree
        >>> x = np.concatenate([np.linspace(0, 4, 200), np.linspace(6, 10, 200)])[:, None]
        >>> np.sort(RandomProjectionTree().fit(x).suggest_labels(x, 4))
        array([198, 199, 200, 201])
        """
        return rows_to_label(self, X, n, y)

    def why(self, cluster: int | None = None) -> str:
        """Return in words what each cluster is, and why it is not split further; of one cluster, what to try next.

        Parameters
        ----------
        cluster : int, optional
            Label of the only cluster to explain; all by default.

        Returns
        -------
        str
            Of each cluster, the middle 80 % of its sample rows in the columns in which it differs most from all others
            and from its sibling, or its most frequent level; after changes of the clusters, the splits that bound it.
            Of the best valley that was not split: its relative depth, its evidence in standard errors, and the share of
            samples from the closest distribution with a single mode that have one as deep there. No pass.

        Raises
        ------
        ValueError
            If there is no such cluster.

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
        """Return why no valley of a leaf is known."""
        return why_no_valley(self, leaf, least)

    def _why_fewer(self) -> str:
        return why_fewer(self)

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and a map of the tree if there is one."""
        diagram = str(super()._html_repr())
        tree = getattr(self, "tree_", None)
        return diagram if tree is None else f"{diagram}{tree._repr_html_()}"
