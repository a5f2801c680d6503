"""Images of any size, with pixels as rows and labels as images."""

from .features import Features
from .image import Image
from .labels import write_labels
from .opening import open_image
from .rows import pixel_rows
from .scenes import PixelColumns

__all__ = ["Features", "Image", "PixelColumns", "open_image", "pixel_rows", "write_labels"]
