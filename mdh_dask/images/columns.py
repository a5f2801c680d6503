"""What the columns of an image's rows are, as a model keeps it: the pixels of another image become the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .features import Features
from .image import Image


@dataclass(frozen=True)
class PixelColumns:
    """What the columns of an image's rows are.

    Parameters
    ----------
    n_bands : int
    features : Features
    axes : str, optional
        What the user said of the image's axes; see `open_image`.

    Examples
    --------
    >>> columns = PixelColumns(3, Features(window=5), axes="cyx")
    >>> PixelColumns.from_dict(columns.to_dict()) == columns
    True
    """

    n_bands: int
    features: Features
    axes: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain objects for JSON."""
        factors = self.features.factors
        return {
            "n_bands": self.n_bands,
            "window": self.features.window,
            "coordinates": self.features.coordinates,
            "factors": None if factors is None else list(factors),
            "axes": self.axes,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "PixelColumns":
        """Return what `to_dict` gave."""
        factors = saved["factors"]
        features = Features(saved["window"], saved["coordinates"], None if factors is None else tuple(factors))
        return cls(saved["n_bands"], features, saved["axes"])

    def check(self, image: Image, model: object) -> None:
        """Raise an error if an image does not have the bands that a model, which is named, was fitted to.

        Raises
        ------
        ValueError
            If it has more or fewer.
        """
        if image.shape[2] != self.n_bands:
            raise ValueError(
                f"expected an image of {self.n_bands} bands, as {model} was fitted to; got {image.shape[2]} in "
                f"{image.path}: give one with the same bands in the same order, or fit a model to this one"
            )
