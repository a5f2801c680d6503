"""Mercer kernels, and the Nyström map to the feature space that landmarks span.

A kernel is a frozen dataclass, see `Kernel`. To add one, add its class to `KERNELS`.
"""

from .base import Kernel
from .distances import RBF, LocalScaling
from .given import FromFunction, Precomputed
from .gower import Gower
from .landmarks import LANDMARKS, choose_landmarks
from .neighbours import Heat, NearestNeighbors
from .nystrom import NystromMap, nystrom_map
from .paths import Connectivity, Isomap
from .products import Cosine, Polynomial, Quadratic
from .registry import KERNELS, resolve_kernel
from .saving import kernel_from_settings, kernel_settings

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
    "kernel_from_settings",
    "kernel_settings",
    "nystrom_map",
    "resolve_kernel",
]
