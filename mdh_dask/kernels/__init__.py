"""Mercer kernels, and the Nyström map to the feature space that landmarks span.

A kernel is a frozen dataclass, see `Kernel`. To add one, add its class to `KERNELS`.
"""

from .base import FromFunction, Kernel, Precomputed
from .distances import RBF, Cosine, LocalScaling, Polynomial, Quadratic
from .gower import Gower
from .graphs import Connectivity, Heat, Isomap, NearestNeighbors
from .landmarks import LANDMARKS, choose_landmarks, nystrom_map
from .nystrom import NystromMap
from .registry import KERNELS, resolve_kernel

__all__ = [
    "KERNELS",
    "LANDMARKS",
    "RBF",
    "Connectivity",
    "Cosine",
    "FromFunction",
    "Gower",
    "Heat",
    "Isomap",
    "Kernel",
    "LocalScaling",
    "NearestNeighbors",
    "NystromMap",
    "Polynomial",
    "Precomputed",
    "Quadratic",
    "choose_landmarks",
    "nystrom_map",
    "resolve_kernel",
]
