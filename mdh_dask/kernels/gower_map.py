"""Principal components of rows of mixed columns, computed from the explicit codes of all rows."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh

from .._blas import one_blas_thread
from .._levels import LevelFeatures, level_features
from .._state import FeatureMap, checked_array
from .._typing import AnyArray, Floats
from .blas import project_blocks
from .gower_code import STEPS, GowerCode
from .gower_levels import FEW_VALUES, FEWEST_TO_BEND, SHARES_BELOW, bend, from_eighths, shares_of
from .nystrom import dimension, signs_of


@dataclass(frozen=True)
class GowerMap(FeatureMap):
    """Maps rows to the principal components of their codes.

    Parameters
    ----------
    code : GowerCode
    centre : array of shape (n_coordinates,)
        Mean of the codes over all rows.
    projection : array of shape (n_coordinates, n_components)
    spectrum : array of shape (at least n_components,)
        Positive variances of all components, in descending order.
    """

    kind = "gower"
    code: GowerCode
    centre: Floats
    projection: Floats
    spectrum: Floats

    @property
    def levels(self) -> LevelFeatures:
        """Return the features of levels, of gaps between few values, and of bends; see `levels_among`."""
        scaled, stop = self.code.scale[:, None] * self.projection, 0
        groups: list[Floats] = []
        eighths: list[Floats] = []
        for j, knots in self.code._columns():
            start, stop = stop, stop + int(self.code._sizes[j])
            if self.code.categorical[j]:
                groups.append(scaled[start:stop])
                continue
            gaps, means = slice(start, stop - 1), self.centre[start:stop] / self.code.scale[start:stop]
            fill = means[:-1] / max(1 - means[-1], np.finfo(float).tiny)  # missing values fill no gap
            if len(knots) <= FEW_VALUES:
                groups += [np.stack([np.zeros(self.n_components), gap]) for gap in scaled[gaps]]
            if len(knots) > FEWEST_TO_BEND:
                groups.append(self._bend(knots, scaled[gaps], fill))
            if means[-1] > 0:
                filled = (SHARES_BELOW[:, None] > 0.5 - fill) - 0.5
                eighths += from_eighths(filled @ scaled[gaps], scaled[stop - 1])
        return level_features(eighths + groups, self.n_components, shares_of(eighths, groups))

    def _bend(self, knots: Floats, gaps: Floats, fill: Floats) -> Floats:
        """Return the bend of a column from the features and the mean fill of the gaps between its knots."""
        # A gap is full in about as many rows as have values beyond its middle.
        below = np.maximum.accumulate(0.5 - fill)
        values = np.interp(SHARES_BELOW, below, (knots[1:] + knots[:-1]) / 2)
        full = np.clip((values[:, None] - knots[:-1]) / np.diff(knots), 0.0, 1.0)
        return bend(values, full @ gaps)

    @property
    def missing(self) -> bool:
        """Return True: a missing value is a level."""
        return True

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.code.counts)

    @property
    def n_components(self) -> int:
        """Return the number of features."""
        return self.projection.shape[1]

    @property
    def eigenvalues(self) -> Floats:
        """Variances of the features over all rows."""
        return self.spectrum[: self.n_components]

    @property
    def total_variance(self) -> float:
        """Variance of the codes over all rows."""
        return float(self.spectrum.sum())

    def __call__(self, rows: AnyArray) -> Floats:
        """Return the features of a block of rows, shape (n, n_components), float32."""
        scaled = self.code.scale[:, None] * self.projection
        return project_blocks(rows, self.code.fill, scaled, -self.centre @ self.projection)

    def facts(self) -> dict[str, str]:
        """Return what reports say about the map."""
        return {"Map": "Gower's dissimilarity, exact", "Coordinates": f"{self.code.n_coordinates:,}"}

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return no settings, and the arrays of the code and of the components."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "code"}
        return {}, own | {f.name: getattr(self.code, f.name) for f in fields(self.code)}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """Return the map from the arrays of `to_arrays`, or raise an error."""
        of_code = [f.name for f in fields(GowerCode)]
        own = [f.name for f in fields(cls) if f.name != "code"]
        if settings or sorted(arrays) != sorted([*own, *of_code]):
            raise ValueError(f"expected {', '.join([*own, *of_code])} of a map; got {', '.join([*settings, *arrays])}")
        made = cls(GowerCode(*(arrays[name] for name in of_code)), *(arrays[name] for name in own))
        made.check()
        return made

    def check(self) -> None:
        """Raise a ValueError unless all arrays fit together."""
        d = np.size(self.code.counts)
        for name in ("counts", "categorical", "low", "width", "shares"):
            checked_array(name, getattr(self.code, name), (d,), -np.inf if name == "low" else 0.0)
        checked_array("knots", self.code.knots, (int(self.code.counts.sum()),))
        rising = np.concatenate([np.diff(knots) for _, knots in self.code._columns()] or [np.ones(1)])
        if self.code.counts.dtype.kind != "i" or self.code.categorical.max(initial=0) > 1 or (rising <= 0).any():
            raise ValueError("expected ascending knots of every column in the array knots; got others")
        n, p = self.code.n_coordinates, np.size(self.spectrum[:0]) + np.shape(self.projection)[-1]
        checked_array("centre", self.centre, (n,))
        checked_array("projection", self.projection, (n, p))
        checked_array("spectrum", self.spectrum, (max(np.size(self.spectrum), p),), 0.0)


def gower_map(code: GowerCode, sums: tuple[int, Floats, Floats], variance: float, n_components: int | None) -> GowerMap:
    """Return the map to the principal components of the codes from the value of `CodeProducts`.

    Parameters
    ----------
    code : GowerCode
    sums : tuple
    variance, n_components
        As for `nystrom_map`.
    """
    n, total, products = sums
    scale = code.scale / STEPS
    mean = total / n
    covariance = (products / n - mean[:, None] * mean) * scale[:, None] * scale
    with one_blas_thread():
        values, vectors = eigh(covariance, driver="evd") if len(mean) else (np.zeros(1), np.zeros((0, 1)))
    values, vectors = values[::-1], vectors[:, ::-1]
    n_kept, spectrum = dimension(values, 1.0, variance, n_components)
    vectors = vectors[:, :n_kept]
    projection = np.ascontiguousarray(vectors * signs_of(vectors)) if spectrum[0] > 0 else np.zeros((len(mean), 1))
    return GowerMap(code, mean * scale, projection, spectrum)
