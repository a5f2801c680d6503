"""Mercer kernels, and the Nyström map to the feature space that landmarks span.

A kernel is a frozen dataclass, see `Kernel`. To add one, add its class to `KERNELS`.
"""

from collections.abc import Callable, Iterator, KeysView

from .base import FromFunction, Kernel, Precomputed
from .distances import RBF, Cosine, LocalScaling, Polynomial, Quadratic
from .gower import Gower
from .graphs import Connectivity, Heat, Isomap, NearestNeighbors
from .landmarks import LANDMARKS, choose_landmarks, nystrom_map
from .nystrom import NystromMap

__all__ = [
    "AFFINITIES",
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


class _Affinities(KeysView[str]):
    """A view of the names of kernels, which has those that are registered later."""

    def __contains__(self, name: object) -> bool:
        return name in KERNELS and KERNELS[str(name)].affinity

    def __iter__(self) -> Iterator[str]:
        return (name for name in KERNELS if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


AFFINITIES = _Affinities(KERNELS)
"""Names of the kernels without negative values."""


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
