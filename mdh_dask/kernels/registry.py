"""Kernels by name."""

from collections.abc import Callable

from .base import Kernel
from .distances import RBF, LocalScaling
from .given import FromFunction, Precomputed
from .gower import Gower
from .neighbours import Heat, NearestNeighbors
from .paths import Connectivity, Isomap
from .products import Cosine, Polynomial, Quadratic

KERNELS: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "local_scaling": LocalScaling,
    "polynomial": Polynomial,
    "quadratic": Quadratic,
    "cosine": Cosine,
    "nearest_neighbors": NearestNeighbors,
    "heat": Heat,
    "isomap": Isomap,
    "connectivity": Connectivity,
    "gower": Gower,
    "precomputed": Precomputed,
}

AFFINITIES = {"local_scaling", "rbf", "nearest_neighbors", "gower", "precomputed"}
"""Kernels without negative values."""


def resolve_kernel(kernel: str | Kernel | Callable) -> Kernel:
    """Return the kernel for a name, a kernel or a function ``(rows, landmarks) -> matrix``.

    Examples
    --------
    >>> resolve_kernel("rbf")
    RBF(width='robust')
    """
    if isinstance(kernel, Kernel):
        return kernel
    return KERNELS[kernel]() if isinstance(kernel, str) else FromFunction(kernel)
