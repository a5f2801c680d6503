"""Pictures of valleys as paths of scalable vector graphics: a hundred short strings instead of a hundred images."""

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..plotting.parts import has_valley, window
from ..tree.structure import Tree

WIDTH, HEIGHT = 1000, 240
"""Of the coordinates of a picture; the page stretches it."""

N_POINTS = 161
"""Points of a density in a picture."""


@dataclass(frozen=True)
class Picture:
    """The density of a node, in coordinates of the page.

    Parameters
    ----------
    areas : tuple of (str, str)
        Class (``left``, ``right`` or ``whole``) and path of the filled areas.
    cut : int or None
        Where the valley is, from the left; None where there is none.
    low, high : str
        Projections at both ends.
    """

    areas: tuple[tuple[str, str], ...]
    cut: int | None
    low: str
    high: str


def picture_of(tree: Tree, node: int) -> Picture | None:
    """Draw the density of a node's rows along the direction of its split; None where the tree holds none."""
    density = tree.density(node)
    if density is None:
        return None
    low, high = window(density)
    at = np.linspace(low, high, N_POINTS)
    threshold = density.threshold if has_valley(tree, node) else None
    if threshold is not None:
        at = np.union1d(at, threshold)
    height = np.interp(at, density.position, density.density, left=0.0, right=0.0)
    x = WIDTH * (at - low) / (high - low)
    y = HEIGHT * (1 - 0.96 * height / (height.max() or 1.0))
    if threshold is None or tree.left[node] < 0:
        areas: tuple[tuple[str, str], ...] = (("whole", _area(x, y)),)
    else:
        left, right = at <= threshold, at >= threshold
        areas = (("left", _area(x[left], y[left])), ("right", _area(x[right], y[right])))
    cut = None if threshold is None else round(WIDTH * (threshold - low) / (high - low))
    return Picture(areas, cut, f"{low:.3g}", f"{high:.3g}")


def _area(x: Floats, y: Floats) -> str:
    """Return the path of the area under a curve."""
    points = " ".join(f"{a},{b}" for a, b in zip(np.rint(x).astype(int), np.rint(y).astype(int)))
    return f"M{round(x[0])},{HEIGHT}L{points} {round(x[-1])},{HEIGHT}Z"
