"""The columns of an image's rows, as saved in a model to make the same columns from other images."""

import math
from dataclasses import dataclass

from .._storable import storable
from .bands import with_bands
from .features import Features
from .image import Image
from .quantisation import Dequantise
from .tiles import Tiles
from .validity import Nodata


@storable
@dataclass(frozen=True)
class PixelColumns:
    """The columns of an image's rows.

    Examples
    --------
    >>> columns = PixelColumns(3, Features(window=5), axes="cyx")
    >>> columns.features.n_columns(columns.n_bands)
    9
    """

    n_bands: int
    features: Features
    axes: str | None = None
    nodata: Nodata = None
    """Both as given by the user; see `open_image`."""
    bands: tuple[str, ...] | None = None
    """Names of the bands, by which those of other images are found."""
    tiles: Tiles | None = None
    """Those on which the model was tested."""
    dequantise: Dequantise | None = None
    """Values that stored numbers become, as given by the user; see `open_image`."""
    snapshots: tuple[str, ...] | None = None
    """Snapshots of Icechunk repositories to which the model was fitted."""

    def of(self, image: Image, model: object) -> Image:
        """Return an image with the bands of a model, found by their names if both have some; `model` is its name."""
        image = with_bands(image, self.bands) if self.bands and image.bands else image
        self.check_image(image, model)
        return image

    def check_columns(self, n_columns: int) -> None:
        """Raise an error unless pixels have this number of columns."""
        if self.n_bands < 1 or self.bands == () or not all(map(math.isfinite, self.features.factors or ())):
            raise ValueError(f"expected bands and finite factors of pixel columns; got {self!r:.99}")
        own, factors = self.features.n_columns(self.n_bands), self.features.factors
        if own != n_columns or (factors is not None and len(factors) != own):
            raise ValueError(f"expected {n_columns} pixel columns, with as many factors or none; got {own}: {factors}")

    def check_image(self, image: Image, model: object) -> None:
        """Raise an error unless an image has as many bands as a model was fitted to; `model` is its name."""
        if image.shape[2] != self.n_bands:
            raise ValueError(
                f"expected an image of {self.n_bands} bands, as {model} was fitted to; got {image.shape[2]} in "
                f"{image.path}: give one with the same bands in the same order, or fit a model to this one"
            )
