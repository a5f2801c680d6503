"""The lines along which a pass counts rows in slabs, to test the merges that the sample shows on all of them.

Balls hold few of the rows along a cut, and so do not confirm all valleys that slabs show.
"""

import numpy as np

from .._jit.lines import Lines
from .._typing import Floats, Integers
from ..valleys.landmarks import members_of
from ..valleys.lines import WIDTHS, drawn_lines, errors_in_slabs, no_lines, rows_in_slabs
from ..valleys.structure import Structure, span_of
from .places import IN_CORE, ON_CUT, Places, weighted_errors

BOTH = np.array([[0, 1]])
"""The only pair of groups: the two sides of a link."""


def lines_of(points: Floats, structure: Structure, again: Places) -> Lines:
    """Return for each link that is tested again the line whose slabs show most of it in the sample, shape (n_links, 1).

    There is none for links that the sample does not show.

    points (n_rows, n_columns) float64: the sample, whose rows choose lines; others are counted.
    """
    found, span = no_lines(len(again.links), 1, points.shape[1]), span_of(points)
    rows = span.of(points)
    for i in np.flatnonzero(again.shown):
        on_cut = np.flatnonzero((again.test == 2 * i) & (again.weight < 0))
        members = members_of(structure.sides[again.links[i]][structure.cell], 2)
        lines = drawn_lines(rows, span.of(again.places[on_cut[:1]]), members, BOTH, few_columns=True)
        strongest = errors_in_slabs(rows_in_slabs(rows, lines)[0]).min(axis=-1).max(axis=-1).argmax()
        found.direction[i, 0] = span.direction(lines.direction[0, strongest])
        found.middle[i, 0] = span.point(lines.middle[0, strongest])
        found.ends[i, 0], found.radius[i, 0] = lines.ends[0, strongest], lines.radius[0, strongest]
    return found


def against_the_cut(in_slabs: Integers) -> tuple[Floats, Integers]:
    """Return by how many standard errors the weighted rows at each end of a line exceed those between, and the rows.

    in_slabs (n_links, 1, n_widths, 3): rows in the slabs of `lines_of`.

    Returns
    -------
    errors : array of shape (2 * n_links, n_widths)
        Minus infinity for links without a line.
    rows : array of shape (2 * n_links, n_widths, 2)
    """
    ends, between = in_slabs[:, 0][..., [0, 2]], in_slabs[:, 0][..., [1, 1]]
    rows = np.moveaxis(np.stack([ends, between], axis=-1), 2, 1).reshape(-1, len(WIDTHS), 2)
    return np.where(rows.any(axis=-1), weighted_errors(rows, IN_CORE, ON_CUT), -np.inf), rows
