"""The page's section on drift: tables, alarms, and densities of old and new rows."""

from dataclasses import dataclass

import numpy as np

from .._words import full_count
from ..plotting.parts import node_name
from ..summaries.drift import Drift
from ..summaries.tables import (
    CLUSTER_COLUMNS,
    LEVEL_COLUMNS,
    SPLIT_COLUMNS,
    change_text,
    cluster_cells,
    level_cells,
    split_cells,
)
from .pictures import Picture, overlay_of

MAX_OVERLAYS = 40
"""Number of nodes whose densities are drawn: those of the largest distance."""


@dataclass(frozen=True)
class Overlay:
    """The densities of old and new rows at a node.

    name: name of the node.
    summary: description of the picture.
    """

    name: str
    facts: str
    picture: Picture
    summary: str


@dataclass(frozen=True)
class Cells:
    """A table."""

    caption: str
    columns: tuple[str, ...]
    rows: list[list[str]]


@dataclass(frozen=True)
class Differences:
    """The content of the section on drift.

    n_left_out: number of nodes whose densities are not drawn.
    """

    headline: str
    alarms: tuple[str, ...]
    tables: list[Cells]
    overlays: list[Overlay]
    n_left_out: int

    @property
    def has_bounds(self) -> bool:
        """Whether any cell has a lower confidence bound in brackets."""
        return any("(" in cell for table in self.tables for row in table.rows for cell in row)


def differences_of(drift: Drift) -> Differences:
    """Return the content of the section on drift."""
    n_old, n_new = drift.n_rows
    found = "Drift" if drift.found else "No drift"
    headline = f"{found} among {full_count(n_new, 'new row')}, compared with {full_count(n_old, 'row')} of the model."
    known = np.flatnonzero(np.diff(drift.old.first_bin)).tolist()
    order = sorted(known, key=lambda node: -np.nan_to_num(drift.at(node).distance.value, nan=np.inf))
    overlays = [overlay for node in order[:MAX_OVERLAYS] if (overlay := _overlay(drift, node)) is not None]
    splits = Cells("Splits", SPLIT_COLUMNS, split_cells(drift))
    clusters = Cells("Clusters", CLUSTER_COLUMNS, cluster_cells(drift))
    levels = Cells("Levels of columns", LEVEL_COLUMNS, level_cells(drift))
    tables = [table for table in (splits, clusters, levels) if table.rows]
    return Differences(headline, drift.alarms, tables, overlays, len(known) - len(overlays))


def _overlay(drift: Drift, node: int) -> Overlay | None:
    picture = overlay_of(drift, node)
    if picture is None:
        return None
    change, name = drift.at(node), node_name(drift.old, node).replace("node", "split")
    n_old, n_new = change.rows
    facts = f"{full_count(n_old, 'row')} old, {n_new:,} new, distance {change_text(change.distance)}"
    return Overlay(name.capitalize(), facts, picture, f"Densities of the old and new rows of {name}: {facts}.")
