"""How stored numbers become values: by scales and offsets of the bands, or by a formula with a name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from .._typing import AnyArray

Dequantise = Literal["declared", "alphaearth", "tessera"]
"""Which values stored numbers become: as the file declares, as of AlphaEarth, or by a scale of every pixel."""

Described = Mapping[str, Sequence[Any]]
"""Scales, offsets and values of no data by the keys ``"scale"``, ``"offset"`` and ``"nodata"``, of each band or all."""

CHOICES = get_args(Dequantise)

ALPHAEARTH_NODATA = -128
"""The stored number of pixels without data of AlphaEarth embeddings."""


def alphaearth(stored: AnyArray) -> AnyArray:
    """Return the values of AlphaEarth embeddings, ``sign(v) (v / 127.5)²`` of a stored v from -127 to 127, float32.

    Then every pixel's 64 values have about the length 1; -128 means no data, in all bands: Google, AlphaEarth
    Foundations GCS data, "De-quantization", https://developers.google.com/earth-engine/guides/aef_on_gcs_readme
    """
    values = stored.astype(np.float32)
    shared = np.empty(values.shape[1:], np.float32)  # stays in the cache; new memory takes longer than the work
    for line in values:
        line /= np.float32(127.5)
        line *= np.abs(line, out=shared)
    return values


@dataclass(frozen=True)
class Quantisation:
    """How stored numbers become values: as those of AlphaEarth, or by a scale and an offset of each band."""

    name: str
    scales: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()

    def dtype(self, stored: npt.DTypeLike) -> np.dtype:
        """Return the dtype of values: float32, or float64 for numbers of more than 16 bits."""
        return np.result_type(stored, np.float32)

    def values(self, stored: AnyArray) -> AnyArray:
        """Return the values of stored numbers, shape (lines, columns, bands)."""
        if self.name == "alphaearth":
            return alphaearth(stored)
        found = stored.astype(self.dtype(stored.dtype))
        found *= np.asarray(self.scales, found.dtype)
        found += np.asarray(self.offsets, found.dtype)
        return found

    def of_bands(self, numbers: Sequence[int]) -> "Quantisation":
        """Return that of some bands in this order."""
        scales, offsets = (tuple(own[i] for i in numbers) if own else () for own in (self.scales, self.offsets))
        return replace(self, scales=scales, offsets=offsets)

    def beside(self, other: "Quantisation") -> "Quantisation":
        """Return that of these bands and of others after them."""
        return replace(self, scales=self.scales + other.scales, offsets=self.offsets + other.offsets)


def quantisation_of(
    name: Dequantise | None, dtype: np.dtype, n_bands: int, declared: Described, path: str
) -> Quantisation | None:
    """Return how the numbers of an image become values, or None if they stay as they are read.

    `declared` has the keys ``"scale"`` and ``"offset"`` with one number for each band or for all, as the file gives
    them.
    """
    if name not in (None, *CHOICES):
        raise ValueError(f"expected {', '.join(map(repr, CHOICES))} or None for dequantise; got {name!r}")
    if name is None or name == "tessera":
        return None
    if name == "alphaearth":
        if dtype != np.int8:
            raise ValueError(
                f"expected int8 pixels for dequantise='alphaearth'; got {dtype} in {path}: leave it out if they are "
                "values already"
            )
        return Quantisation(name)
    if not declared:
        raise ValueError(
            f"expected a scale or an offset in {path} for dequantise='declared'; got neither: leave it out, or write "
            "them, as GDAL does"
        )
    scales, offsets = ([*declared.get(key, (plain,))] for key, plain in (("scale", 1.0), ("offset", 0.0)))
    full = [tuple(own * (n_bands // len(own))) for own in (scales, offsets)]
    if not all(len(own) == n_bands and np.isfinite(own).all() for own in full):
        raise ValueError(f"expected a finite scale and offset for each of {n_bands} bands in {path}; got {declared}")
    return Quantisation(name, *full)
