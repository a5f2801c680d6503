"""Photographs as arrays and files."""

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from sklearn.datasets import load_sample_image

from .._typing import AnyArray, Integers

SAMPLE_IMAGES = {"flower": "vultilion", "china": "danielbuechele"}
"""Photographs that scikit-learn holds, and who took them (Creative Commons, CC BY 2.0)."""

WIDEST = 1600
"""Pixels of the longer side of a picture in a report."""


def read_picture(image: str) -> AnyArray:
    """Return a picture as rows x columns x red, green and blue, uint8: one of scikit-learn's, or a file.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If the file is not a picture that Pillow reads.
    """
    if image in SAMPLE_IMAGES:
        return load_sample_image(f"{image}.jpg")
    if not Path(image).is_file():
        raise FileNotFoundError(f"expected {', '.join(map(repr, SAMPLE_IMAGES))} or a picture's path; got {image!r}")
    try:
        with Image.open(image) as picture:
            return np.asarray(_as_rgb(ImageOps.exif_transpose(picture)))
    except (UnidentifiedImageError, OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"expected a picture, as PNG or JPEG; got {image!r}, which cannot be read: {error}") from error


def _as_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode[0] in "IF":  # one channel of 16 or 32 bits
        values = np.asarray(picture, dtype=np.float64)
        low, high = values.min(), values.max()
        picture = Image.fromarray(np.uint8(255 * (values - low) / ((high - low) or 1)))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB")


def mean_colours(pixels: AnyArray, labels: Integers, n_labels: int) -> Integers:
    """Return the mean colour of every segment, shape (n_labels, 3) (thesis section 4.4.5)."""
    sizes = np.maximum(np.bincount(labels, minlength=n_labels), 1)
    means = [np.bincount(labels, weights=band, minlength=n_labels) / sizes for band in pixels.T]
    return np.rint(means).T.astype(np.uint8)


def encoded(picture: AnyArray, kind: str = "PNG", widest: int | None = None) -> bytes:
    """Return a picture as the contents of a file, made smaller if it is wider or higher than `widest`."""
    image = Image.fromarray(picture)
    if widest is not None:
        image.thumbnail((widest, widest))
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=90)
    return buffer.getvalue()
