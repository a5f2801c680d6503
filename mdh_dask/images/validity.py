"""Which pixels of an image hold data."""

import base64
import itertools
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._typing import AnyArray, Booleans
from .quantisation import Quantisation

Block = tuple[slice, slice]
"""Lines and columns of an image."""

Nodata = float | Literal["none"] | None
"""The value of pixels without data: a number, NaN for none but NaN, ``"none"`` for none at all, None as declared."""

ATTRIBUTES = ("_FillValue", "missing_value", "nodata")
"""Attributes of Zarr arrays that declare the value of pixels without data."""


class NoDataError(ValueError):
    """An image has no pixel that holds data."""


PIECE = 2**17
"""Values of a piece of a block."""


@dataclass(frozen=True)
class Validity:
    """The rule by which a pixel holds data."""

    nodata: tuple[float, ...] = ()
    """A pixel with one of these in any band holds none."""
    nan: bool = False
    """Whether a pixel with NaN in any band holds none; otherwise it is an error."""
    alpha: bool = False
    """Whether the source has bands of opacity, which are zero where there are no data."""
    mask: Any = None
    """One band as a source, zero where there are no data."""


class OpenPixels(NamedTuple):
    """Pixels that are ready to be read, with the rule by which they hold data."""

    source: Any
    validity: Validity | None = None
    tiles: tuple[int, int] | None = None
    """Lines and columns that are stored, and decoded, together."""
    quantisation: Quantisation | None = None

    def opened(self) -> "OpenPixels":
        """Return the pixels of open sources."""
        rule = self.validity
        if rule is not None and rule.mask is not None:
            rule = replace(rule, mask=rule.mask.open())
        return self._replace(source=self.source.open(), validity=rule)

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of pixels."""
        stored = np.dtype(self.source.dtype)
        return stored if self.quantisation is None else self.quantisation.dtype(stored)

    def of(self, stored: AnyArray) -> AnyArray:
        """Return the pixels of stored numbers."""
        return stored if self.quantisation is None else self.quantisation.values(stored)

    def read(self, block: Block) -> tuple[AnyArray, Booleans | None]:
        """Return the pixels of a block, shape (lines, columns, bands), and which hold data; None if all do.

        Those of pixels without data are undefined: most callers leave them out, and need no zeros there.
        """
        stored, valid = self._stored(block)
        return self.of(stored), valid

    def _stored(self, block: Block) -> tuple[AnyArray, Booleans | None]:
        """Read the stored numbers of a block, for which the rule is, and return which pixels hold data."""
        rule = self.validity
        if rule is None:
            return self.source[block], None
        there = None if rule.mask is None else _holds(rule.mask[block][..., 0])
        if there is not None and not there.any():
            return np.zeros((*there.shape, self.source.shape[2]), self.source.dtype), there
        n_bands, pixels = self.source.shape[2], self._where(block, there)
        valid = np.ones(pixels.shape[:2], bool)
        if rule.alpha:
            valid = (pixels[..., n_bands:] != 0).all(axis=2)
            pixels = pixels[..., :n_bands]
        if rule.nodata or rule.nan:
            _leave_out(pixels, rule, valid)
        if there is not None:
            valid &= there
        return pixels, None if valid.all() else valid

    def _where(self, block: Block, there: Booleans | None) -> AnyArray:
        """Read the pixels of a block; tiles without data, by a mask that does not say so everywhere, are zero."""
        read = self.source.with_left_out if self.validity and self.validity.alpha else self.source.__getitem__
        if there is None or self.tiles is None:
            return np.asarray(read(block))
        parts = [*itertools.product(cut(block[0], self.tiles[0]), cut(block[1], self.tiles[1]))]
        held = [part for part in parts if there[within(part, block)].any()]
        if len(held) == len(parts):
            return np.asarray(read(block))
        pixels: AnyArray = np.zeros(0)
        for part in held:
            tile = read(part)
            if not pixels.size:
                pixels = np.zeros((*there.shape, tile.shape[2]), tile.dtype)
            pixels[within(part, block)] = tile
        return pixels

    def valid(self, block: Block) -> Booleans:
        """Return which pixels of a block hold data, and read no more than that takes."""
        rule = self.validity
        if rule is not None and not (rule.nodata or rule.nan or rule.alpha):  # only a mask
            return _holds(rule.mask[block][..., 0])
        pixels, valid = self._stored(block)
        return np.ones(pixels.shape[:2], bool) if valid is None else valid


def _holds(mask: AnyArray) -> Booleans:
    """Return where a mask says that there are data: not where it is zero or NaN."""
    return np.asarray((mask != 0) & (mask == mask))


def cut(whole: slice, side: int) -> list[slice]:
    """Return the parts of a slice between multiples of a number."""
    ends = [whole.start, *range((whole.start // side + 1) * side, whole.stop, side), whole.stop]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


def within(part: Block, block: Block) -> Any:
    """Return where a part of a block is in it."""
    return tuple(slice(one.start - whole.start, one.stop - whole.start) for one, whole in zip(part, block))


@dataclass(frozen=True)
class MarkedRows:
    """Rows of all pixels of a block, and which of them hold data, None for all; values of the others are undefined."""

    rows: AnyArray
    valid: Booleans | None

    @property
    def held(self) -> AnyArray:
        """Return the rows of pixels with data."""
        if self.valid is None:
            return self.rows
        rows, n_columns = np.ascontiguousarray(self.rows), self.rows.shape[1]
        whole = rows.view(np.dtype((np.void, rows.itemsize * n_columns)))[:, 0]
        return whole[self.valid].view(rows.dtype).reshape(-1, n_columns)  # three times as fast as value by value


def _leave_out(pixels: AnyArray, rule: Validity, valid: Booleans) -> None:
    """Set `valid` to False where a band has a value of no data or NaN, in pieces of lines that stay in the cache.

    The pieces share their memory: on workers of Dask, which give back what is freed, new memory took half of the time.
    """
    n_bands = pixels.shape[2]
    step = max(1, PIECE // pixels[0].size)
    values = [pixels.dtype.type(value) for value in rule.nodata]
    shared = np.empty((2, min(step, len(pixels)), *pixels.shape[1:]), bool)
    for y in range(0, len(pixels), step):
        piece = pixels[y : y + step]
        bad, more = shared[:, : len(piece)]
        if rule.nan:
            np.isnan(piece, out=bad)
        for i, value in enumerate(values):
            first = i == 0 and not rule.nan
            np.equal(piece, value, out=bad if first else more)
            if not first:
                bad |= more
        words = bad.view(f"u{math.gcd(n_bands, 8)}")  # NumPy reduces a short last axis slowly
        for i in range(words.shape[2]):
            valid[y : y + step] &= words[..., i] == 0


def validity_of(
    dtype: npt.DTypeLike, declared: Iterable[Any], nodata: Nodata = None, own: Validity | None = None
) -> Validity | None:
    """Return the rule for an image, or None if all of its pixels hold data.

    `nodata` is what the user says, instead of what the file has `declared`; `own` is the opacity and the mask in it.
    """
    if nodata == "none":
        return None
    given = [*declared] if nodata is None else [nodata]
    values = [value.item() if isinstance(value, np.generic) else value for value in given]
    if nodata is not None and _number(values[0]) is None:
        raise ValueError(f"expected a number or 'none' for nodata; got {nodata!r}")
    found = tuple(dict.fromkeys(v for value in values for v in _as_dtype(value, np.dtype(dtype))))
    rule = replace(own or Validity(), nodata=found, nan=np.dtype(dtype).kind == "f")
    return None if rule == Validity() else rule


def nodata_of(text: str) -> Nodata:
    """Return the value of pixels without data from its text: a number or ``"none"``; others are a ValueError."""
    return "none" if text == "none" else float(text)


def declared_by(attributes: Any) -> list[Any]:
    """Return the values of pixels without data that attributes of a Zarr array or of xarray declare."""
    found = [attributes[name] for name in ATTRIBUTES if attributes.get(name) is not None]
    return [value for one in found for value in (one if isinstance(one, list | np.ndarray) else [one])]


def _as_dtype(value: Any, dtype: np.dtype) -> list[Any]:
    """Return a value as pixels have it; nothing if none can, or if it is NaN, which counts anyway."""
    number = _number(value)
    if number is None or np.isnan(number):
        return []
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return [dtype.type(number).item()]
    if not number.is_integer():
        return []
    is_whole = isinstance(value, int) or (isinstance(value, str) and value.strip().lstrip("+-").isdecimal())
    limits, exact = np.iinfo(dtype), int(value if is_whole else number)  # a float may not hold the last digits
    return [exact] if limits.min <= exact <= limits.max else []


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:  # as xarray writes floating-point attributes to Zarr
        return float(struct.unpack("<d", base64.standard_b64decode(value))[0])  # type: ignore[arg-type]
    except (ValueError, struct.error):
        return None
