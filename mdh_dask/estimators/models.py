"""Reading saved models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._typing import AnyArray
from ..images import PixelColumns
from ..io.models import damaged, load_tree
from ..kernels import kernel_from_settings, map_from_arrays
from ..tree.structure import Tree
from .components import ICATree, PCATree
from .divisive import DivisiveClustering
from .hyperplane import MinimumDensityHyperplane
from .kernel_pca_features import KernelPCAFeatures
from .kernel_variants import HierarchicalKernelMDH, KernelDePDDP
from .minimum_density import HierarchicalMDH
from .principal_directions import IPDDP, PDDP, DePDDP
from .random_projection_tree import RandomProjectionTree

ESTIMATORS = {
    cls.__name__: cls
    for cls in (
        DivisiveClustering,
        RandomProjectionTree,
        PCATree,
        ICATree,
        PDDP,
        IPDDP,
        DePDDP,
        HierarchicalMDH,
        HierarchicalKernelMDH,
        KernelDePDDP,
        MinimumDensityHyperplane,
    )
}
"""The classes of which models are saved, by their names."""

NAMES_OF_0_1_0 = {
    "split_rule": "threshold_rule",
    "min_depth": "min_relative_depth",
    "max_depth": "max_levels",
    "polish": "refine",
}
"""What parameters are called that had other names in models of 0.1.0."""


def load_model(path: str | Path) -> Any:
    """Read a model that an estimator's ``save`` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    estimator
        Ready to predict. It has no `labels_`: labels belong to the rows of `fit`, not to the model.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    ValueError
        If it is not a model, was written by a newer version, or is damaged: all of it is checked, and an array that
        could not have been saved is named.
    """
    tree, saved, arrays = load_tree(path)
    try:
        return _model_of(tree, saved, arrays)
    except (ValueError, TypeError) as error:  # what constructors raise, too
        raise damaged(path, error) from error


def _model_of(tree: Tree, saved: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the model that was saved, if what was saved is one."""
    name = _part(saved, "estimator", str)
    if name not in ESTIMATORS:
        raise ValueError(f"expected a model of {', '.join(sorted(ESTIMATORS))}; got {name}")
    parameters = _parameters(ESTIMATORS[name], _part(saved, "parameters", dict))
    # A projection that was registered where the model was fitted may be unknown here: labels do not need it.
    unknown = {"projection"} if isinstance(parameters.get("projection"), str) else set()
    ESTIMATORS[name](**{key: value for key, value in parameters.items() if key not in unknown})._validate_params()
    model = ESTIMATORS[name](**parameters)
    model.tree_ = tree
    model.n_clusters_ = tree.n_leaves
    model.n_features_in_ = n_columns = _count(saved, "n_features", 1)
    model.n_passes_ = _count(saved, "n_passes", 0)
    # Models of 0.1.0 were fitted once.
    model.n_batches_ = _count(saved, "n_batches", 1) if "n_batches" in saved else 1
    model.pixel_columns_ = _pixel_columns(saved, n_columns)
    model.feature_map_ = model._new_feature_map(seed=0)
    n_projected = n_columns
    if model.feature_map_ is not None:
        feature_map = map_from_arrays(_part(saved, "feature_map", dict), arrays)
        if len(feature_map.centre) != n_columns:
            raise ValueError(f"expected {n_columns} numbers in the array centre, got {len(feature_map.centre)}")
        n_projected = feature_map.n_components
        model.feature_map_.n_features_in_ = n_columns
        model.feature_map_._keep(feature_map)
    elif saved.get("feature_map") is not None or arrays:
        raise ValueError("expected no feature map, as its parameter is None; got one")
    if tree.n_features != n_projected:
        raise ValueError(f"expected {n_projected} columns in the array planes, got {tree.n_features}")
    model.name_columns(_names(saved, n_columns))
    return model


def _part(saved: Mapping[str, Any], key: str, kind: type) -> Any:
    """Return one of the things that were saved, if it is of its kind."""
    value = saved.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"expected a {kind.__name__} for {key}, got a {type(value).__name__}")
    return value


def _count(saved: Mapping[str, Any], key: str, least: int) -> int:
    value: int = _part(saved, key, int)
    if value < least:
        raise ValueError(f"expected {key} of at least {least}, got {value}")
    return value


def _parameters(estimator: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters for an estimator: a map that is one of them as what it was."""
    parameters = {NAMES_OF_0_1_0.get(name, name): value for name, value in given.items()}
    if isinstance(own := parameters.get("feature_map"), dict):
        _refuse_others(KernelPCAFeatures, own, "parameters of the feature map")
        parameters["feature_map"] = KernelPCAFeatures(**own | {"kernel": kernel_from_settings(own.get("kernel"))})
        parameters["feature_map"]._validate_params()
    _refuse_others(estimator, parameters, "parameters")
    return parameters


def _refuse_others(estimator: Any, given: Mapping[str, Any], what: str) -> None:
    known = estimator._get_param_names()
    if others := sorted(set(given) - set(known)):
        raise ValueError(f"expected {what} among {', '.join(known)}; got {', '.join(others)}")


def _names(saved: Mapping[str, Any], n_columns: int) -> list[str] | None:
    if saved.get("feature_names") is None:
        return None
    names: list[str] = _part(saved, "feature_names", list)
    if len(names) != n_columns or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected {n_columns} texts for feature_names, got {len(names)} values")
    return names


def _pixel_columns(saved: Mapping[str, Any], n_columns: int) -> dict[str, Any] | None:
    if saved.get("pixel_columns") is None:
        return None
    columns: dict[str, Any] = _part(saved, "pixel_columns", dict)
    PixelColumns.from_dict(columns).check_columns(n_columns)
    return columns
