"""The consensus of many trees."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, get_tags

from .._journal import use_journal
from .._typing import AnyArray, Floats, RowArray
from .._words import full_count, listed
from ..chunks import Announce, Pass, Plan, Together, merge_chunks, run_together, together, work_through
from ..ensembles.consensus import SAMPLED_ROWS, Found, find_consensus
from ..ensembles.labels import most_tuples
from ..ensembles.linkage import LabelLinkage, linkage_of
from ..ensembles.votes import LabelTuples, LabelVotes
from ..growth.merging import Merges, merged_cells, merging_sample, rows_for_cells
from ..growth.passes import FirstLook, Sample, SamplePass, columns_of, rows_in_memory, sample_limit
from ..growth.scaling import standardiser
from ..plotting import plot_agreement, plot_tree
from ..plotting.parts import png_of
from ..splits.dependence import parts_in
from ..summaries.evidence import table_of_cells
from ..tree.structure import Tree
from .base import InGroups
from .consensus_members import (
    USUAL,
    Member,
    Members,
    each,
    joins,
    limit_to_sample,
    member_of_form,
    members_of,
    need_sample,
    passes_of,
    sample_for_others,
    turns_of,
)
from .consensus_state import MOST_TREES, ConsensusState, MemberState
from .density_tree import DensityTree
from .explaining import strongest, why_not
from .models import form_of
from .parameters import Interval, StrOptions, documented
from .row_values import Absent
from .states import TreeState
from .tree_estimator import TreeEstimator

EXEMPLARY = 4096
"""Most sample rows of which exemplars are chosen."""


@documented
class ConsensusClustering(InGroups):
    """The clustering that several trees agree on most.

    Trees with different directions and features miss different clusters, and disagree where the borders are uncertain.
    Rows are as similar as the share of the trees in which they are in the same leaf. Average linkage joins them, and of
    all partitions on the way the one is taken that shares the most information with the trees that found clusters, if
    more than a fifth did: that a tree finds none is no evidence against them. Long thin curves are cut into pieces, as
    hyperplanes cut them; see `DensityTree`, and `merge`.

    Parameters
    ----------
    estimator : estimator of a tree, `DensityTree`, list of these, or None, default=None
        Estimator of the trees, each with its own `random_state`; several take turns. None means `HierarchicalMDH`,
        `HierarchicalKernelMDH` and `DensityTree`.
    n_trees : int, default=9
        Number of trees, at least 2.
    n_clusters : int or None, default=None
        Number of clusters, also in each tree that can have a number. With votes, the most clusters. None for at most as
        many as in the largest tree.
    n_init : int, default=10
        With votes: number of random orders in which the clusters are matched, of which the best is used.
    combine : {"linkage", "votes"}, default="linkage"
        Rule by which the leaves of a row give its cluster. ``"linkage"``: it is in the cluster with whose rows it
        shares the most leaves, on average; `predict_proba` and `confidence` are these similarities as shares of their
        sum. ``"votes"``: the clusters of the trees are matched to maximise their agreement, and a row is in its cluster
        in most trees; `predict_proba` and `confidence` are shares of the trees, and clusters that less than half of the
        trees separate are one.
    merge : bool, default=False
        Whether to merge clusters until a valley of the density of the rows separates each from its neighbours, unless
        `n_clusters` is given: for trees of hyperplanes alone, which cut long clusters in different places. A valley in
        few of many columns may be missed. Nothing is merged with maps of precomputed kernels or mixed columns.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters that are the first choice of any of 65,536 sample rows, or of any leaves. They are numbered
        by these rows, or by the counted rows of the leaves, the largest first.
    trees_ : list of Tree
    agreement_ : ndarray of shape (n_trees,), float64
        Mean share of the rows to which a tree gives the cluster of another.
    representative_ : int
        Index of the tree that agrees most with the others.
    merges_ : ndarray of records, or None
        The merges of clusters, as for `DensityTree`, and the pairs that a valley keeps apart; see `evidence`.

    See Also
    --------
    consensus : The consensus of labels from any methods.
    HyperplaneEnsemble : A mixture of hyperplanes.

    Notes
    -----
    Passes: those of the tree of hyperplanes with the most, all of which grow together. Where there are trees on
    features of a kernel, or density trees, these grow on the first sample of the others, of about 40,000 rows, and the
    distinct tuples of its leaves are counted: rows are mapped, or compared with landmarks, for a sample and for labels
    only. `min_cluster_size` of these trees is then a share of the sample. Otherwise, one pass more counts the tuples of
    all rows: of more than 65,536, a random sample, of fewer if the trees have more than 64 leaves in all. The 2048
    tuples with the most rows are joined. With votes, the contingency tables of all pairs of trees are counted instead,
    from which the result follows exactly. Trees of a precomputed kernel take separate passes. The driver and one worker
    hold the first sample, which the trees share, and the fresh samples of all trees of hyperplanes. The trees that grow
    on the sample do so on the threads of the driver.

    References
    ----------
    E. Dimitriadou, A. Weingessel and K. Hornik, A combination scheme for fuzzy clustering, International Journal of
    Pattern Recognition and Artificial Intelligence 16(7), 2002.

    A. L. N. Fred and A. K. Jain, Combining multiple clusterings using evidence accumulation, IEEE Transactions on
    Pattern Analysis and Machine Intelligence 27(6), 2005.

    A. Strehl and J. Ghosh, Cluster ensembles: a knowledge reuse framework for combining multiple partitions, Journal of
    Machine Learning Research 3, 2002.

    K. Yates, Low-Density Cluster Separators for Large, High-Dimensional, Mixed and Non-Linearly Separable Data, PhD
    thesis, Lancaster University, 2017, section 6.2.5.

    Examples
    --------
    >>> from mdh_dask import ConsensusClustering
    >>> from mdh_dask.simulate import gaussian_mixture
    >>> X, y = gaussian_mixture(3000, 10, 4, sd=1.0, random_state=0)
    >>> model = ConsensusClustering(n_trees=4).fit(X)
    >>> model.n_clusters_
    4
    >>> model.confidence(X[:2]).compute()
    array([1., 1.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, TreeEstimator, DensityTree, list],
        "n_trees": [Interval(Integral, 2, MOST_TREES, closed="both")],
        "combine": [StrOptions({"linkage", "votes"})],
    }
    state_type = ConsensusState
    feature_map_ = None  # every tree has its own
    boundary_distance = Absent("boundary_distance: every tree has borders of its own: take confidence(X)")
    cut = Absent("cut: its clusters are no branches of one tree: fit with n_clusters=")
    tree_ = Absent("tree_: it has trees_, of which trees_[representative_] agrees most with the others")

    estimator: Member | Sequence[Member] | None = None
    n_trees: int = 9
    n_clusters: int | None = None
    n_init: int = 10
    combine: str = "linkage"
    merge: bool = False
    column_types: Any = "auto"
    missing: str = "error"
    random_state: Any = 0
    progress: bool = False

    @classmethod
    def for_trees(cls, name: str) -> str:
        """Return how a parameter is given to the trees, or an empty string if they do not have it."""
        takes = [type(own).__name__ for own in USUAL if name in own._get_param_names()]
        return f"estimator={takes[0]}({name}=...)" if takes else ""

    @classmethod
    def _without(cls, name: str) -> str:
        given = cls.for_trees(name)
        return f"has no parameter {name!r}: give it to the trees, as {given}" if given else super()._without(name)

    def _members(self, seed: int) -> Members:
        """Return the estimators of the trees, with their seeds."""
        return members_of(turns_of(self.estimator), self.n_trees, self.n_clusters, seed)

    @property
    def uses_types(self) -> bool:
        """Return whether all trees use categorical columns and missing values as they are."""
        return all(own.uses_types for own in turns_of(self.estimator)[: self.n_trees])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        with suppress(TypeError, ValueError):  # parameters are checked in `fit`
            tags.input_tags.pairwise = any(get_tags(own).input_tags.pairwise for own in turns_of(self.estimator))
        return tags

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        return parameters | {"estimator": each(form_of, parameters["estimator"])}

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        return super()._from_saved({**parameters, "estimator": each(member_of_form, parameters.get("estimator"))})

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for own in turns_of(self.estimator):
            own._check_parameters()
            for name, usual in (("missing", "error"), ("column_types", "auto")):
                if getattr(own, name) != usual:
                    raise ValueError(
                        f"expected {name} of ConsensusClustering, which reads the rows for all trees; got that of "
                        f"{type(own).__name__}: give ConsensusClustering({name}=...)"
                    )

    def _check_groups(self, weights: Any = None) -> None:
        super()._check_groups(weights)
        for own in turns_of(self.estimator):
            own._check_groups()

    def _learn(self, rows: RowArray, seed: int) -> int:
        members, merged = self._members(seed), merge_chunks(rows)
        shape = (rows.shape[0], rows.shape[1])
        self._n_rows = shape[0]
        self._sample: Sample | None = None
        for own, _ in members:
            own.n_features_in_, own.progress, own.feature_map_ = shape[1], self.progress, None
            own.columns, own._beside = self.columns, self._beside
            if hasattr(self, "feature_names_in_"):
                own.feature_names_in_ = self.feature_names_in_  # for error messages
        joined = [(own, s) for own, s in members if joins(own)]
        # An error names the parameters of the consensus, not those of a tree.
        plans = [own._plan(s, shape, sample_seed=seed, check=self._check_look) for own, s in joined]
        sampling = [sample_for_others(seed, shape, self._check_look, self._parts_at)] if need_sample(members) else []
        results, n_passes = run_together([*plans, *sampling], merged, *self._beside, announce=self._bar)
        for (own, _), found in zip(joined, results):
            own.tree_ = found.tree
        if not sampling:
            return self._settle_members(members, rows, seed, self._bar, n_passes)
        sample: Sample = results[-1]
        limit_to_sample(members, len(sample.rows), shape[0])
        self._sample, self._beside = sample, (parts_in(sample.hashes),) if self._beside else ()
        try:
            with use_journal(None):  # a job that resumes makes no pass for what is in memory
                self._settle_members(members, sample.rows, seed, lambda description: None)
        finally:
            self._sample = None
        return n_passes

    def _check_look(self, look: FirstLook) -> None:
        if not self.uses_types:  # typed values may be missing
            super()._check_look(look)

    def _settle_members(
        self, members: Members, rows: RowArray, seed: int, announce: Announce, n_passes: int = 0
    ) -> int:
        """Grow the trees that take passes of their own, set the state, and return the number of passes."""
        others = [(own, s) for own, s in members if not joins(own)]
        taken: list[int] = []

        def learn(member: tuple[Member, int]) -> tuple[()]:
            own, s = member
            own._beside = self._beside
            taken.append(own._learn(rows, s))
            return ()

        if self._sample is None:  # a journal expects passes in their order
            for member in others:
                learn(member)
        else:
            work_through(learn, others)
        n_passes += sum(taken)
        self._grown: tuple[MemberState, ...] = tuple(own.state_ for own, _ in members)
        return self._settle(seed, merge_chunks(rows), announce, n_passes)

    def _plan(self, seed: int, shape: tuple[int, int]) -> Plan[ConsensusState]:
        trees, parts_at = self._grown, self._parts_at
        # The journal of a job can store a tree without a map.
        labelling = tuple(own.tree if isinstance(own, TreeState) and own.feature_map is None else own for own in trees)
        wanted = rows_in_memory(EXEMPLARY, trees[0].n_features)
        drawing = SamplePass(seed, sample_limit(wanted, shape[0]))
        mapped = trees[0].feature_map
        merges = self.merge and self.n_clusters is None and (mapped is None or mapped.points is not None)
        counting = self._counted(labelling, seed, shape[0], drawing)
        (counted, drawn), *merging = yield from together([counting, *[merging_sample(shape, seed, parts_at)] * merges])
        combined: LabelLinkage | Found
        if self.combine == "linkage":
            combined = linkage_of(counted, self.n_clusters)
        else:
            combined = find_consensus(counted, n_clusters=self.n_clusters, n_init=self.n_init, seed=seed)
        state = ConsensusState.of(trees, combined, counted)
        if merging and state.n_clusters > 1:
            sample = rows_for_cells(merging[0], state.n_clusters)
            label, points = state.labels(sample.rows), self._points(trees[0], sample)
            cells = merged_cells(label, state.n_clusters, points, sample, in_groups=parts_at is not None)
            sizes = np.bincount(label, minlength=state.n_clusters) if state.sizes is None else state.sizes
            self.merges_ = table_of_cells(Merges(cells, sizes))
            merged = combined.merged(cells.group, counted)
            state = ConsensusState.of(trees, merged, counted, n_pieces=state.n_clusters)
        if self._sample is not None:
            drawn = drawn._replace(numbers=self._sample.numbers[drawn.numbers])
            state = state if len(self._sample.rows) == self._n_rows else replace(state, counts=None)
        self._drawn = state.exemplars_among(drawn.first(wanted))
        return state

    def _counted(self, trees: tuple[Any, ...], seed: int, n_rows: int, drawing: SamplePass) -> Plan[Any]:
        """Plan the pass that counts tuples or votes of the leaves of trees, and draws rows."""
        if self.combine == "linkage":
            most = most_tuples(sum(tree.n_clusters for tree in trees))
            return (yield Pass("counting tuples", Together((LabelTuples(most, trees), drawing))))
        statistic = LabelVotes(seed, sample_limit(SAMPLED_ROWS, n_rows), trees)
        return (yield Pass("counting votes", Together((statistic, drawing))))

    def _points(self, tree: MemberState, sample: Sample) -> Callable[[AnyArray], Floats]:
        """Return the function from rows to points whose distances count, as where leaves of the tree are merged."""
        if tree.feature_map is not None and tree.feature_map.points is not None:
            return tree.feature_map.points
        scale = turns_of(self.estimator)[0].scale
        return standardiser(columns_of(sample.rows), sample, scale, discrete=True)

    def _name_columns(self, names: Sequence[str] | None) -> None:
        """Set the names of the columns, also in the trees without a feature map."""
        super()._name_columns(names)
        if names is not None:
            self._adopt(self.state_.named(tuple(map(str, names))))

    @property
    def trees_(self) -> list[Tree]:
        """The trees, of the rows or of the features of their maps."""
        return [own.compared for own in self.state_.trees]

    @property
    def agreement_(self) -> Floats:
        """Mean share of the rows to which a tree gives the cluster of another."""
        return np.asarray(self.state_.agreement)

    @property
    def representative_(self) -> int:
        """Index of the tree that agrees most with the others."""
        return int(self.state_.representative)

    def _reason(self) -> str:
        states = self.state_.trees
        found = np.bincount([own.n_clusters for own in states])
        told = listed([f"{found[k]} found {full_count(k, 'cluster')}" for k in np.flatnonzero(found).tolist()])
        if (n := self.state_.n_pieces) > self.n_clusters_:
            told += f"; {n} pieces were merged where no valley between them is certain"
        grown = [(j, own) for j, own in enumerate(states) if isinstance(own, TreeState)]
        if not grown:
            return f"of {self.n_trees} trees, {told}"
        j, state = max(grown, key=lambda each: strongest(each[1].tree)[1])
        own = self._member(j, state)
        own.tree_, own.n_groups_ = state.tree, self.n_groups_
        return (
            f"of {self.n_trees} trees, {told}; nearest to one more split is a branch of tree {j}, "
            f"{why_not(own, strongest(own.tree_)[0])}"
        )

    def report_pictures(self) -> dict[str, bytes]:
        """Return pictures of the agreement and of the representative tree."""
        best = self.representative_
        drawn = {
            f"Agreement of {self.n_trees} trees on the label of a row, in a sample.": plot_agreement(
                self.state_.confidence
            ),
            f"Tree {best}, which agrees most with the others ({self.agreement_[best]:.0%} of the rows on average). "
            "Its labels are its own.": plot_tree(self.trees_[best]),
        }
        return {caption: png_of(ax) for caption, ax in drawn.items()}

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        return passes_of(self._members(0), n_rows, n_columns)

    def _task_bytes(self, rows: RowArray) -> int:
        # Most of the memory is for the fresh samples and the counts of each tree.
        return sum(own._task_bytes(rows) for own, _ in self._members(0))

    def _restore(self, saved: Mapping[str, Any]) -> None:
        for j, state in enumerate(saved["state"].trees):
            self._member(j, state)  # only the estimator of a tree knows the class of its feature map
        super()._restore(saved)

    def _member(self, j: int, state: MemberState) -> Any:
        """Return the estimator of a tree with the feature map of its state."""
        turns = turns_of(self.estimator)
        own: Any = clone(turns[j % len(turns)])
        own.n_features_in_, own.columns = self.n_features_in_, self.columns
        own._restore_feature_map(state)
        return own
