"""The columns of a pixel's row: bands or colours, what is around the pixel, and coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._errors import ContentsError
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats
from ..columns import PIXEL_KINDS as KINDS
from .image import Block, Image
from .local_columns import LAB_BANDS, LAB_DTYPES, write_columns
from .validity import OpenPixels, within

WINDOW = 5
"""Window of smooth or texture columns, unless another is given."""


@storable
@dataclass(frozen=True)
class Features:
    """The columns of a pixel's row.

    Parameters
    ----------
    window : int, optional
        Lines and columns of a square, an odd number: mean and standard deviation of every band in the square around
        the pixel follow the bands, unless `kinds` has ``"smooth"`` or ``"texture"``. Beyond its edges the image is
        continued by its outermost pixels; pixels without data are left out of the square.
    coordinates : bool
        Whether line and column of the pixel follow.
    factors : tuple of float, optional
        Factor of each column.
    kinds : tuple of {"lab", "smooth", "texture", "gradient"}
        ``"lab"``: lightness, redness and yellowness (CIE 1976 L*a*b*) in place of the red, green and blue of an sRGB
        picture, in which distances are close to those that people see; all other columns are computed from them.
        ``"smooth"``: the means in the window in place of the values of the pixel. ``"texture"``: also the standard
        deviations in the window. ``"gradient"``: also how steeply the bands change, by central differences.

    Examples
    --------
    >>> Features(window=5, coordinates=True).n_columns(n_bands=3)
    11
    >>> Features(window=5, kinds=("lab", "smooth")).names(["red", "green", "blue"])
    ('mean lightness in 5 x 5', 'mean redness in 5 x 5', 'mean yellowness in 5 x 5')
    """

    window: int | None = None
    coordinates: bool = False
    factors: tuple[float, ...] | None = None
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.window is not None and (self.window < 3 or self.window % 2 == 0):
            raise ValueError(f"expected an odd window of 3 pixels or more; got {self.window}")
        check_kinds(self.kinds)
        if self.window is None and needs_window(self.kinds):
            raise ValueError(f"expected a window for {', '.join(self.kinds)}; got none: give window={WINDOW}")

    @property
    def parts(self) -> tuple[str, ...]:
        """Return what the row holds of every band."""
        own = "mean" if "smooth" in self.kinds else "value"
        plain = self.window is not None and not needs_window(self.kinds)
        around = ("mean", "deviation") if plain else ("deviation",) * ("texture" in self.kinds)
        return (own, *around, *(("gradient",) if "gradient" in self.kinds else ()))

    @property
    def starts_with_bands(self) -> bool:
        """Return whether the first columns are the bands themselves."""
        return self.factors is None and not self.is_lab and "smooth" not in self.kinds

    @property
    def is_lab(self) -> bool:
        """Return whether bands are turned into colours as people see them."""
        return "lab" in self.kinds

    @property
    def margin(self) -> int:
        """Return the number of pixels around a block that its columns need."""
        return (self.window or 1) // 2 + ("gradient" in self.kinds)

    def n_columns(self, n_bands: int) -> int:
        """Return the number of columns."""
        return n_bands * len(self.parts) + 2 * self.coordinates

    def names(self, bands: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the columns of an image with these bands.

        Examples
        --------
        >>> Features(window=5).names(["red"])
        ('red', 'mean red in 5 x 5', 'deviation of red in 5 x 5')
        """
        bands, around = LAB_BANDS if self.is_lab else bands, f" in {self.window} x {self.window}"
        ends = {"value": ("", ""), "mean": ("mean ", around), "deviation": ("deviation of ", around)}
        ends["gradient"] = ("gradient of ", "")
        local = [f"{ends[part][0]}{band}{ends[part][1]}" for part in self.parts for band in bands]
        return (*local, *(("line", "column") if self.coordinates else ()))

    def check_image(self, image: Image) -> None:
        """Raise an error unless an image can have such columns."""
        lines, columns, n_bands = image.shape
        if self.window is not None and self.window > min(lines, columns):
            raise ValueError(f"expected a window within the image's {lines} x {columns} pixels; got {self.window}")
        if self.is_lab and (n_bands != len(LAB_BANDS) or image.dtype not in LAB_DTYPES):
            raise ValueError(
                f"expected red, green and blue of uint8 or uint16 for 'lab'; got {n_bands} bands of {image.dtype}: "
                "leave 'lab' out"
            )

    def dtype(self, pixels: npt.DTypeLike) -> np.dtype:
        """Return the dtype of rows: that of the pixels if they have no other columns, otherwise float32 or wider."""
        return np.dtype(pixels) if self == Features() else np.result_type(pixels, np.float32)

    def times(self, factors: Floats) -> "Features":
        """Return the features with columns multiplied by these factors."""
        return replace(self, factors=tuple(map(float, factors)))

    def rows(self, source: OpenPixels, height: int, width: int, block: Block) -> tuple[AnyArray, Booleans | None]:
        """Read a block with the margin for its windows and return a row for each pixel, line by line.

        Which of the rows hold data follows, or None if all do; values of the others are undefined. A pixel with data
        that is not finite is a ContentsError.
        """
        around: Any = tuple(
            slice(max(s.start - self.margin, 0), min(s.stop + self.margin, n)) for s, n in zip(block, (height, width))
        )
        pixels, valid = source.read(around)
        may_be_nan = source.source.dtype.kind == "f"  # what whole numbers stand for is finite
        if valid is not None and (self.margin or may_be_nan):  # NaN would spoil windows, and the check
            pixels = np.where(valid[..., None], pixels, pixels.dtype.type(0))
        if may_be_nan:
            _check_finite(pixels, around)
        inside = within(block, around)
        own_valid = None if valid is None else valid[inside].ravel()
        n_bands, dtype = pixels.shape[2], self.dtype(pixels.dtype)
        if self == Features():
            return np.ascontiguousarray(pixels).reshape(-1, n_bands), own_valid
        rows = np.zeros((*(s.stop - s.start for s in block), self.n_columns(n_bands)), dtype)
        if own_valid is None or own_valid.any():
            local = rows[..., : n_bands * len(self.parts)]
            write_columns(*self._padded(pixels, valid, block, around), self.parts, self.window, local, self.is_lab)
        if self.coordinates:
            rows[..., -2] = np.arange(block[0].start, block[0].stop)[:, None]
            rows[..., -1] = np.arange(block[1].start, block[1].stop)
        rows = rows.reshape(-1, rows.shape[2])
        if self.factors is not None:
            rows *= np.asarray(self.factors, rows.dtype)
        return rows, own_valid

    def _padded(
        self, pixels: AnyArray, valid: Booleans | None, block: Block, around: Block
    ) -> tuple[AnyArray, Booleans | None]:
        """Return the pixels with the whole margin around the block, and which hold data."""
        missing = [(self.margin - (a.start - b.start), self.margin - (b.stop - a.stop)) for a, b in zip(block, around)]
        padded = np.pad(pixels, [*missing, (0, 0)], mode="edge") if self.margin else pixels
        return padded, None if valid is None else np.pad(valid, missing, mode="edge")


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise a ValueError for an unknown kind of columns."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"expected features among {', '.join(KINDS)}; got {', '.join(map(str, unknown))}")


def needs_window(kinds: Sequence[str]) -> bool:
    """Return whether columns of these kinds are computed in a window."""
    return "smooth" in kinds or "texture" in kinds


def _check_finite(pixels: AnyArray, where: Block) -> None:
    if np.isfinite(pixels).all():
        return
    bad = ~np.isfinite(pixels).all(axis=-1)
    y, x = np.unravel_index(int(bad.argmax()), bad.shape)
    raise ContentsError(
        f"expected finite pixels; got {int(bad.sum())} with NaN or infinity in lines {where[0].start} to "
        f"{where[0].stop - 1} and columns {where[1].start} to {where[1].stop - 1}, the first in line "
        f"{where[0].start + y}, column {where[1].start + x}: fill them in, or crop the image"
    )
