"""The scikit-learn face of the package."""

from .models import load_model
from .random_projection_tree import RandomProjectionTree

__all__ = ["RandomProjectionTree", "load_model"]
