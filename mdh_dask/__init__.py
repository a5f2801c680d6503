"""Clustering by low-density separators for data that do not fit on one machine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._config import load_defaults

if TYPE_CHECKING:
    from .clusters import start_cluster
    from .ensembles.labels import consensus
    from .estimators import (
        IPDDP,
        PDDP,
        DePDDP,
        DivisiveClustering,
        HierarchicalKernelMDH,
        HierarchicalMDH,
        ICATree,
        KernelDePDDP,
        KernelPCAFeatures,
        MinimumDensityHyperplane,
        PCATree,
        RandomProjectionTree,
        cluster_profiles,
        drift,
        load_model,
    )
    from .tree.structure import Tree

__all__ = [
    "IPDDP",
    "PDDP",
    "DePDDP",
    "DivisiveClustering",
    "HierarchicalKernelMDH",
    "HierarchicalMDH",
    "ICATree",
    "KernelDePDDP",
    "KernelPCAFeatures",
    "MinimumDensityHyperplane",
    "PCATree",
    "RandomProjectionTree",
    "Tree",
    "cluster_profiles",
    "consensus",
    "drift",
    "load_model",
    "start_cluster",
]
ELSEWHERE = {"Tree": ".tree.structure", "consensus": ".ensembles.labels", "start_cluster": ".clusters"}
"""Modules of the public names apart from the estimators."""

ROOMS = ("clusters", "jobs", "workflows")
"""Public subpackages."""

__version__ = "0.1.0"

load_defaults()


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line's help starts without these imports."""
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(ELSEWHERE.get(name, ".estimators"), __name__), name)
