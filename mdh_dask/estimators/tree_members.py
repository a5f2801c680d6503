"""A mixin for ensembles of trees: the estimators of the trees, which take turns, and saving them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from sklearn.base import clone

from .._random import generator
from .base import ClusterEstimator
from .random_projection_tree import RandomProjectionTree
from .saved import part
from .tree_estimator import TreeEstimator


class TreeMembers(ClusterEstimator):
    """A mixin for estimators with the parameters `estimator`, of one or several trees, and `n_trees`."""

    estimator: TreeEstimator | Sequence[TreeEstimator] | None
    n_trees: int

    def _turns(self) -> list[TreeEstimator]:
        given = RandomProjectionTree(n_projections=100) if self.estimator is None else self.estimator
        return given if isinstance(given, list) else [given]  # type: ignore[list-item]

    def _members(self, seed: int) -> list[tuple[TreeEstimator, int]]:
        """Return the estimators of the trees, with their seeds."""
        turns = self._turns()
        if not turns or not all(isinstance(own, TreeEstimator) for own in turns):
            names = [type(own).__name__ for own in turns]
            raise TypeError(f"expected estimators of trees for estimator, at least one; got {names}")
        members = [clone(turns[j % len(turns)]) for j in range(self.n_trees)]
        return [(own, int(generator(seed, j).integers(2**31))) for j, own in enumerate(members)]

    @property
    def uses_types(self) -> bool:
        """Return whether all trees use categorical columns and missing values as they are."""
        return all(own.uses_types for own, _ in self._members(0)[: len(self._turns())])

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        return parameters | {"estimator": _each(_taken_apart, parameters["estimator"])}

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        return super()._from_saved({**parameters, "estimator": _each(_put_together, parameters.get("estimator"))})


def _each(function: Callable[[Any], Any], given: Any) -> Any:
    """Return what a function returns for an estimator or each of several; None for none."""
    if isinstance(given, list):
        return [function(own) for own in given]
    return None if given is None else function(given)


def _taken_apart(estimator: TreeEstimator) -> dict[str, Any]:
    return {"estimator": type(estimator).__name__, "parameters": estimator._saved_parameters()}


def _put_together(saved: Any) -> TreeEstimator:
    from .registry import estimators  # imported late, as the registry imports this module

    if not isinstance(saved, dict):
        raise ValueError(f"expected a dict for an estimator of trees, got a {type(saved).__name__}")
    known = {name: own for name, own in estimators().items() if issubclass(own, TreeEstimator)}
    if (name := part(saved, "estimator", str)) not in known:
        raise ValueError(f"expected an estimator of trees among {', '.join(sorted(known))}; got {name}")
    return known[name]._from_saved(part(saved, "parameters", dict))
