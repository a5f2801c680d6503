"""Drawings of how far many clusterings agree."""

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Integers
from .._words import full_count
from .parts import LEFT, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_agreement(rows: Integers, ax: "Axes | None" = None) -> "Axes":
    """Draw how many rows have a label on which how many clusterings agree.

    Parameters
    ----------
    rows : array of shape (n_clusterings + 1,)
        Rows by the number of clusterings that agree with their label, as ``model.state_.confidence`` of a
        `ConsensusClustering`.
    ax : matplotlib Axes, optional
        Axes to draw on; by default those of a new figure without pyplot.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ImportError
        If Matplotlib is missing.

    Notes
    -----
    No pass.

    Examples
    --------
    >>> plot_agreement(np.array([0, 0, 10, 30])).get_title()
    'On average 92 % agree, 40 rows'
    """
    ax = new_axes(ax, (5.0, 2.8))
    shares = np.arange(len(rows)) / (len(rows) - 1)
    total = max(int(rows.sum()), 1)
    ax.bar(100 * shares, 100 * rows / total, width=80 / (len(rows) - 1), color=LEFT)
    ax.set_xlabel("clusterings that agree with the label of a row, %")
    ax.set_ylabel("rows, %")
    ax.spines[["top", "right"]].set_visible(False)
    mean = 100 * float(shares @ rows) / total
    ax.set_title(f"On average {mean:.0f} % agree, {full_count(int(rows.sum()), 'row')}", fontsize="medium")
    return ax
