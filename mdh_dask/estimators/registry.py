"""The list of estimators that are public, can be loaded, and are known to ``--method`` and job files.

To add an estimator, import it here by name, and add a line to `PLACES`. Other packages add theirs to the
collections here.
"""

import inspect
from collections.abc import Mapping
from typing import Any

from . import PLACES
from .base import ClusterEstimator
from .consensus_clustering import ConsensusClustering as ConsensusClustering
from .density_tree import DensityTree as DensityTree
from .divisive import DivisiveClustering as DivisiveClustering
from .hyperplane import MinimumDensityHyperplane as MinimumDensityHyperplane
from .hyperplane_ensemble import HyperplaneEnsemble as HyperplaneEnsemble
from .kernel_k_means import KernelKMeans as KernelKMeans
from .kernel_k_means import SpectralClustering as SpectralClustering
from .mapped import *
from .mapped import transformers
from .parameters import Interval, StrOptions
from .partition_trees import BisectingKernelKMeans as BisectingKernelKMeans
from .partition_trees import ClusterabilityTree as ClusterabilityTree
from .partition_trees import HierarchicalSpectral as HierarchicalSpectral
from .partition_trees import NormalisedCutTree as NormalisedCutTree
from .pursuit_trees import IPDDP as IPDDP
from .pursuit_trees import PDDP as PDDP
from .pursuit_trees import DePDDP as DePDDP
from .pursuit_trees import ProjectionPursuitTree as ProjectionPursuitTree
from .semi_supervised import SemiSupervisedMDH as SemiSupervisedMDH
from .support_vector import SupportVectorClustering as SupportVectorClustering
from .trees import HierarchicalKernelMDH as HierarchicalKernelMDH
from .trees import HierarchicalMDH as HierarchicalMDH
from .trees import ICATree as ICATree
from .trees import PCATree as PCATree
from .trees import RandomProjectionTree as RandomProjectionTree

METHODS: dict[str, type[ClusterEstimator]] = {
    name: globals()[place.rpartition(".")[2]] for name, place in PLACES.items()
}
"""Estimators by the names of their methods, the default first."""

CLASSIFIERS = {name: METHODS.pop(name) for name, cls in [*METHODS.items()] if cls.uses_labels == "always"}
"""Estimators that need the labels of some rows, by the names of their methods."""


def estimators() -> dict[str, type[ClusterEstimator]]:
    """Return the classes that find clusters without labels, by name."""
    return {cls.__name__: cls for cls in METHODS.values()}


def all_estimators() -> dict[str, type[ClusterEstimator]]:
    """Return the classes of saved models by name."""
    return estimators() | {cls.__name__: cls for cls in CLASSIFIERS.values()}


def all_methods() -> dict[str, type[ClusterEstimator]]:
    """Return the classes that commands and job files know, by the names of their methods."""
    return METHODS | CLASSIFIERS


def public_names() -> list[str]:
    """Return the names of the public estimators of this package."""
    known: dict[str, type] = {**transformers(), **all_estimators()}
    return [name for name, cls in known.items() if cls.__module__.startswith(__package__ or "")]


def options_of(cls: Any) -> dict[str, Any]:
    """Return the parameters of a class that commands and job files may set, with their defaults."""
    constraints = cls._parameter_constraints
    return {
        name: parameter.default
        for name, parameter in inspect.signature(cls).parameters.items()
        if name != "progress" and any(is_typed(constraint) for constraint in constraints[name])
    }


def is_typed(constraint: Any) -> bool:
    """Return whether the values of a scikit-learn constraint can be typed: words, numbers, flags or tables of these."""
    return isinstance(constraint, StrOptions | Interval) or constraint in ("boolean", "random_state", Mapping)
