"""Saving and loading estimators of one tree, with their feature maps."""

from collections.abc import Mapping
from typing import Any, Self

from .._typing import AnyArray
from .level_counts import restored_level_counts, saved_counts
from .mapped import Mapped, divided, with_feature_map
from .saved import count, part, refuse_others
from .targets import restored_counts
from .tree_state import OF_MAP, OWN, TreeState
from .updating import Updating

NAMES_OF_0_1_0 = {
    "split_rule": "threshold_rule",
    "min_depth": "min_relative_depth",
    "max_depth": "max_levels",
    "polish": "refine",
}
"""Current names of parameters that have other names in models of 0.1.0."""


class TreeSaving(Mapped, Updating):
    """A mixin for estimators of one tree that saves and loads them."""

    def _saved_state(self, settings: dict[str, Any]) -> dict[str, Any]:
        own = {**settings, "n_batches": self.n_batches_, **saved_counts(self.level_counts_)}
        if self.label_counts_ is not None and self.known_labels_ is not None:
            own["labels"] = {"known": self.known_labels_.tolist(), "counts": self.label_counts_.tolist()}
        return own

    def _restore(self, saved: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
        own, others = divided(arrays, OWN.__contains__)
        names = {OF_MAP + name: name for name in OWN}
        state = TreeState.from_arrays({}, own)
        self.tree_ = state.tree
        of_map = {names.get(name, name): array for name, array in others.items()}
        self._restore_feature_map(saved, of_map, planes=state.n_columns)
        # Models of 0.1.0 were fitted once.
        self.n_batches_ = count(saved, "n_batches", 1) if "n_batches" in saved else 1
        self.level_counts_ = restored_level_counts(saved, self.columns)
        if "labels" in saved:
            labels = part(saved, "labels", dict)
            self.known_labels_, self.label_counts_ = restored_counts(labels, self.tree_.n_clusters)

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        given = {NAMES_OF_0_1_0.get(name, name): value for name, value in parameters.items()}
        given = with_feature_map(given)
        refuse_others(cls, given, "parameters")
        # A projection registered where the model was fitted may be unknown here; labels do not need it.
        unknown = {"projection"} if isinstance(given.get("projection"), str) else set()
        model = super()._from_saved({name: value for name, value in given.items() if name not in unknown})
        return cls(**given) if unknown else model
