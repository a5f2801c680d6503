"""Random directions (thesis section 6.2.3).

A family is a function ``(rng, n_directions, n_features) -> array of shape (n_directions, n_features)``. To add one, add
it to `RANDOM_PROJECTIONS`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._random import generator
from .._storable import storable
from .._typing import Floats

RandomProjection = Callable[[np.random.Generator, int, int], Floats]


def uniform_sphere(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions uniform on the unit sphere.

    Examples
    --------
    >>> import numpy as np
    >>> V = uniform_sphere(np.random.default_rng(0), 5, 3)
    >>> np.allclose((V**2).sum(axis=1), 1)
    True
    """
    V = rng.standard_normal((n_directions, n_features))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def normal(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions with independent standard Gaussian entries (Bingham and Mannila 2001)."""
    return rng.standard_normal((n_directions, n_features))


def bernoulli(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return directions whose entries are -1 or 1 with equal probability."""
    return 2.0 * rng.integers(0, 2, size=(n_directions, n_features)) - 1.0


def achlioptas(rng: np.random.Generator, n_directions: int, n_features: int) -> Floats:
    """Return sparse directions: 0 with probability 2/3, else -sqrt(3) or sqrt(3) (Achlioptas 2001).

    A direction with only zeros, as is likely for few features, is drawn again.
    """
    V = np.zeros((n_directions, n_features))
    empty = np.arange(n_directions)
    while len(empty):
        V[empty] = rng.choice([-np.sqrt(3), 0.0, np.sqrt(3)], p=[1 / 6, 2 / 3, 1 / 6], size=(len(empty), n_features))
        empty = np.flatnonzero(~V.any(axis=1))
    return V


RANDOM_PROJECTIONS: dict[str, RandomProjection] = {
    "uniform_sphere": uniform_sphere,
    "normal": normal,
    "bernoulli": bernoulli,
    "achlioptas": achlioptas,
}


@storable
@dataclass(frozen=True)
class KeyedDirections:
    """Random directions given by the key of their stream, which is sent to workers instead of the directions.

    Parameters
    ----------
    family : str
        A name in `RANDOM_PROJECTIONS`.
    key : tuple of int
        Key of the stream, which starts with the seed.
    n_directions : int
    scale : array of shape (n_features,)
        Factors of the entries, which turn directions for standardised rows into directions for raw rows.
    """

    family: str
    key: tuple[int, ...]
    n_directions: int
    scale: Floats

    def make(self) -> Floats:
        """Return the directions, shape (n_directions, n_features), float64."""
        rng = generator(*self.key)
        return RANDOM_PROJECTIONS[self.family](rng, self.n_directions, len(self.scale)) * self.scale
