"""Images inside the page, as data URLs."""

from base64 import b64encode
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from .._words import full_count
from .segments import Segments

MEDIA_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""Formats of images that can be embedded, by their first bytes."""


def all_embedded(images: Mapping[str, bytes | str | PathLike[str]]) -> dict[str, str]:
    """Return images by their captions as data URLs."""
    return {caption: _embedded(caption, image) for caption, image in images.items()}


def embedded_segments(segments: Segments, n_clusters: int) -> dict[str, Any]:
    """Return the pictures of a segmented image, and the masks of its clusters, as data URLs."""
    if len(segments.masks) not in (0, n_clusters):
        raise ValueError(
            f"expected no mask, or one for each of {full_count(n_clusters, 'cluster')}; got {len(segments.masks)}"
        )
    masks = [_embedded(f"mask of cluster {label}", mask) for label, mask in enumerate(segments.masks)]
    return {"images": all_embedded(segments.images), "masks": masks}


def _embedded(caption: str, image: bytes | str | PathLike[str]) -> str:
    """Return the image as a data URL."""
    content = image if isinstance(image, bytes) else Path(image).read_bytes()
    for first, media_type in MEDIA_TYPES.items():
        if content.startswith(first):
            return f"data:{media_type};base64,{b64encode(content).decode('ascii')}"
    raise ValueError(f"image {caption!r} is neither PNG nor JPEG; it begins with {content[:8]!r}: convert it to PNG")
