"""Estimators of one tree: how they learn, and how they are saved."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, ClassVar, Literal, Self

from sklearn.utils import get_tags

from .._sparse import SparseRows
from .._typing import AnyArray, Integers, RowArray
from ..chunks import Announce, Plan, is_dask, merge_chunks, run_together, together
from ..growth.branches import GrowthSettings
from ..growth.exemplars import medoids
from ..growth.growth import Grown, grow, grow_by_labels
from ..growth.labelled import Groups
from ..growth.merging import Merges, merged, merging_sample, rows_drawn
from ..growth.passes import FirstLook, Sample, rows_held
from ..growth.refine import ROUNDS, refine
from ..kernels.landmarks import SAMPLE
from ..kernels.nystrom import NystromMap
from ..projections import Propose
from ..summaries.evidence import table_of_cells
from ..summaries.words import MOST_COLUMNS, clusters_in_words, notes_on
from ..tree.clusters import siblings_of
from ..tree.structure import Tree
from ..valleys.merging import FEWEST
from .base import ClusterEstimator
from .drift import LevelCounts, counts_as_given, level_plans, restored_level_counts
from .models import count, optional
from .parameters import rows_of_share
from .states import ROWS_AT_ONCE, TreeState
from .targets import Target, partial_target, restored_counts

BINS, BRANCHES = 1024, 16
"""Bytes of the histograms of one pass for a large tree."""


class GrownTree(ClusterEstimator):
    """Base of the estimators that grow one tree of separators: its growth, refinement, merging and saving."""

    state_type = TreeState
    map_settings: ClassVar[dict[str, Any]] = {"numbers": True}
    uses_labels: ClassVar[Literal["never", "given", "always"]] = "given"
    # What methods fix; `DivisiveClustering` describes it, and has it as parameters.
    projection: str | Propose = "row_combinations"
    n_projections: int = 1000
    criterion: str | Sequence[str] = "relative_depth"
    threshold_rule: str = "relative_depth"
    bandwidth: str | float = "normal"
    stop_rule: str = "hold-out"
    n_candidates: int = 8
    order: str | None = None
    max_levels: int | None = None
    alpha: float | None = None
    refine: bool = False
    criterion_first: bool = False
    fixed_directions: bool = False
    sample_size: int | None
    min_cluster_size: float | None
    max_clusters: int | None
    merge: bool
    tree_: Tree
    n_batches_: int
    level_counts_: LevelCounts | None = None
    known_labels_: AnyArray | None = None
    label_counts_: Integers | None = None
    _target: Target | None = None
    _guides: Groups | None = None
    _grown_from: Grown | None = None
    _crowded: bool = False
    """Whether neighbourhoods show several clusters in the largest."""

    @abstractmethod
    def _settings(self, n_rows: int, seed: int) -> GrowthSettings:
        """Return how the tree is grown, from the estimator's parameters."""

    @property
    def state_(self) -> TreeState:
        """The tree and the map of the rows, which together label rows."""
        return TreeState(self.tree_, self._map)

    def _adopt(self, state: TreeState) -> None:
        self.tree_ = state.tree

    def _learn(self, rows: RowArray, seed: int) -> int:
        wanted = self._wanted_clusters()
        if wanted is not None and self.max_clusters is not None:
            raise ValueError(f"expected n_clusters or max_clusters, got {wanted} and {self.max_clusters}: give one")
        try:
            n_passes = self._learn_tree(rows, seed)
            self.tree_ = self._numbered(self.tree_)
            self.known_labels_ = self.label_counts_ = None
            if self._guides is not None and self._target is not None:
                self.known_labels_ = self._target.named(self._guides.labels)
                self.label_counts_ = self._guides.counts(self.tree_)
        finally:
            self._target = self._guides = None
        self.n_batches_ = 1
        return n_passes

    def _take_target(self, y: Any, n_rows: int) -> None:
        self._target = partial_target(y, n_rows)
        if self._target is not None and self.missing == "drop":
            raise ValueError("expected missing='error' or 'mean' with labels of some rows; got 'drop'")

    def _numbered(self, tree: Tree) -> Tree:
        """Return a tree with the numbers of clusters of this model."""
        return tree.numbered()

    def _wanted_clusters(self) -> int | None:
        """Return `n_clusters`, which a single hyperplane does not have."""
        return getattr(self, "n_clusters", None)

    def _most_clusters(self) -> int | None:
        wanted = self._wanted_clusters()
        return self.max_clusters if wanted is None else wanted

    def _learn_tree(self, rows: RowArray, seed: int) -> int:
        self.feature_map_ = self._new_feature_map(seed)
        if self.feature_map_ is None:
            return self._settle(seed, merge_chunks(rows), self._bar)
        plans: list[Plan[Any]] = []
        if self.merge and not get_tags(self).input_tags.pairwise:  # without points, which only a fitted map knows
            plans.append(merging_sample((rows.shape[0], rows.shape[1]), seed, self._parts_at))
        counting = level_plans(self.columns, array=0)
        drawn = self._fit_map(self.feature_map_, rows, seed, *plans, *counting)
        self.level_counts_ = counts_as_given(self, drawn[-1], rows.dtype) if counting else None
        n_passes = self._on_features(self.feature_map_, rows, partial(self._settle, seed))
        if self._merges():
            points = self.feature_map_.map_.points
            self.tree_, merges = self._merged(self.tree_, self.state_.labels, points, drawn[0])
            self.merges_ = table_of_cells(merges)
        return n_passes

    def _merged(self, tree: Tree, leaf_of: Any, points: Any, sample: Sample) -> tuple[Tree, Merges | None]:
        """Return a tree whose leaves are merged by a sample of rows, and the merges; see `growth.merging.merged`."""
        apart = set() if self._guides is None else self._guides.clusters_apart(tree)
        most, fewest = self._most_clusters(), self._wanted_clusters() or 1
        return merged(tree, leaf_of, points, sample, most, fewest, apart, bool(self._beside))

    def _merges(self) -> bool:
        return self.merge and (self.feature_map_ is None or self.feature_map_.map_.points is not None)

    def _least_rows(self, n_rows: int) -> int:
        """Return the least number of rows of a leaf, of so many in all."""
        least, merges = rows_of_share(self.min_cluster_size, n_rows), n_rows >= FEWEST and self._merges()
        # Where a leaf cuts off less than this of another cluster, both may be merged through it.
        return ceil(least / 2) if self.min_cluster_size is None and merges else least

    def _settle(self, seed: int, rows: RowArray, announce: Announce, n_passes: int = 0) -> int:
        """Grow the tree and return the number of passes, including the earlier ones."""
        plan = self._plan(seed, (rows.shape[0], rows.shape[1]))
        labels = [] if self._target is None else [self._target.labels]
        # With a feature map, the levels are counted while it is fitted.
        counting = level_plans(self.columns, array=0) if self.feature_map_ is None else []
        (grown, *levels), n_passes = run_together(
            [plan, *counting], rows, *labels, *self._beside, announce=announce, n_passes=n_passes
        )
        if self.feature_map_ is None:
            self.level_counts_ = counts_as_given(self, levels[0], rows.dtype) if levels else None
        self.tree_, self._grown_from = grown.tree, grown
        self.merges_ = table_of_cells(grown.merges)
        self._crowded = grown.crowded
        return n_passes

    def _plan(
        self,
        seed: int,
        shape: tuple[int, int],
        sample_seed: int | None = None,
        check: Callable[[FirstLook], None] | None = None,
    ) -> Plan[Grown]:
        """Return the plan of the tree for rows or features of a shape; see `GrowthSettings` for `sample_seed`.

        check: raises the errors of the first look, in place of `_check_look`.
        """
        parts_at = 1 + (self._target is not None) if self._beside else None
        settings = replace(self._settings(shape[0], seed), sample_seed=sample_seed, parts_at=parts_at)
        plans: list[Plan[Any]] = [self._grown(settings, shape, check or self._check_look)]
        if merges := self._merges() and self.feature_map_ is None:
            plans.append(merging_sample(shape, seed, parts_at))
        grown, *drawn = yield from together(plans)
        tree, standardise = grown.tree, grown.standardise
        # Merging limits their number instead, as the deepest splits need not be those that separate clusters.
        tree = tree if (most := self._most_clusters()) is None or self._merges() else tree.cut(most)
        if self.refine:
            refined = yield from refine(tree, standardise)
            # The densest rows may turn a hyperplane into a group of labelled ones.
            tree = refined if self._guides is None or self._guides.agree(refined, tree) else tree
        if merges:
            tree, united = self._merged(tree, tree.labels, standardise, drawn[0])
            grown = grown._replace(merges=united)
        return grown._replace(tree=tree)

    def _grown(
        self, settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
    ) -> Plan[Grown]:
        if self._target is None:
            return (yield from grow(settings, shape, check))
        grown, self._guides = yield from grow_by_labels(settings, shape, check, self._target.apart)
        return grown

    def _keep_exemplars(self, rows: RowArray) -> None:
        """Set the medoids of the sample on which the tree was grown."""
        grown, self._grown_from = self._grown_from, None
        if grown is None or grown.sample is None:
            return
        sample, mapped = grown.sample, self.feature_map_ is not None
        self._seen = self._seen if mapped else sample
        points = sample.rows if mapped else grown.standardise(sample.rows)
        self._drawn = medoids(sample, points, self.tree_.labels(sample.rows), self.tree_.n_clusters)
        super()._keep_exemplars(rows)
        self._words = self._in_words(rows, sample)

    def _in_words(self, rows: RowArray, sample: Sample) -> tuple[str, ...]:
        """Return each cluster in words, by the rows from which the tree was grown, or by landmarks of lazy ones."""
        raw: Any = sample.rows
        labels = self.tree_.labels(raw)
        if self.n_features_in_ > MOST_COLUMNS or get_tags(self).input_tags.pairwise:
            return ()
        if self.feature_map_ is not None and not is_dask(rows):
            raw = rows[sample.numbers]
            raw = raw.dense() if isinstance(raw, SparseRows) else raw
        elif self.feature_map_ is not None:
            fitted = getattr(self.feature_map_.map_, "base", self.feature_map_.map_)
            if not isinstance(fitted, NystromMap):
                return ()
            raw = fitted.raw_landmarks
            labels = self._block_labels()(raw)
        self._notes = self._notes or notes_on(raw, self.columns)
        return clusters_in_words(raw, labels, siblings_of(self.tree_), self.columns)

    def _name_columns(self, names: Sequence[str] | None) -> None:
        """Set the names of the columns of the fitted rows; features have no names."""
        super()._name_columns(names)
        if names is not None and self.feature_map_ is None:
            self.tree_ = replace(self.tree_, feature_names=tuple(map(str, names)))

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        most: int | None
        if self.sample_size is None:
            fewest, most = 2, None if self.max_levels is None else self.max_levels + 2
        elif n_rows <= rows_held(self.sample_size, n_columns):
            fewest = most = 1
        else:
            fewest, most = 2, 4
        if self.refine:
            most = None if most is None else most + ROUNDS + 2
        return self._passes_on_features(fewest, most)

    def _task_bytes(self, rows: RowArray) -> int:
        row_bytes = rows.dtype.itemsize * rows.shape[1]
        sample = rows_held(self.sample_size or 0, rows.shape[1]) * row_bytes
        directions = self.n_projections if self.sample_size is None else self.n_candidates
        counts = directions * BRANCHES * 2 * BINS * 8
        if (feature_map := self._new_feature_map(seed=0)) is not None:
            landmarks = getattr(feature_map, "n_landmarks", 0)
            counts += 2 * 8 * ROWS_AT_ONCE * landmarks
            sample = max(sample, SAMPLE * landmarks * row_bytes)
        if self.merge:
            sample += rows_drawn(rows.shape[1]) * row_bytes
        return max(min(sample, rows.nbytes), counts)

    def _saved_state(self) -> dict[str, Any]:
        labels = None
        if self.label_counts_ is not None and self.known_labels_ is not None:
            labels = {"known": self.known_labels_.tolist(), "counts": self.label_counts_.tolist()}
        own = {"n_batches": self.n_batches_, "level_counts": self.level_counts_, "labels": labels}
        return super()._saved_state() | own | {"crowded": self._crowded}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        super()._restore(saved)
        self.n_batches_ = count(saved, "n_batches", 1)
        self.level_counts_ = restored_level_counts(saved, self.columns)
        self._crowded = optional(saved, "crowded", bool) or False
        if (labels := optional(saved, "labels", dict)) is not None:
            self.known_labels_, self.label_counts_ = restored_counts(labels, self.tree_.n_clusters)

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        # A projection registered where the model was fitted may be unknown here; labels do not need it.
        named = {"projection", "projection_params"} if isinstance(parameters.get("projection"), str) else set()
        unchecked = named & parameters.keys() & {*cls._get_param_names()}
        model = super()._from_saved({name: value for name, value in parameters.items() if name not in unchecked})
        return model.set_params(**{name: parameters[name] for name in unchecked})
