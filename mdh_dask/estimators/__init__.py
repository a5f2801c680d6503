"""The estimators, with the interface of scikit-learn; `registry` lists them."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._fields import nearest

if TYPE_CHECKING:
    from .registry import *

MODULES = {
    "DivisiveClustering": "divisive",
    "RandomProjectionTree": "trees",
    "PCATree": "trees",
    "ICATree": "trees",
    "PDDP": "pursuit_trees",
    "IPDDP": "pursuit_trees",
    "DePDDP": "pursuit_trees",
    "HierarchicalMDH": "trees",
    "ProjectionPursuitTree": "pursuit_trees",
    "MinimumDensityHyperplane": "hyperplane",
    "HierarchicalKernelMDH": "trees",
    "ConsensusClustering": "consensus_clustering",
    "HyperplaneEnsemble": "hyperplane_ensemble",
    "SupportVectorClustering": "support_vector",
    "DensityTree": "density_tree",
    "KernelKMeans": "kernel_k_means",
    "SpectralClustering": "kernel_k_means",
    "BisectingKernelKMeans": "partition_trees",
    "ClusterabilityTree": "partition_trees",
    "NormalisedCutTree": "partition_trees",
    "HierarchicalSpectral": "partition_trees",
    "SemiSupervisedMDH": "semi_supervised",
}
"""Modules of the estimators of this package, for those who need one of them: the registry imports all."""


def __getattr__(name: str) -> Any:
    """Import the estimators on first use: workers that label rows need only the fitted states."""
    return estimator_named(name, __name__)


def estimator_named(name: str, module: str, others: Iterable[str] = ()) -> Any:
    """Return an estimator as an attribute of a module, whose other names errors suggest, too."""
    meant = ""
    if name in MODULES:
        return getattr(import_module(f".{MODULES[name]}", __name__), name)
    if not name.startswith("_"):
        registry = import_module(".registry", __name__)
        if name in (names := registry.public_names()):
            return getattr(registry, name)
        meant = nearest(name, [*names, *others])
    raise AttributeError(f"module {module!r} has no attribute {name!r}{meant}")
