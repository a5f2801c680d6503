"""The columns of an image's rows, as saved in a model to make the same columns from other images."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..columns import PIXEL_KINDS as KINDS
from .axes import with_bands
from .features import Features
from .image import Image
from .validity import Nodata, nodata_of


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_nodata(text: str) -> bool:
    with suppress(ValueError):
        return nodata_of(text) is not None
    return False


PARTS: Mapping[str, Callable[[Any], bool]] = {
    "n_bands": lambda value: type(value) is int and value > 0,
    "window": lambda value: value is None or (type(value) is int and value >= 3),
    "coordinates": lambda value: isinstance(value, bool),
    "factors": lambda value: value is None or (isinstance(value, list) and all(map(_is_finite, value))),
    "axes": lambda value: value is None or isinstance(value, str),
    "nodata": lambda value: value is None or (isinstance(value, str) and _is_nodata(value)),
    "kinds": lambda value: isinstance(value, list) and all(kind in KINDS for kind in value),
    "bands": lambda value: (
        value is None or (isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value))
    ),
}
"""Saved entries and checks of their values."""


@dataclass(frozen=True)
class PixelColumns:
    """The columns of an image's rows.

    Parameters
    ----------
    n_bands : int
    features : Features
    axes : str, optional
        The image's axes as given by the user; see `open_image`.
    nodata : float or "none", optional
        The value of pixels without data as given by the user.
    bands : tuple of str, optional
        Names of the bands, by which those of other images are found.

    Examples
    --------
    >>> columns = PixelColumns(3, Features(window=5), axes="cyx")
    >>> PixelColumns.from_dict(columns.to_dict()) == columns
    True
    """

    n_bands: int
    features: Features
    axes: str | None = None
    nodata: Nodata = None
    bands: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain objects for JSON."""
        factors = self.features.factors
        return {
            "n_bands": self.n_bands,
            "window": self.features.window,
            "coordinates": self.features.coordinates,
            "factors": None if factors is None else list(factors),
            "axes": self.axes,
            "nodata": None if self.nodata is None else str(self.nodata),  # JSON has no NaN
            "kinds": list(self.features.kinds),
            "bands": None if self.bands is None else list(self.bands),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "PixelColumns":
        """Return the columns from the value of `to_dict`.

        Raises
        ------
        ValueError
            If an entry is missing or invalid.
        """
        if saved.keys() != PARTS.keys():
            raise ValueError(f"expected {', '.join(PARTS)} of pixel columns; got {', '.join(map(str, saved))}")
        for name, is_good in PARTS.items():
            if not is_good(saved[name]):
                raise ValueError(f"expected another {name} of pixel columns; got {saved[name]!r:.99}")
        factors = saved["factors"]
        factors = None if factors is None else tuple(factors)
        features = Features(saved["window"], saved["coordinates"], factors, tuple(saved["kinds"]))
        nodata = None if saved["nodata"] is None else nodata_of(saved["nodata"])
        bands = None if saved["bands"] is None else tuple(saved["bands"])
        return cls(saved["n_bands"], features, saved["axes"], nodata, bands)

    def of(self, image: Image, model: object) -> Image:
        """Return an image with the bands of a model, found by their names if both have some; `model` is its name.

        Raises
        ------
        ValueError
            If the number of bands differs, or one is missing.
        """
        image = with_bands(image, self.bands) if self.bands and image.bands else image
        self.check(image, model)
        return image

    def check_columns(self, n_columns: int) -> None:
        """Raise an error unless pixels have this number of columns.

        Raises
        ------
        ValueError
        """
        own, factors = self.features.n_columns(self.n_bands), self.features.factors
        if own != n_columns or (factors is not None and len(factors) != own):
            raise ValueError(f"expected {n_columns} pixel columns, with as many factors or none; got {own}: {factors}")

    def check(self, image: Image, model: object) -> None:
        """Raise an error unless an image has as many bands as a model was fitted to; `model` is its name.

        Raises
        ------
        ValueError
            If the number of bands differs.
        """
        if image.shape[2] != self.n_bands:
            raise ValueError(
                f"expected an image of {self.n_bands} bands, as {model} was fitted to; got {image.shape[2]} in "
                f"{image.path}: give one with the same bands in the same order, or fit a model to this one"
            )
