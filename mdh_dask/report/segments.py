"""What a report is given beside a model: sizes, scenes, images and the segments of an image, embedded as data URLs."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from .._words import full_count

MEDIA_TYPES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
"""Formats of images that can be embedded, by their first bytes."""


class SceneTable(NamedTuple):
    """The names of columns, and a row of texts for every scene."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Sizes(NamedTuple):
    """The clusters of a model without a tree."""

    n_rows: Sequence[int]
    """Rows of every cluster, from the lowest label."""
    lowest: int
    n_features: int


@dataclass(frozen=True)
class Segments:
    """Pictures of an image and of its segments.

    Parameters
    ----------
    images : mapping of str to bytes
        PNG or JPEG images of one shape and their captions.
    masks : sequence of bytes
        For each cluster a PNG that hides all others, which lies over the images while the cluster is lit up; or none.
    """

    images: Mapping[str, bytes]
    masks: Sequence[bytes] = ()


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
