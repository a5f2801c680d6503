"""Pictures of valleys as SVG paths, which are short strings instead of images."""

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..plotting.drift import joint_window
from ..plotting.parts import has_valley, window
from ..summaries.drift import Drift
from ..tree.structure import NodeDensity, Tree

WIDTH, HEIGHT = 1000, 240
"""Size of a picture in its own coordinates; the page stretches it."""

N_POINTS = 161
"""Number of points of a density in a picture."""


@dataclass(frozen=True)
class Picture:
    """The density of a node, in coordinates of the page.

    Parameters
    ----------
    areas : tuple of (str, str)
        Class (``left``, ``right`` or ``whole``) and path of the filled areas.
    cut : int or None
        Position of the valley from the left, or None.
    low, high : str
        Projections at both ends of the axis.
    line : str or None
        Path of the density of new rows.
    """

    areas: tuple[tuple[str, str], ...]
    cut: int | None
    low: str
    high: str
    line: str | None = None


def picture_of(tree: Tree, node: int) -> Picture | None:
    """Draw the density of a node's rows along the direction of its split; return None if the tree holds none."""
    density = tree.density(node)
    return None if density is None else _drawn(tree, node, density, window(density))


def overlay_of(drift: Drift, node: int) -> Picture | None:
    """Draw the density of a node's old rows and, as a line, of its new rows; return None if there is none."""
    densities = drift.densities(node)
    return None if densities is None else _drawn(drift.old, node, densities[0], joint_window(*densities), densities[1])


def _drawn(
    tree: Tree, node: int, density: NodeDensity, ends: tuple[float, float], other: NodeDensity | None = None
) -> Picture:
    low, high = ends
    at = np.linspace(low, high, N_POINTS)
    threshold = density.threshold if has_valley(tree, node) else None
    if threshold is not None:
        at = np.union1d(at, threshold)
    heights = [np.interp(at, d.position, d.density, left=0.0, right=0.0) for d in (density, other) if d is not None]
    x = WIDTH * (at - low) / (high - low)
    top = max(float(height.max()) for height in heights) or 1.0
    y, *others = (HEIGHT * (1 - 0.96 * height / top) for height in heights)
    if threshold is None or tree.left[node] < 0:
        areas: tuple[tuple[str, str], ...] = (("whole", _area(x, y)),)
    else:
        left, right = at <= threshold, at >= threshold
        areas = (("left", _area(x[left], y[left])), ("right", _area(x[right], y[right])))
    cut = None if threshold is None else round(WIDTH * (threshold - low) / (high - low))
    line = f"M{_points(x, others[0])}" if others else None
    return Picture(areas, cut, f"{low:.3g}", f"{high:.3g}", line)


def _area(x: Floats, y: Floats) -> str:
    """Return the path of the area under a curve."""
    return f"M{round(x[0])},{HEIGHT}L{_points(x, y)} {round(x[-1])},{HEIGHT}Z"


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a},{b}" for a, b in zip(np.rint(x).astype(int), np.rint(y).astype(int)))
