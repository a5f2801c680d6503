"""The one list of methods: what ``--method`` and job files call them, and the estimators that they are."""

import inspect
from typing import Any

from .components import ICATree, PCATree
from .divisive import DivisiveClustering
from .hyperplane import MinimumDensityHyperplane
from .kernel_variants import HierarchicalKernelMDH, KernelDePDDP
from .minimum_density import HierarchicalMDH
from .principal_directions import IPDDP, PDDP, DePDDP
from .random_projection_tree import RandomProjectionTree

METHODS: dict[str, type[DivisiveClustering]] = {
    "rp": RandomProjectionTree,
    "pca": PCATree,
    "ica": ICATree,
    "pddp": PDDP,
    "ipddp": IPDDP,
    "depddp": DePDDP,
    "mdh": HierarchicalMDH,
    "hyperplane": MinimumDensityHyperplane,
    "kernel-mdh": HierarchicalKernelMDH,
    "kernel-depddp": KernelDePDDP,
}
"""Estimators by the names of their methods, the default first."""


def parameters_of(method: str) -> dict[str, Any]:
    """Return the parameters of a method that are options, with their defaults."""
    signature = inspect.signature(METHODS[method])
    return {name: parameter.default for name, parameter in signature.parameters.items() if name != "progress"}
