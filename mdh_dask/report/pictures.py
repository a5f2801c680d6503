"""Pictures of valleys and of the spectrum of a feature map as SVG paths, which are short strings."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._state import FeatureMap
from .._typing import Floats
from .._words import full_count, percent
from ..kernels.landmarks import RANK_TOLERANCE
from ..plotting.parts import has_valley, window
from ..tree.structure import NodeDensity, Tree

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
    """Pictures of an image and of its segments."""

    images: Mapping[str, bytes]
    """PNG or JPEG images of one shape by their captions."""
    masks: Sequence[bytes] = ()
    """For each cluster a PNG that hides all others, which lies over the images while the cluster is lit up; or none."""


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


WIDTH, HEIGHT = 1000, 240
"""Size of a picture in its own coordinates; the page stretches it."""

N_POINTS = 161
"""Number of points of a density in a picture."""

LEAST_SHOWN = 20
"""Least number of components in the picture, if there are that many."""

SHOWN = 2
"""Components in the picture per component of the features, unless `LEAST_SHOWN` is more."""


def picture_of(tree: Tree, node: int, density: NodeDensity, *new: NodeDensity) -> dict[str, Any]:
    """Draw the density of a node's rows along the direction of its split and, as a line, that of new rows.

    Areas are classes (``left``, ``right`` or ``whole``) and paths, the cut is the position of the valley from the left.
    """
    low, high = window(density, *new)
    at = np.linspace(low, high, N_POINTS)
    threshold = density.threshold if has_valley(tree, node) else None
    if threshold is not None:
        at = np.union1d(at, threshold)
    heights = [np.interp(at, d.position, d.density, left=0.0, right=0.0) for d in (density, *new)]
    x = WIDTH * (at - low) / (high - low)
    top = max(float(height.max()) for height in heights) or 1.0
    y, *others = (HEIGHT * (1 - 0.96 * height / top) for height in heights)
    if threshold is None or tree.left[node] < 0:
        areas = [("whole", _area(x, y))]
    else:
        left, right = at <= threshold, at >= threshold
        areas = [("left", _area(x[left], y[left])), ("right", _area(x[right], y[right]))]
    return {
        "areas": areas,
        "cut": None if threshold is None else round(WIDTH * (threshold - low) / (high - low)),
        "low": f"{low:.3g}",
        "high": f"{high:.3g}",
        "line": f"M{_points(x, others[0])}" if others else None,
    }


def _area(x: Floats, y: Floats) -> str:
    """Return the path of the area under a curve."""
    return f"M{round(x[0])},{HEIGHT}L{_points(x, y)} {round(x[-1])},{HEIGHT}Z"


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a},{b}" for a, b in zip(np.rint(x).astype(int), np.rint(y).astype(int)))


def spectrum_of(feature_map: FeatureMap) -> dict[str, Any]:
    """Draw the variances of the leading components relative to the first, and their cumulative sum.

    Areas are classes (``left``: kept, ``whole``: left out) and paths of bars; all components have a positive variance.
    """
    spectrum = feature_map.spectrum
    n_kept = len(feature_map.eigenvalues)
    n_all = max(n_kept, int(np.count_nonzero(spectrum > RANK_TOLERANCE * spectrum[0])))
    n_shown = min(n_all, max(LEAST_SHOWN, SHOWN * n_kept))
    shares = np.cumsum(spectrum) / (float(spectrum.sum()) or 1.0)
    bars = spectrum[:n_shown] / (spectrum[0] or 1.0)
    areas = [("left", _bars(bars, 0, n_kept)), ("whole", _bars(bars, n_kept, n_shown))]
    edges = np.arange(n_shown + 1) * WIDTH / n_shown
    kept = percent(float(shares[n_kept - 1]))
    n_half = int(np.searchsorted(shares, 0.5)) + 1
    words = (
        f"Variances of the first {n_shown:,} of {full_count(n_all, 'component')} in descending order: the first "
        f"{n_kept:,} are kept and explain {kept} of the variance, {n_half:,} explain half of it."
    )
    return {
        "n_kept": n_kept,
        "n_shown": n_shown,
        "n_all": n_all,
        "kept": kept,
        "areas": areas[: 1 + (n_shown > n_kept)],
        "curve": f"M{_points(edges, HEIGHT * (1 - np.concatenate([[0.0], shares[:n_shown]])))}",
        "cut": round(WIDTH * n_kept / n_shown),
        "summary": words,
    }


def _bars(heights: Floats, first: int, last: int) -> str:
    """Return the path of neighbouring bars."""
    edges = np.repeat(np.arange(first, last + 1), 2) * WIDTH / len(heights)
    tops = np.concatenate([[0.0], np.repeat(heights[first:last], 2), [0.0]])
    return f"M{_points(edges, HEIGHT * (1 - tops))}Z"
