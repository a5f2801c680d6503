"""Colours of pictures as people see them: lightness, redness and yellowness."""

import numpy as np

from .._typing import AnyArray, Floats

LAB_BANDS = ("lightness", "redness", "yellowness")
"""Names of the bands of CIE L*a*b*."""

LAB_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16))
"""Dtypes of pictures, which say what white is."""

TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
"""From linear sRGB to CIE XYZ under daylight, D65 (IEC 61966-2-1)."""

WHITE = (0.95047, 1.0, 1.08883)

CUBED, SLOPE = 216 / 24389, 24389 / 27
"""Where the cube root begins, and the slope of the line below (CIE 15:2004)."""


def lab_of(pixels: AnyArray) -> Floats:
    """Return the colours of an sRGB picture in CIE L*a*b*, whose distances are close to those that people see.

    Parameters
    ----------
    pixels : array of shape (..., 3), uint8 or uint16
        Red, green and blue.

    Returns
    -------
    array of shape (..., 3), float64
        Lightness from 0 to 100, redness (below zero: greenness), yellowness (below zero: blueness).

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
