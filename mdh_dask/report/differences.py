"""The page's sections on what changed: drift, with densities of old and new rows, and the history of clusters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._words import full_count, p_text
from ..plotting.parts import node_name
from ..summaries.drift import Drift
from ..summaries.history import BORN, MERGED, SPLIT, STAYS, History
from ..summaries.tables import (
    CLUSTER_COLUMNS,
    LEVEL_COLUMNS,
    SPLIT_COLUMNS,
    change_text,
    cluster_cells,
    level_cells,
    split_cells,
)
from ..tree.structure import NodeDensity
from .pictures import picture_of

MAX_OVERLAYS = 40
"""Number of nodes whose densities are drawn: those of the largest distance."""


def differences_of(drift: Drift) -> dict[str, Any]:
    """Return the content of the section on drift; tables are captions, columns and rows."""
    n_old, n_new = drift.n_rows
    found = "Drift" if drift.found else "No drift"
    headline = f"{found} among {full_count(n_new, 'new row')}, compared with {full_count(n_old, 'row')} of the model."
    known = np.flatnonzero(np.diff(drift.old.first_bin)).tolist()
    order = sorted(known, key=lambda node: -np.nan_to_num(drift.at(node).distance.value, nan=np.inf))
    found_at = ((node, drift.densities(node)) for node in order[:MAX_OVERLAYS])
    overlays = [_overlay(drift, node, *densities) for node, densities in found_at if densities is not None]
    splits, clusters = split_cells(drift), cluster_cells(drift)
    tables = [
        ("Splits", SPLIT_COLUMNS, splits),
        ("Clusters", CLUSTER_COLUMNS, clusters),
        ("Levels of columns", LEVEL_COLUMNS, level_cells(drift)),
    ]
    return {
        "headline": headline,
        "alarms": drift.alarms,
        "tables": [table for table in tables if table[2]],
        "has_bounds": any("(" in cell for row in [*splits, *clusters] for cell in row),
        "overlays": overlays,
        "n_left_out": len(known) - len(overlays),
    }


def _overlay(drift: Drift, node: int, old: NodeDensity, new: NodeDensity) -> dict[str, Any]:
    """Return the densities of old and new rows at a node, and a description of their picture."""
    change, name = drift.at(node), node_name(drift.old, node).replace("node", "split")
    n_old, n_new = change.rows
    facts = f"{full_count(n_old, 'row')} old, {n_new:,} new, distance {change_text(change.distance)}"
    return {
        "name": name.capitalize(),
        "facts": facts,
        "picture": picture_of(drift.old, node, old, new),
        "summary": f"Densities of the old and new rows of {name}: {facts}.",
    }


WIDTH, HEIGHT = 1000.0, 260.0

GAP = 0.012
"""Space between two bands, as a share of the height."""

MOST_NIGHTS, MOST_EVENTS = 90, 40
"""Nights that are drawn, and events that are listed: the last ones."""

ENDED = "#9aa0a6"
"""Colour of bands that have ended."""


def river_of(history: History, colours: Mapping[int, str]) -> dict[str, Any] | None:
    """Return the river of a history of several nights, None of one.

    colours: colours of the clusters that are there, by their ids.
    """
    last = history.night
    if last == 0:
        return None
    first = max(last + 1 - MOST_NIGHTS, 0)
    places = _places(history, first)
    bands = [_band(history, places, own, (first, last), colours) for own in sorted({own for own, _ in places})]
    changed = [one for one in history.to_records() if one["event"] != "stays" and one["night"]]
    for one in changed:
        one["p_value"] = "" if one["p_value"] != one["p_value"] else p_text(one["p_value"])
        one["before"] = "" if one["share_before"] != one["share_before"] else f"{100 * one['share_before']:.1f} %"
    return {
        "bands": bands,
        "first": first,
        "last": last,
        "events": changed[::-1][:MOST_EVENTS],
        "n_left_out": max(len(changed) - MOST_EVENTS, 0),
    }


def _places(history: History, first: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the upper and lower ends of the bands by id and night; parts of a cluster lie beside each other."""
    lineage: dict[int, tuple[int, ...]] = {}
    by_night: dict[int, list[tuple[int, float]]] = {}
    for (night, kind, own, other), (rows, total) in zip(history.events.tolist(), history.counts.tolist()):
        if kind in (BORN, STAYS, SPLIT):
            lineage.setdefault(own, (*(lineage.get(other, ()) if kind == SPLIT else ()), own))
            if night >= first:
                by_night.setdefault(night, []).append((own, max(rows, 0) / max(total, 1)))  # of unknown counts: none
    places = {}
    for night, held in by_night.items():
        top, free = 0.0, 1 - GAP * (len(held) - 1)
        for own, share in sorted(held, key=lambda pair: lineage[pair[0]]):
            places[own, night] = (top, top + share * free)
            top += share * free + GAP
    return places


def _band(
    history: History,
    places: Mapping[tuple[int, int], tuple[float, float]],
    own: int,
    nights: tuple[int, int],
    colours: Mapping[int, str],
) -> dict[str, Any]:
    """Return the band of an id; a new one begins, and one that ends does, at a point of the night before or after."""
    first, last = nights
    there = sorted(night for other, night in places if other == own)
    points = [(float(night), *places[own, night]) for night in there]
    ends = {kind: other for _, kind, name, other in history.events.tolist() if name == own and kind in (SPLIT, MERGED)}
    if there[0] > first:
        points.insert(0, _point(places, ends.get(SPLIT, own), there[0] - 1, points[0]))
    if there[-1] < last:
        points.append(_point(places, ends.get(MERGED, own), there[-1] + 1, points[-1]))
    x = [WIDTH * (night - first) / max(last - first, 1) for night, *_ in points]
    upper, lower = ([HEIGHT * point[side] for point in points] for side in (1, 2))
    path = f"M{x[0]:.1f} {upper[0]:.1f}{_curve(x, upper)}L{x[-1]:.1f} {lower[-1]:.1f}{_curve(x[::-1], lower[::-1])}Z"
    share = places[own, there[-1]]
    summary = f"cluster {own}: {share[1] - share[0]:.0%} of the rows, when it was last there"
    return {"name": own, "path": path, "colour": colours.get(own, ENDED), "summary": summary}


def _point(
    places: Mapping[tuple[int, int], tuple[float, float]], other: int, night: int, own: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the point where a band begins or ends: in the middle of another, or at its own height."""
    upper, lower = places.get((other, night), own[1:])
    middle = (upper + lower) / 2
    return float(night), middle, middle


def _curve(x: list[float], y: list[float]) -> str:
    """Return smooth steps through points but the first."""
    steps = zip(x, y, x[1:], y[1:])
    return "".join(f"C{(a + c) / 2:.1f} {b:.1f} {(a + c) / 2:.1f} {d:.1f} {c:.1f} {d:.1f}" for a, b, c, d in steps)
