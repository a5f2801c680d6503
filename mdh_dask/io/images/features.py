"""What a pixel's row holds: its bands, what they are in the neighbourhood, where it is."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._jit.windows import window_moments
from ..._typing import AnyArray, Floats
from .order import Block


@dataclass(frozen=True)
class Features:
    """The columns of a pixel's row.

    Parameters
    ----------
    window : int, optional
        Lines and columns of a square, an odd number: mean and standard deviation of every band in the square around
        the pixel follow the bands. Beyond its edges the image is continued by its outermost pixels.
    coordinates : bool
        Whether line and column of the pixel follow.
    factors : tuple of float, optional
        What each column is multiplied by.

    Examples
    --------
    >>> Features(window=5, coordinates=True).n_columns(n_bands=3)
    11
    """

    window: int | None = None
    coordinates: bool = False
    factors: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse a window without a pixel in its middle."""
        if self.window is not None and (self.window < 3 or self.window % 2 == 0):
            raise ValueError(f"expected an odd window of 3 pixels or more; got {self.window}")

    def n_columns(self, n_bands: int) -> int:
        """Return the number of columns."""
        return n_bands * (3 if self.window else 1) + 2 * self.coordinates

    def dtype(self, pixels: npt.DTypeLike) -> np.dtype:
        """Return the dtype of rows: that of the pixels if there is nothing else, else float32 or wider."""
        alone = not self.window and not self.coordinates and self.factors is None
        return np.dtype(pixels) if alone else np.result_type(pixels, np.float32)

    def times(self, factors: Floats) -> "Features":
        """Return the same with columns multiplied by these factors."""
        return replace(self, factors=tuple(map(float, factors)))

    def rows(self, source: Any, height: int, width: int, block: Block) -> AnyArray:
        """Read a block with the margin that its windows need; return a row for each pixel, line by line.

        Raises
        ------
        ValueError
            If a pixel is NaN or infinite.
        """
        lines, columns = block
        radius = self.window // 2 if self.window else 0
        around = (
            slice(max(lines.start - radius, 0), min(lines.stop + radius, height)),
            slice(max(columns.start - radius, 0), min(columns.stop + radius, width)),
        )
        pixels = source[around]
        _check_finite(pixels, around)
        top, left = lines.start - around[0].start, columns.start - around[1].start
        own = pixels[top : top + lines.stop - lines.start, left : left + columns.stop - columns.start]
        parts = [own]
        if self.window:
            missing = [(radius - (a.start - b.start), radius - (b.stop - a.stop)) for a, b in zip(block, around)]
            parts += local_moments(np.pad(pixels, [*missing, (0, 0)], mode="edge"), self.window)
        if self.coordinates:
            grid = np.meshgrid(*(np.arange(s.start, s.stop) for s in block), indexing="ij")
            parts.append(np.stack(grid, axis=-1))
        return self._joined(parts, pixels.dtype)

    def _joined(self, parts: list[AnyArray], pixels: np.dtype) -> AnyArray:
        if len(parts) == 1 and self.factors is None:
            return np.ascontiguousarray(parts[0]).reshape(-1, parts[0].shape[-1])
        dtype = self.dtype(pixels)
        rows = np.concatenate([part.astype(dtype, copy=False) for part in parts], axis=-1)
        rows = rows.reshape(-1, rows.shape[-1])
        return rows if self.factors is None else rows * np.asarray(self.factors, dtype)


def local_moments(padded: AnyArray, window: int) -> list[Floats]:
    """Return mean and standard deviation of every band in the window around each pixel, in float64.

    Parameters
    ----------
    padded : array of shape (lines + window - 1, columns + window - 1, bands)
    window : int

    Returns
    -------
    list of two arrays of shape (lines, columns, bands)
        Sums are of each window by itself, about its own mean: neither the size of the image nor that of a block nor
        a large mean takes digits from them.
    """
    lines, columns, bands = padded.shape
    values = padded.astype(np.float64).reshape(lines, columns * bands)
    mean, squared = window_moments(values, np.zeros_like(values), 1, window)
    n_lines = len(mean)

    def turned(array: Floats, first: int, second: int) -> Floats:
        across = array.reshape(first, second, bands).transpose(1, 0, 2)
        return np.ascontiguousarray(across).reshape(second, first * bands)

    mean, squared = (turned(part, n_lines, columns) for part in (mean, squared))
    mean, squared = window_moments(mean, squared, window, window)
    n_columns = len(mean)
    mean, squared = (turned(part, n_columns, n_lines).reshape(n_lines, n_columns, bands) for part in (mean, squared))
    return [mean, np.sqrt(squared / window**2)]


def _check_finite(pixels: AnyArray, where: Block) -> None:
    if pixels.dtype.kind != "f" or np.isfinite(pixels).all():
        return
    bad = ~np.isfinite(pixels).all(axis=-1)
    y, x = np.unravel_index(int(bad.argmax()), bad.shape)
    raise ValueError(
        f"expected finite pixels; got {int(bad.sum())} with NaN or infinity in lines {where[0].start} to "
        f"{where[0].stop - 1} and columns {where[1].start} to {where[1].stop - 1}, the first in line "
        f"{where[0].start + y}, column {where[1].start + x}: fill them in, or crop the image"
    )
