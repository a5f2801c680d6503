"""The columns of pixels that need their neighbours, and colours as people see them."""

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from .._jit.sums import valid_window_moments, window_moments
from .._typing import AnyArray, Booleans, Floats

LAB_BANDS = ("lightness", "redness", "yellowness")
"""Names of the bands of CIE L*a*b*."""

LAB_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16))
"""Dtypes of pictures, which say what white is."""

TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
"""From linear sRGB to CIE XYZ under daylight, D65 (IEC 61966-2-1)."""

WHITE = (0.95047, 1.0, 1.08883)

CUBED, SLOPE = 216 / 24389, 24389 / 27
"""Where the cube root begins, and the slope of the line below (CIE 15:2004)."""


def lab_of(pixels: AnyArray) -> Floats:
    """Return the colours of an sRGB picture in CIE L*a*b*, whose distances are close to those that people see.

    `pixels` of shape (..., 3) are uint8 or uint16. Lightness is from 0 to 100, redness below zero is greenness,
    yellowness below zero blueness.

    Examples
    --------
    >>> lab_of(np.array([[255, 255, 255], [255, 0, 0], [0, 0, 0]], np.uint8)).round().astype(int).tolist()
    [[100, 0, 0], [53, 80, 67], [0, 0, 0]]
    """
    coded = np.linspace(0, 1, int(np.iinfo(pixels.dtype).max) + 1)
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    red, green, blue = (linear[pixels[..., band]] for band in range(3))
    # No matrix product: its last bits would depend on the size of the block.
    x, y, z = (_bent((r * red + g * green + b * blue) / white) for (r, g, b), white in zip(TO_XYZ, WHITE))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _bent(light: Floats) -> Floats:
    return np.where(light > CUBED, np.cbrt(light), (SLOPE * light + 16) / 116)


PIECE_BYTES = 2**23
"""Bytes of float64 values per piece of a block."""

STRIP = 256
"""Most lines and columns of a piece where there may be holes: a piece with data all over takes the fast loops."""


def write_columns(
    padded: AnyArray, valid: Booleans | None, parts: tuple[str, ...], window: int | None, out: Floats, lab: bool = False
) -> None:
    """Write the columns of every pixel to `out`, all bands of one part after those of another.

    `padded` has a margin of half the window, and another pixel for gradients, beyond `out`; `valid` says which of its
    pixels hold data: the others are left out, and what is written for them is undefined. With `lab`, pixels are turned
    into colours as people see them first.

    Mean and standard deviation are those of the window around the pixel. Each window is summed on its own and about its
    own mean, so neither the size of the image or of a block nor a large mean costs digits. A gradient is the length of
    the central differences, of means if there are no values; a neighbour without data counts as the pixel itself.
    """
    margin = len(padded) - len(out)
    for own in _pieces(out.shape[:2], margin, padded.shape[2], valid is not None):
        around = tuple(slice(s.start, s.stop + margin) for s in own)
        there = None if valid is None else valid[around]
        if there is not None and not _inside(there, margin // 2).any():
            continue
        values = lab_of(padded[around]) if lab else padded[around].astype(np.float64)
        # Pixels without a hole around them have the same bits in both, so that it does not matter where a block begins.
        _write_piece(values, None if there is None or there.all() else there, parts, window, out[own])


def _pieces(shape: tuple[int, int], margin: int, bands: int, holes: bool) -> Iterator[tuple[slice, slice]]:
    """Yield the pieces of a block, as a whole block in float64 would take several times its memory."""
    sides = [max(STRIP, 4 * margin) if holes else n for n in shape]
    line_bytes = np.dtype(np.float64).itemsize * (min(sides[1], shape[1]) + margin) * bands
    sides[0] = min(sides[0], max(PIECE_BYTES // line_bytes, 4 * margin, 1))
    for y, x in itertools.product(*(range(0, n, side) for n, side in zip(shape, sides))):
        yield slice(y, min(y + sides[0], shape[0])), slice(x, min(x + sides[1], shape[1]))


def _write_piece(
    values: Floats, valid: Booleans | None, parts: tuple[str, ...], window: int | None, out: Floats
) -> None:
    radius, bands = (window or 1) // 2, values.shape[2]
    edge = (len(values) - len(out)) // 2 - radius  # one more pixel around the piece for gradients
    wide = {"value": _inside(values, radius)}
    if window:
        moments = _moments(values, window) if valid is None else _moments_with_holes(values, valid, window)
        wide["mean"], wide["deviation"] = moments
    for i, part in enumerate(parts):
        own = out[..., i * bands : (i + 1) * bands]
        if part == "gradient":
            own[:] = _gradient(wide[parts[0]], None if valid is None else _inside(valid, radius))
        else:
            own[:] = _inside(wide[part], edge)


def _moments(values: Floats, window: int) -> tuple[Floats, Floats]:
    mean, squared = values, np.zeros_like(values)
    for n in (1, window):  # first across lines, then along them
        mean, squared = _across(lambda *parts, n=n: window_moments(*parts, n, window), mean, squared)
    return mean, np.sqrt(squared / window**2)


def _moments_with_holes(values: Floats, valid: Booleans, window: int) -> tuple[Floats, Floats]:
    counts: AnyArray = np.repeat(valid[..., None].astype(np.float64), values.shape[2], axis=2)
    parts = [counts, values, np.zeros_like(values)]
    for full in (window, window**2):
        parts = _across(lambda *parts, full=full: valid_window_moments(*parts, window, full), *parts)
    counts, mean, squared = parts
    return mean, np.sqrt(squared / np.maximum(counts, 1))


def _across(moments: Callable[..., Iterable[Floats]], *parts: Floats) -> list[Floats]:
    """Return moments of windows across lines, turned so that the next call goes along lines."""
    shape = parts[0].shape
    found = moments(*(part.reshape(shape[0], -1) for part in parts))
    return [np.ascontiguousarray(part.reshape(-1, *shape[1:]).transpose(1, 0, 2)) for part in found]


def _gradient(values: Floats, valid: Booleans | None) -> Floats:
    middle, differences = values[1:-1, 1:-1], []
    for ahead, behind in (((2, 1), (0, 1)), ((1, 2), (1, 0))):
        ends = []
        for y, x in (ahead, behind):
            place = (slice(y, y + len(middle)), slice(x, x + middle.shape[1]))
            ends.append(values[place] if valid is None else np.where(valid[place][..., None], values[place], middle))
        differences.append(ends[0] - ends[1])
    return np.sqrt(differences[0] ** 2 + differences[1] ** 2) / 2


def _inside(values: AnyArray, margin: int) -> AnyArray:
    return values[margin : values.shape[0] - margin, margin : values.shape[1] - margin]
