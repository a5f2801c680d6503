"""Reading saved models."""

from pathlib import Path
from typing import Any

from ..io.models import load_tree
from ..kernels import kernel_from_settings, map_from_arrays
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
        If it is not a model, is damaged, or was written by a newer version.
    """
    tree, saved, arrays = load_tree(path)
    if saved.get("estimator") not in ESTIMATORS:
        raise ValueError(f"expected a model of {sorted(ESTIMATORS)}; got {saved.get('estimator')!r} in {path}")
    parameters = {NAMES_OF_0_1_0.get(name, name): value for name, value in saved["parameters"].items()}
    if isinstance(own := parameters["feature_map"], dict):
        parameters["feature_map"] = KernelPCAFeatures(**own | {"kernel": kernel_from_settings(own["kernel"])})
    model = ESTIMATORS[saved["estimator"]](**parameters)
    model.tree_ = tree
    model.n_clusters_ = tree.n_leaves
    model.n_features_in_ = saved["n_features"]
    model.n_passes_ = saved["n_passes"]
    model.pixel_columns_ = saved.get("pixel_columns")
    model.feature_map_ = model._new_feature_map(seed=0)
    model.name_columns(saved["feature_names"])
    if model.feature_map_ is not None:
        model.feature_map_.n_features_in_ = model.n_features_in_
        model.feature_map_._keep(map_from_arrays(saved["feature_map"], arrays))
    return model
