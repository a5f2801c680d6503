"""Encoding of pictures."""

import io

from PIL import Image

from .._typing import AnyArray

WIDEST = 1600
"""Most pixels on the longer side of a picture in a report."""


def encoded(picture: AnyArray, kind: str = "PNG", widest: int | None = None) -> bytes:
    """Return a picture as an encoded file, scaled down if it is wider or higher than `widest`."""
    image = Image.fromarray(picture)
    if widest is not None:
        image.thumbnail((widest, widest))
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=90)
    return buffer.getvalue()
