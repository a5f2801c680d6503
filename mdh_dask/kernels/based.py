"""Feature maps that begin with kernel principal components of landmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from .._state import FeatureMap
from .._typing import AnyArray
from .nystrom import NystromMap


@dataclass(frozen=True)
class BasedMap(FeatureMap):
    """A map of the features, or the kernel, of another one.

    Parameters
    ----------
    base : NystromMap
        Its settings and arrays are saved among those of the map.
    """

    base: NystromMap

    @property
    def n_features(self) -> int:
        """Return the number of columns that rows must have."""
        return self.base.n_features

    @property
    def n_components(self) -> int:
        """Return the number of features."""
        return self.base.n_components

    @property
    def missing(self) -> bool:
        """Return whether the kernel accepts missing values."""
        return self.base.missing

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the settings and arrays of the base, with those of this map."""
        settings, arrays = self.base.to_arrays()
        own = {name: getattr(self, name) for name in self._own()}
        own_arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray)}
        return settings | {name: own[name] for name in own.keys() - own_arrays}, arrays | own_arrays

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the map from the settings and arrays of `to_arrays`, or raise an error."""
        own, values = cls._own(), {**settings, **arrays}
        if lacking := [name for name in own if name not in values]:
            raise ValueError(f"expected {', '.join(lacking)} of a {cls.kind} map")
        base = NystromMap.from_arrays(
            {name: value for name, value in settings.items() if name not in own},
            {name: array for name, array in arrays.items() if name not in own},
        )
        made = cls(base, **{name: values[name] for name in own})
        made.check()
        return made

    @classmethod
    def _own(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name != "base"]
