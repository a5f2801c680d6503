"""Do clusters keep their ids over nights: planted births, deaths, splits and merges among clusters that drift."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import mdh_dask
from mdh_dask.estimators.history import begun

from .kept import run_cells
from .shared import Table, verdict

SHORT: dict[str, Any] = {"n_seeds": 1}

METHODS = ("RandomProjectionTree", "HierarchicalMDH")

N_NIGHTS, N_ROWS, N_COLUMNS = 30, 3000, 4

DRIFT = 0.15
"""Standard deviation of a night's step of each centre, in standard deviations of a cluster."""

APART, HALVES = 8.0, 3.5
"""Least distance of centres, and half of that of the two parts into which a cluster splits."""

LEAST_F1 = 0.95

NIGHTS_A_YEAR = 365


class Planted(NamedTuple):
    """One of the clusters that are there: rows about the points of a line, or about its centre."""

    name: int
    centre: np.ndarray
    weight: float
    reach: np.ndarray = np.zeros(N_COLUMNS)

    def away(self, place: np.ndarray) -> float:
        """Return the distance of a place from the line."""
        along = (place - self.centre) @ self.reach / max(float(self.reach @ self.reach), 1e-9)
        return float(np.linalg.norm(place - self.centre - np.clip(along, -1, 1) * self.reach))


Event = tuple[str, int]
"""What happened, and the name of the cluster that is new or ended."""


EITHER = ("split", "merged")
"""Events of which either of two clusters may be named: the part that is new, or the one that ends."""


def nights(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, list[Event]]]:
    """Yield the rows of each night, the names of their clusters, and what happened."""
    rng = np.random.default_rng([seed, 30])
    there: list[Planted] = []
    for name in range(4):
        there.append(Planted(name, _free(rng, there), rng.uniform(0.7, 1.5)))
    n_names, events = len(there), [("born", one.name) for one in there]
    for night in range(N_NIGHTS):
        if night and night % 2 == 0:
            there, events, n_names = _changed(rng, there, n_names)
        elif night:
            events = []
        there = [one._replace(centre=one.centre + rng.normal(0, DRIFT, N_COLUMNS)) for one in there]
        weights = np.array([one.weight for one in there]) * rng.uniform(0.85, 1.15, len(there))
        which = rng.choice(len(there), N_ROWS, p=weights / weights.sum())
        centres, reaches = (np.array(values)[which] for values in zip(*((one.centre, one.reach) for one in there)))
        rows = centres + rng.uniform(-1, 1, (N_ROWS, 1)) * reaches + rng.normal(size=(N_ROWS, N_COLUMNS))
        yield rows, np.array([one.name for one in there])[which], events


def _free(rng: np.random.Generator, there: Sequence[Planted]) -> np.ndarray:
    """Return a place that is far enough from all clusters."""
    while True:
        place = rng.uniform(-14, 14, N_COLUMNS)
        if all(one.away(place) > APART + 2 * HALVES for one in there):
            return place


def _changed(rng: np.random.Generator, there: list[Planted], n_names: int) -> tuple[list[Planted], list[Event], int]:
    """Return the clusters after one change of a random kind; splits and merges keep the rows.

    What merges fills the valley between two clusters: one that lies between them, and where neither was, is new.
    """
    kinds = ["born", "split"] * (len(there) < 7) + ["died", "merged"] * (len(there) > 3)
    kind, there = str(rng.choice(kinds)), list(there)
    if kind == "born":
        return [*there, Planted(n_names, _free(rng, there), rng.uniform(0.7, 1.5))], [(kind, n_names)], n_names + 1
    chosen = int(rng.integers(len(there)))
    one = there.pop(chosen)
    if kind == "died":
        return there, [(kind, one.name)], n_names
    if kind == "split":
        step = rng.normal(size=N_COLUMNS)
        step *= HALVES / np.linalg.norm(step)
        parts = [Planted(name, one.centre + way * step, one.weight / 2) for name, way in ((one.name, 1), (n_names, -1))]
        return there + parts, [(kind, n_names)], n_names + 1
    near = there.pop(int(np.argmin([np.linalg.norm(other.centre - one.centre) for other in there])))
    middle, reach = (one.centre + near.centre) / 2, (one.centre - near.centre) / 2
    there.append(Planted(near.name, middle, one.weight + near.weight, reach))
    return there, [(kind, one.name)], n_names


def run(
    n_seeds: int = 5, methods: Sequence[str] = METHODS, cells: Path | None = None, n_jobs: int = 2
) -> Iterator[Table]:
    """Refit every night, and update every night; see `run_cells` for `cells`."""
    ways = [(name, way) for name in methods for way in ("refit", "partial_fit")]
    rows = []
    for name, way in ways:
        found = np.array(run_cells(_followed, [(name, way, seed) for seed in range(n_seeds)], cells, n_jobs))
        hits, planted, said, again, size = found.sum(axis=0)
        f1 = 2 * hits / max(planted + said, 1)
        kilobytes = size / n_seeds / 1000 * NIGHTS_A_YEAR / N_NIGHTS
        enough = verdict(f1 >= LEAST_F1 and again == 0)
        rows.append((name, way, int(planted), int(said), f1, int(again), kilobytes, f">= {LEAST_F1}", enough))
    title = f"Events of {N_NIGHTS} nights of clusters that drift, of {n_seeds} seeds"
    heads = ("method", "nights", "planted", "found", "F1", "ids used again", "kB a year", "required", "verdict")
    yield Table(title, heads, rows)


def _followed(name: str, way: str, seed: int) -> list[float]:
    """Return events found as planted, planted, found at all, ids used again, and bytes."""
    model: Any = None
    hits = planted = said = again = 0
    known: dict[int, int] = {}  # the planted cluster of each id
    for night, (rows, names, events) in enumerate(nights(seed)):
        fresh = getattr(mdh_dask, name)(random_state=seed)
        if way == "partial_fit":
            model = fresh.fit(rows) if model is None else model.partial_fit(rows)
        else:
            model = fresh.fit(rows) if model is None else mdh_dask.continued(fresh.fit(rows), model, rows)
        labels = np.asarray(model.labels_)
        held = [np.bincount(names[labels == label], minlength=1) for label in range(model.n_clusters_)]
        table = [record for record in model.history_.to_records() if record["night"] == night]
        there = {record["id"] for record in table if record["event"] in ("born", "stays", "split")}
        of_label = {int(own): int(counts.argmax()) for own, counts in zip(model.ids_, held) if own in there}
        new = {record["id"] for record in table if record["event"] in ("born", "split")}
        again += len(new & known.keys())
        ids_of_night = known | of_label
        if night:
            found = [(r["event"], ids_of_night.get(r["id"], -1)) for r in table if r["event"] != "stays"]
            hits += _matched(found, events)
            planted, said = planted + len(events), said + len(found)
        known = ids_of_night
    size = _bytes_of(model)
    model._history = begun(model, model.history_.remembered)  # of one night
    return [hits, planted, said, again, size - _bytes_of(model)]


def _bytes_of(model: Any) -> int:
    """Return the bytes of a saved model."""
    with TemporaryDirectory() as folder:
        model.save(f"{folder}/m.zarr")
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def _matched(found: list[Event], events: list[Event]) -> int:
    """Return the number of planted events that were found; either part of a split may be new, either of a merge end."""
    left, hits = list(found), 0
    for event in events:
        alike = (own for own in left if own == event or own[0] == event[0] in EITHER)
        if (own := next(alike, None)) is not None:
            left.remove(own)
            hits += 1
    return hits
