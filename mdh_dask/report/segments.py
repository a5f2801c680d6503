"""Pictures of an image's segments, in which a click lights one up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


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
