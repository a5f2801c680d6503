"""Pictures such as PNG and JPEG, which Pillow decodes as a whole."""

from dataclasses import dataclass, field
from typing import Any

import fsspec  # type: ignore[import-untyped, unused-ignore]
import numpy as np

from .._locations import hiding_credentials
from .._packages import needed
from .._typing import AnyArray
from ..io.damage import naming
from ..io.nodes import Options

CHUNK = 512
"""Lines and columns of a chunk of labels; fewer lines for a low picture, so that it still has several blocks."""

LEAST_BLOCKS = 16


@dataclass(frozen=True)
class Picture:
    """A picture's path, shape and dtype; its pixels are decoded by the workers that need them.

    Parameters
    ----------
    path : str
        Path or URL.
    shape : tuple of int
        Lines, columns, bands.
    dtype : dtype
    kind : str
        For example ``"PNG"``.
    storage_options : dict, optional
    """

    path: str = field(repr=False)
    shape: tuple[int, int, int]
    dtype: np.dtype
    kind: str
    storage_options: Options = field(default=None, repr=False)

    @property
    def chunks(self) -> tuple[int, int]:
        """Return lines and columns of chunks of labels."""
        height, width, _ = self.shape
        return min(CHUNK, -(-height // LEAST_BLOCKS)), min(CHUNK, width)

    def open(self) -> AnyArray:
        """Decode the picture."""
        return decode(self.path, self.storage_options)[0]


def open_picture(path: str, storage_options: Options = None) -> Picture:
    """Decode a picture once, for its shape and dtype.

    Raises
    ------
    ValueError
        If Pillow cannot read it.
    ImportError
        If Pillow is missing.
    """
    pixels, kind = decode(path, storage_options)
    shape = (pixels.shape[0], pixels.shape[1], pixels.shape[2])
    return Picture(path, shape, pixels.dtype, kind, storage_options)


@hiding_credentials()
def decode(path: str, storage_options: Options = None) -> tuple[AnyArray, str]:
    """Return pixels of shape (lines, columns, bands), upright according to the camera, and the kind of the picture.

    Grey levels keep their 8, 16 or 32 bits; black and white is 0 and 1. Everything else is converted to red, green
    and blue of 8 bits, on white where transparent.
    """
    image = needed("PIL.Image", "images")
    opened = fsspec.open(path, "rb", **(storage_options or {}))
    expected = "expected an image, as PNG, JPEG, TIFF, OME-Zarr or a Zarr array"
    with opened as file:
        _refuse_deep_colours(path, file.read(26))
        file.seek(0)
        with naming(f"{expected}; got {path}, which cannot be read"), _opened(file, image) as picture:
            pixels = np.asarray(_plain(needed("PIL.ImageOps", "images").exif_transpose(picture), image))
            kind = str(picture.format)
    pixels = pixels.astype(np.uint8) if pixels.dtype == np.bool_ else pixels
    return (pixels if pixels.ndim == 3 else pixels[..., None]), kind


def _opened(file: Any, image: Any) -> Any:
    try:
        return image.open(file)
    except image.UnidentifiedImageError as error:  # its message has the address of the open file, another every time
        raise ValueError("it is of no kind that Pillow knows") from error


def _plain(picture: Any, image: Any) -> Any:
    if picture.has_transparency_data:
        grey = picture.mode == "LA"
        picture = picture.convert("RGBA")
        picture = image.alpha_composite(image.new("RGBA", picture.size, "white"), picture)
        return picture.convert("L" if grey else "RGB")
    return picture if picture.mode[0] in "1LIF" and picture.mode != "LAB" else picture.convert("RGB")


def _refuse_deep_colours(path: str, header: bytes) -> None:
    # Pillow would silently drop eight of the sixteen bits.
    depth, colours = header[24:25], header[25:26]
    if header.startswith(b"\x89PNG") and depth == b"\x10" and colours not in (b"\0", b"\4"):
        raise ValueError(
            f"{path} has colours of 16 bits, 8 of which would be lost: convert it to TIFF, or to colours of 8 bits"
        )
