"""Reading saved models."""

from pathlib import Path
from typing import Any

import numpy as np

from ..io.models import load_tree
from .components import ICATree, PCATree
from .divisive import DivisiveClustering
from .hyperplane import MinimumDensityHyperplane
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
        MinimumDensityHyperplane,
    )
}
"""The classes of which models are saved, by their names."""


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
    tree, saved = load_tree(path)
    if saved.get("estimator") not in ESTIMATORS:
        raise ValueError(f"expected a model of {sorted(ESTIMATORS)}; got {saved.get('estimator')!r} in {path}")
    model = ESTIMATORS[saved["estimator"]](**saved["parameters"])
    model.tree_ = tree
    model.n_clusters_ = tree.n_leaves
    model.n_features_in_ = saved["n_features"]
    model.n_passes_ = saved["n_passes"]
    if saved["feature_names"]:
        model.feature_names_in_ = np.array(saved["feature_names"], dtype=object)
    return model
