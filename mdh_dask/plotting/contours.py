"""Drawings of support vector clustering: the contours of two columns, and the sweep over the width of the kernel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import AnyArray, Floats
from .._words import full_count
from ..support_vectors.dual import SLACK
from .parts import GREY, INK, check_drawn, new_axes, new_figure, shown, two_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 240
"""Points along each axis at which the sum of kernels is computed."""

SHOWN = 0.005
"""Share of the points at either end of a column that may lie beyond the axes: a single far row must not fill them."""

MARGIN, WIDEST_MARGIN = 0.08, 0.25
"""Least and largest space beside the points, as shares of their range; between these, the reach of the kernel."""

SHARE_COLOURS = ("#2a6fbb", "#e07b1a", "#3a923a", "#8c4fa8", "#5b4a3f", "#c44e7b")
"""Colours of shares outside, in ascending order."""


def plot_contours(contours: Any, ax: "Axes | None" = None, names: Sequence[str] | None = None) -> "Axes":
    """Draw the contour of a support vector clustering of two columns, each cluster in its own colour.

    Dots are rows, or landmarks if there are more rows; rings are support vectors on the contour, crosses those outside.

    Parameters
    ----------
    contours : SupportVectorClustering
        A fitted model.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.
    names : sequence of two str, optional
        Names of the columns; by default those of the fitted rows.

    Returns
    -------
    matplotlib Axes
        In units of the raw columns. Axes leave out at most 0.5 % of the points at either end of a column.

    Notes
    -----
    No pass. Source: figures 1 and 3 of Ben-Hur, Horn, Siegelmann and Vapnik, JMLR 2, 2001.

    Examples
    --------
    >>> from mdh_dask import SupportVectorClustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) + np.repeat([[-4.0, 0.0], [4.0, 0.0]], 100, axis=0)
    >>> model = SupportVectorClustering(width=1.0, share_outside=0.1).fit(X)
    >>> plot_contours(model).get_title().split(",")[0]
    '2 clusters'
    """
    given, contours = contours, getattr(contours, "state_", contours)
    names = getattr(given, "feature_names_in_", None) if names is None else names
    check_drawn(given, "a fitted SupportVectorClustering", hasattr(contours, "vectors"))
    if contours.n_features != 2:
        raise ValueError(
            f"expected contours of two columns; got {contours.n_features}. Fit two columns, for example two principal "
            "components, to draw them."
        )
    ax = new_axes(ax, (5.4, 4.6))
    varies = contours.scale > 0
    unit = np.divide(1.0, contours.scale, out=np.zeros(2), where=varies)
    points, vectors = (part * unit + contours.centre for part in (contours.points, contours.vectors))
    at = [np.linspace(*_limits(points[:, j], unit[j] / np.sqrt(contours.width)), GRID) for j in (0, 1)]
    grid = np.column_stack([side.ravel() for side in np.meshgrid(*at)])
    totals, labels = contours.totals(grid), contours.labels(grid)
    for label in range(contours.n_clusters):
        own = np.where(labels == label, totals, 0.0).reshape(GRID, GRID)
        if own.max() > contours.level:
            ax.contourf(*at, own, levels=[contours.level, np.inf], colors=[f"C{label % 10}"], alpha=0.25)
    if totals.min() < contours.level < totals.max():
        ax.contour(*at, totals.reshape(GRID, GRID), levels=[contours.level], colors=INK, linewidths=0.9)
    colours = [GREY if label < 0 else f"C{label % 10}" for label in contours.point_labels]
    ax.scatter(points[:, 0], points[:, 1], s=9 if len(points) < 1000 else 4, c=colours, linewidths=0)
    outside = contours.totals(vectors) < contours.level * (1 - SLACK)
    ax.plot(*vectors[~outside].T, "o", mfc="none", mec=INK, ms=6, mew=0.8)
    ax.plot(*vectors[outside].T, "x", color=GREY, ms=4, mew=0.8)
    ax.set(xlim=at[0][[0, -1]], ylim=at[1][[0, -1]])
    ax.set(**dict(zip(("xlabel", "ylabel"), two_names(names))))
    on_contour = full_count(int((~outside).sum()), "support vector")
    title = f"{full_count(contours.n_clusters, 'cluster')}, q = {contours.width:.3g}, {on_contour}"
    ax.set_title(title, fontsize="medium")
    return ax


def plot_sweep(sweep: Any, axes: Any = None) -> AnyArray:
    """Draw what a sweep over the width of the kernel found: support vectors, clusters and their persistence.

    Each share of the rows outside has its colour. Vertical lines are the widths at which the chosen share shows another
    number of clusters; the star is the chosen width, rings are numbers of clusters that held-out rows confirm.

    Parameters
    ----------
    sweep : SupportVectorClustering or ndarray of records
        A fitted model, or its `sweep_`.
    axes : array of three matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Returns
    -------
    ndarray of shape (3,) of matplotlib Axes
        Numbers of support vectors, of clusters, and persistence in doublings of the width, against the width. A
        notebook shows the figure by its first axes, ``plot_sweep(model)[0]``.

    Notes
    -----
    No pass. Source: figure 2 of Ben-Hur, Horn, Siegelmann and Vapnik, JMLR 2, 2001.

    Examples
    --------
    >>> from mdh_dask import SupportVectorClustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) + np.repeat([[-4.0, 0.0], [4.0, 0.0]], 200, axis=0)
    >>> [ax.get_ylabel() for ax in plot_sweep(SupportVectorClustering().fit(X))]
    ['support vectors', 'clusters', 'persistence']
    """
    given, sweep = sweep, getattr(sweep, "sweep_", sweep)
    check_drawn(
        given,
        "a fitted SupportVectorClustering, or its sweep_",
        isinstance(sweep, np.ndarray) and sweep.dtype.names is not None,
    )
    if len(sweep) == 0:
        raise ValueError("expected at least one step of a sweep; got none: fit with width='sweep'")
    from matplotlib.ticker import LogLocator, NullFormatter

    panels = new_figure((5.4, 5.6)).subplots(3, 1, sharex=True) if axes is None else np.ravel(axes)
    if axes is None:
        shown(panels[0])
    if len(panels) != 3:
        raise ValueError(f"a sweep is drawn on three axes; got {len(panels)}: give three, or none")
    columns = ("n_support", "n_clusters", "persistence")
    chosen = sweep["outliers"][sweep["chosen"]][0]
    for k, share in enumerate(np.unique(sweep["outliers"])):
        steps = np.sort(sweep[sweep["outliers"] == share], order="width")
        colour = SHARE_COLOURS[k % len(SHARE_COLOURS)]
        for ax, column in zip(panels, columns):
            ax.plot(
                steps["width"], steps[column], color=colour, marker=".", ms=5, lw=1.1, label=f"{share:.0%}",
                zorder=2 + (share == chosen),
            )  # fmt: skip
        tested = steps[steps["n_confirmed"] > 0]
        panels[1].plot(tested["width"], tested["n_confirmed"], "o", mfc="none", mec=colour, ms=9)
    _mark_choice(panels, sweep, columns)
    for ax, label in zip(panels, ("support vectors", "clusters", "persistence")):
        ax.set(xscale="log", ylabel=label, ylim=(0, None))
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
        ax.xaxis.set_major_formatter(lambda width, _: f"{width:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.spines[["top", "right"]].set_visible(False)
    panels[1].yaxis.get_major_locator().set_params(integer=True)
    panels[-1].set_xlabel("q, the width of the kernel")
    panels[0].legend(title="outside", fontsize="small", title_fontsize="small", frameon=False)
    return panels


def _mark_choice(panels: AnyArray, sweep: AnyArray, columns: Sequence[str]) -> None:
    chosen = sweep[sweep["chosen"]][0]
    steps = np.sort(sweep[sweep["outliers"] == chosen["outliers"]], order="width")
    splits = steps["width"][1:][np.diff(steps["n_clusters"]) != 0]
    for ax, column in zip(panels, columns):
        for width in splits:
            ax.axvline(width, color=GREY, lw=0.7, ls=":", zorder=0)
        ax.plot(chosen["width"], chosen[column], "*", color=INK, ms=11, zorder=4)


def _limits(column: Floats, reach: float) -> tuple[float, float]:
    low, high = np.quantile(column, [SHOWN, 1 - SHOWN])
    margin = (
        float(np.clip(reach, MARGIN * (high - low), WIDEST_MARGIN * (high - low))) if high > low else max(reach, 1e-9)
    )
    return float(max(low - margin, column.min() - margin)), float(min(high + margin, column.max() + margin))
