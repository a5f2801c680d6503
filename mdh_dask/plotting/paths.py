"""Drawings of the path of a pursuit: the density along its direction at each step."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._typing import AnyArray, Integers
from ..projections.thesis import PathPoint
from ..tree.structure import NodeDensity
from .parts import GREY, INK, bare_axes, fill_sides, new_figure, window

MAX_PANELS, PANELS_IN_ROW = 8, 4
"""Number of points drawn by default, and panels side by side."""

HEADROOM = 1.1
"""Height of a panel relative to the highest density."""

LINES: dict[str, dict[str, Any]] = {
    "density": {"color": INK, "linewidth": 1.2},
    # Below the density, so that it is visible only where it exceeds the density.
    "density and penalty": {"color": GREY, "linewidth": 1.4, "linestyle": "--", "zorder": 1.5},
    "mean ± alpha sd": {"color": GREY, "linewidth": 4, "solid_capstyle": "butt"},
    "split": {"color": INK, "linewidth": 1.5, "zorder": 3},
    "split that only the penalty holds": {"color": INK, "linewidth": 1.5, "linestyle": ":", "zorder": 3},
}
"""Styles of the lines, by their names in the legend."""


def plot_mdh_path(path: Any, steps: Sequence[int] | None = None, axes: Any = None) -> AnyArray:
    """Draw the pursuit of a minimum density hyperplane at several values of alpha, side by side.

    Each panel shows the density along the current direction, with its two sides in two colours, the density plus the
    penalty as a dashed line, which is least at the split, and the bounds without penalty as a bar at the top. The line
    of the split is dotted where only the penalty holds it: the result of the pursuit is the last point after the start
    that is not dotted. All panels share one scale.

    Parameters
    ----------
    path : sequence of PathPoint, or MinimumDensityHyperplane
        All points of a pursuit, the start first; a fitted estimator has them as `path_`.
    steps : sequence of int, optional
        Indices of the points to draw, from the end if negative; by default up to eight, or as many as
        there are axes, evenly spaced from the first to the last.
    axes : matplotlib Axes or array of them, optional
        Axes to draw on, one for each point; by default those of a new figure without pyplot, with a legend.

    Returns
    -------
    ndarray of shape (n_steps,) of matplotlib Axes

    Raises
    ------
    IndexError
        If the path has no such step.
    TypeError
        If `path` does not hold the points of a pursuit.
    ValueError
        If the path is empty, the estimator has none, `steps` is not a list of integers, or the number of axes differs.

    Notes
    -----
    No pass: the points hold the densities. The axes leave out at most 0.05 % of each density at either
    end. Source: figure 5 of Pavlidis, Hofmeyr and Tasoulis, JMLR 17(156), 2016.

    Examples
    --------
    >>> from mdh_dask import MinimumDensityHyperplane
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) + np.repeat([[-3.0, 0.0], [3.0, 0.0]], 200, axis=0)
    >>> axes = plot_mdh_path(MinimumDensityHyperplane(alpha_max=0.9).fit(X))
    >>> [ax.get_title().split(",")[0] for ax in axes[[0, 1, -1]]]
    ['start: alpha = 0.01', 'alpha = 0.10', 'alpha = 0.90']
    """
    points = _points_of(path)
    given = None if axes is None else np.ravel(axes)
    chosen = _chosen(len(points), steps, MAX_PANELS if given is None else len(given))
    if given is not None and len(given) != len(chosen):
        raise ValueError(f"{len(chosen)} steps are drawn on as many axes; got {len(given)}: give as many, or none")
    view = _common_view(points)
    panels = _new_panels(len(chosen)) if given is None else given
    for ax, step in zip(panels, chosen):
        _draw_point(ax, points, step, view)
    return panels


def _points_of(path: Any) -> Sequence[PathPoint]:
    name = type(path).__name__
    if hasattr(path, "fit") and not hasattr(path, "path_"):
        raise ValueError(
            f"expected the path of a pursuit, or a MinimumDensityHyperplane after fit; got {name} without path_: "
            "call fit (a model that was loaded has no path)"
        )
    points = getattr(path, "path_", path)
    kinds = {type(point) for point in points} if isinstance(points, Sequence) else {type(points)}
    if not all(issubclass(kind, PathPoint) for kind in kinds):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"expected the points of a pursuit, or a MinimumDensityHyperplane; got {found}: give a model, or its path_"
        )
    if not points:
        raise ValueError(
            "expected a path of at least one point; got an empty one, as there is nothing to pursue where all rows are "
            "equal: fit rows that differ"
        )
    return points


def _chosen(n_points: int, steps: Sequence[int] | None, most: int) -> Integers:
    if steps is None:
        return np.linspace(0, n_points - 1, min(n_points, most)).round().astype(int)
    chosen = np.asarray(steps)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"steps must be a list of integers, such as [0, 3, -1], got {steps!r}")
    outside = chosen[(chosen < -n_points) | (chosen >= n_points)]
    if len(outside):
        raise IndexError(f"the steps of this path are 0 to {n_points - 1}, or negative from its end; got {outside[0]}")
    return chosen % n_points


def _common_view(points: Sequence[PathPoint]) -> tuple[float, float, float]:
    """Return the common limits of all densities: left and right of their means, and the height."""
    ends = np.array([window(NodeDensity(p.position, p.density, p.offset)) for p in points])
    low, high = (ends - np.array([[_mean(p)] for p in points])).T
    return float(low.min()), float(high.max()), HEADROOM * max(float(p.density.max()) for p in points)


def _mean(point: PathPoint) -> float:
    return sum(point.bounds) / 2


def _new_panels(n: int) -> AnyArray:
    """Return `n` axes of a new figure below a legend."""
    n_rows = -(-n // PANELS_IN_ROW)
    n_columns = -(-n // n_rows)
    width, height = (6.4, 3.2) if n == 1 else (3.3, 2.2)
    figure = new_figure((width * n_columns, height * n_rows + 0.6))
    figure.supxlabel("projection on the direction of the pursuit", fontsize="medium")
    _draw_legend(figure, ncols=5 if n_columns > 2 else 3)
    return np.array([figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n)])


def _draw_point(ax: Any, points: Sequence[PathPoint], step: int, view: tuple[float, float, float]) -> None:
    point, (low, high, top) = points[step], view
    inside = point.bounds[0] <= point.offset <= point.bounds[1]
    bare_axes(ax)
    fill_sides(ax, point.position, point.density, point.offset)
    ax.plot(point.position, point.density, **LINES["density"])
    ax.plot(point.position, point.penalised, **LINES["density and penalty"])
    ax.plot(point.bounds, [0.98 * top] * 2, **LINES["mean ± alpha sd"])
    ax.axvline(point.offset, **LINES["split" if inside else "split that only the penalty holds"])
    ax.set_xlim(_mean(point) + low, _mean(point) + high)
    ax.set_ylim(0, top)
    ax.locator_params(axis="x", nbins=6)
    ax.tick_params(labelsize="small")
    density = f"{np.interp(point.offset, point.position, point.density):#.2g}".rstrip(".")
    title = f"alpha = {point.alpha:.2f}, density on the split {density}"
    ax.set_title(title if step else f"start: {title}", fontsize="small")


def _draw_legend(figure: Any, ncols: int) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **line) for label, line in LINES.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=ncols, frameon=False, fontsize="small")
