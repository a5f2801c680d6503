"""The columns of a pixel's row: bands, local means and deviations, and coordinates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._jit.windows import valid_window_moments, window_moments
from .._typing import AnyArray, Booleans, Floats
from .order import Block
from .validity import OpenPixels

PIECE_BYTES = 2**23
"""Bytes of float64 values per piece when windows are computed."""


@dataclass(frozen=True)
class Features:
    """The columns of a pixel's row.

    Parameters
    ----------
    window : int, optional
        Lines and columns of a square, an odd number: mean and standard deviation of every band in the square around
        the pixel follow the bands. Beyond its edges the image is continued by its outermost pixels; pixels without
        data are left out of the square.
    coordinates : bool
        Whether line and column of the pixel follow.
    factors : tuple of float, optional
        Factor of each column.

    Examples
    --------
    >>> Features(window=5, coordinates=True).n_columns(n_bands=3)
    11
    """

    window: int | None = None
    coordinates: bool = False
    factors: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Raise an error for a window without a central pixel."""
        if self.window is not None and (self.window < 3 or self.window % 2 == 0):
            raise ValueError(f"expected an odd window of 3 pixels or more; got {self.window}")

    def n_columns(self, n_bands: int) -> int:
        """Return the number of columns."""
        return n_bands * (3 if self.window else 1) + 2 * self.coordinates

    def names(self, bands: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the columns of an image with these bands.

        Examples
        --------
        >>> Features(window=5).names(["red"])
        ('red', 'mean red in 5 x 5', 'deviation of red in 5 x 5')
        """
        around = f"in {self.window} x {self.window}"
        local = [f"{kind} {band} {around}" for kind in ("mean", "deviation of") for band in bands]
        return (*bands, *(local if self.window else ()), *(("line", "column") if self.coordinates else ()))

    def dtype(self, pixels: npt.DTypeLike) -> np.dtype:
        """Return the dtype of rows: that of the pixels if they have no other columns, otherwise float32 or wider."""
        alone = not self.window and not self.coordinates and self.factors is None
        return np.dtype(pixels) if alone else np.result_type(pixels, np.float32)

    def times(self, factors: Floats) -> "Features":
        """Return the features with columns multiplied by these factors."""
        return replace(self, factors=tuple(map(float, factors)))

    def rows(self, source: OpenPixels, height: int, width: int, block: Block) -> tuple[AnyArray, Booleans | None]:
        """Read a block with the margin for its windows and return a row for each pixel, line by line.

        Which of the rows hold data follows, or None if all do; the others are arbitrary.

        Raises
        ------
        ValueError
            If a pixel with data is NaN or infinite.
        """
        radius = self.window // 2 if self.window else 0
        around = _with_margin(block, radius, (height, width))
        pixels, valid = source.read(around)
        _check_finite(pixels, around)
        inside = tuple(slice(a.start - b.start, a.stop - b.start) for a, b in zip(block, around))
        own, own_valid = pixels[inside], None if valid is None else valid[inside].ravel()
        n_bands = own.shape[2]
        if self.dtype(pixels.dtype) == own.dtype and self.n_columns(n_bands) == n_bands and self.factors is None:
            return np.ascontiguousarray(own).reshape(-1, n_bands), own_valid
        rows = np.empty((*own.shape[:2], self.n_columns(n_bands)), self.dtype(pixels.dtype))
        rows[..., :n_bands] = own
        if self.window and (own_valid is None or own_valid.any()):
            missing = [(radius - (a.start - b.start), radius - (b.stop - a.stop)) for a, b in zip(block, around)]
            padded = np.pad(pixels, [*missing, (0, 0)], mode="edge")
            there = None if valid is None else np.pad(valid, missing, mode="edge")
            write_local_moments(padded, self.window, rows[..., n_bands : 3 * n_bands], there)
        if self.coordinates:
            rows[..., -2] = np.arange(block[0].start, block[0].stop)[:, None]
            rows[..., -1] = np.arange(block[1].start, block[1].stop)
        rows = rows.reshape(-1, rows.shape[2])
        if self.factors is not None:
            rows *= np.asarray(self.factors, rows.dtype)
        return rows, own_valid


def write_local_moments(padded: AnyArray, window: int, out: Floats, valid: Booleans | None = None) -> None:
    """Write mean and standard deviation of every band in the window around each pixel.

    Each window is summed on its own and about its own mean, so neither the size of the image or of a block nor a large
    mean costs digits.

    Parameters
    ----------
    padded : array of shape (lines + window - 1, columns + window - 1, bands)
    window : int
    out : array of shape (lines, columns, 2 * bands)
        Means, then standard deviations.
    valid : array of shape (lines + window - 1, columns + window - 1), optional
        Which pixels hold data; the others are left out, and what is written for them is arbitrary.
    """
    line_bytes = np.dtype(np.float64).itemsize * padded[0].size
    step = max(PIECE_BYTES // line_bytes, 4 * window)  # a whole block in float64 would take several times its memory
    for y in range(0, len(out), step):
        lines = slice(y, y + step + window - 1)
        values = padded[lines].astype(np.float64)
        # Windows without a hole have the same bits in both, so that results do not depend on where a block begins.
        if valid is None or valid[lines].all():
            _write_piece(values, window, out[y : y + step])
        else:
            _write_piece_with_holes(values, valid[lines], window, out[y : y + step])


def _write_piece(values: Floats, window: int, out: Floats) -> None:
    mean, squared = values, np.zeros_like(values)
    for n in (1, window):  # first across lines, then along them
        mean, squared = _across(lambda *parts, n=n: window_moments(*parts, n, window), mean, squared)
    _write(mean, squared, window**2, out)


def _write_piece_with_holes(values: Floats, valid: Booleans, window: int, out: Floats) -> None:
    counts: AnyArray = np.repeat(valid[..., None].astype(np.float64), values.shape[2], axis=2)
    parts = [counts, values, np.zeros_like(values)]
    for full in (window, window**2):
        parts = _across(lambda *parts, full=full: valid_window_moments(*parts, window, full), *parts)
    counts, mean, squared = parts
    _write(mean, squared, np.maximum(counts, 1), out)


def _across(moments: Callable[..., Iterable[Floats]], *parts: Floats) -> list[Floats]:
    """Return moments of windows across lines, turned so that the next call goes along lines."""
    shape = parts[0].shape
    found = moments(*(part.reshape(shape[0], -1) for part in parts))
    return [np.ascontiguousarray(part.reshape(-1, *shape[1:]).transpose(1, 0, 2)) for part in found]


def _write(mean: Floats, squared: Floats, n: Floats | int, out: Floats) -> None:
    bands = mean.shape[2]
    out[..., :bands] = mean
    out[..., bands:] = np.sqrt(squared / n)


def _with_margin(block: Block, radius: int, shape: tuple[int, int]) -> Block:
    lines, columns = (slice(max(s.start - radius, 0), min(s.stop + radius, n)) for s, n in zip(block, shape))
    return lines, columns


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
