"""Clustering by low-density separators for data that do not fit on one machine."""

from ._config import load_defaults
from .estimators import RandomProjectionTree, load_model
from .tree.structure import Tree

__all__ = ["RandomProjectionTree", "Tree", "load_model"]
__version__ = "0.1.0"

load_defaults()
