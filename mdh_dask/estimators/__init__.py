"""The scikit-learn face of the package."""

from .components import ICATree, PCATree
from .divisive import DivisiveClustering
from .drift import drift
from .hyperplane import MinimumDensityHyperplane
from .kernel_pca_features import KernelPCAFeatures
from .kernel_variants import HierarchicalKernelMDH, KernelDePDDP
from .minimum_density import HierarchicalMDH
from .models import load_model
from .principal_directions import IPDDP, PDDP, DePDDP
from .profiles import cluster_profiles
from .random_projection_tree import RandomProjectionTree

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
    "cluster_profiles",
    "drift",
    "load_model",
]
