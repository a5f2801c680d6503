"""The estimators, with the interface of scikit-learn; `registry` lists them."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._fields import nearest

if TYPE_CHECKING:
    from .registry import *

PLACES = {
    "mdh": "trees.HierarchicalMDH",
    "rp": "trees.RandomProjectionTree",
    "pca": "trees.PCATree",
    "ica": "trees.ICATree",
    "pddp": "pursuit_trees.PDDP",
    "ipddp": "pursuit_trees.IPDDP",
    "depddp": "pursuit_trees.DePDDP",
    "hppc": "pursuit_trees.ProjectionPursuitTree",
    "hyperplane": "hyperplane.MinimumDensityHyperplane",
    "kernel-mdh": "trees.HierarchicalKernelMDH",
    "consensus": "consensus_clustering.ConsensusClustering",
    "ensemble": "hyperplane_ensemble.HyperplaneEnsemble",
    "svc": "support_vector.SupportVectorClustering",
    "density": "density_tree.DensityTree",
    "kernel-kmeans": "kernel_k_means.KernelKMeans",
    "spectral": "kernel_k_means.SpectralClustering",
    "bisecting-kmeans": "partition_trees.BisectingKernelKMeans",
    "clusterability": "partition_trees.ClusterabilityTree",
    "normalised-cut": "partition_trees.NormalisedCutTree",
    "hierarchical-spectral": "partition_trees.HierarchicalSpectral",
    "divisive": "divisive.DivisiveClustering",
    "semi-supervised": "semi_supervised.SemiSupervisedMDH",
}
"""Modules and names of the estimators of this package, by the names of their methods, the default first."""

MODULES = dict(place.split(".")[::-1] for place in PLACES.values())
"""Modules of the estimators, for those who need one of them: the registry imports all."""


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
