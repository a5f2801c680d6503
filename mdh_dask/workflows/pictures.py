"""Encoding of pictures."""

import io

from PIL import Image

from .._typing import AnyArray, Integers

WIDEST = 1600
"""Most pixels on the longer side of a picture in a report."""

WIDEST_MASK = 800
"""The same for the masks of segments, of which there is one for each."""

HIDDEN = 215
"""Opacity of a mask over other segments, of 255."""


def encoded(picture: AnyArray, kind: str = "PNG", widest: int | None = None) -> bytes:
    """Return a picture as an encoded file, scaled down if it is wider or higher than `widest`."""
    image = Image.fromarray(picture)
    if widest is not None:
        image.thumbnail((widest, widest))
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=90)
    return buffer.getvalue()


def mask_of(labels: Integers, label: int) -> bytes:
    """Return a PNG that is transparent where an image has a label, and nearly black elsewhere.

    Parameters
    ----------
    labels : array of shape (lines, columns)
    label : int
    """
    step = -(-max(labels.shape) // WIDEST_MASK)
    mask = Image.fromarray((labels[::step, ::step] != label).astype("u1"))
    mask.putpalette(bytes(6))
    buffer = io.BytesIO()
    mask.save(buffer, format="PNG", bits=1, transparency=bytes([0, HIDDEN]), optimize=True)
    return buffer.getvalue()
