"""How good the clusters are, beside those of scikit-learn and HiPart, on every labelled set there is."""

import math
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .kept import finished, keep
from .methods import METHODS, Score, score, warm_up
from .peers import why_missing
from .regret import OURS, REGRET_COLUMNS, THEIRS, box_plot, regret_lines
from .results import version_of
from .sets import ALL_SETS, GROUPS, load_set
from .shared import FOLDER, Table
from .workers import SLOW, Failure, Worker, worker_pool

SHORT: dict[str, Any] = {
    "sets": ("iris", "wine", "digits", "image_segmentation", "shapes2d/halfmoons", "shapes2d/s1"),
    "n_seeds": 1,
    "seconds": 5.0,
    "budget": 25.0,
}

DEFAULTS = ("HierarchicalMDH", "HierarchicalKernelMDH")
"""Those of ours that are held against the peers, with their default parameters."""

MARGIN = 0.02

UNTRIED = "budget"
"""Why a cell is empty for which there was no time left; its set counts in no regret."""

COMPILING = 600.0
"""Seconds that compiling the loops of a method may take."""

SCORES: dict[str, Callable[[Score], float]] = {
    "NMI": lambda score: score.nmi,
    "ARI": lambda score: score.ari,
    "clusters": lambda score: score.clusters,
}

DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Names of packages that are not those of their modules."""


@dataclass(frozen=True)
class Cell:
    """The scores of a method on a set, one for every seed that there was time for, or why there is none."""

    scores: tuple[Score, ...] = ()
    failure: str = ""

    def mean(self, of: Callable[[Score], float]) -> float:
        """Return the mean of a score over the seeds; NaN if there is none."""
        return float(np.mean([of(score) for score in self.scores])) if self.scores else math.nan

    def text(self, of: Callable[[Score], float]) -> Any:
        """Return what a table shows."""
        return round(self.mean(of), 3) if self.scores else self.failure.partition(":")[0]


Cells = dict[tuple[str, str], Cell]


def run(
    sets: Sequence[str] = ALL_SETS,
    methods: Sequence[str] = tuple(METHODS),
    n_seeds: int = 3,
    seconds: float = 10.0,
    memory: float = 4e9,
    budget: float = math.inf,
    jobs: int = 2,
    folder: str | None = None,
    cells: Path | None = None,
) -> Iterator[Table]:
    """Score methods on sets: ours find the number of clusters, others get it if they need it.

    Columns have mean 0 and standard deviation 1 for all alike. A method gets as many of the seeds as it begins within
    the seconds of processor time, and each as many seconds: more, by the root of the millions, for sets of more than a
    million values. Peers that compile loops in every process do so before, on other rows, which does not count. Small
    sets come first, and what was too slow on one is not tried on those that have at least as many rows and columns. Nor
    is what needs more memory by its formula, or is left when the budget, in seconds by the clock for all of them, is
    spent. A file of `cells` holds those that were tried, which are not tried again.
    """
    absent = {name: why_missing(METHODS[name].module) for name in methods}
    yield _methods_table(absent)
    shapes, missing = _shapes(sets, folder)
    yield _sets_table(sets, shapes, missing)
    found: Cells = {}
    with worker_pool(jobs) as pool, ThreadPoolExecutor(jobs) as executor:
        list(executor.map(lambda method: _compiled(pool, method), (name for name in methods if METHODS[name].ours)))
        end = time.monotonic() + budget
        measure = _measurement(pool, absent, range(n_seeds), seconds, memory, end, folder, cells)
        futures = {
            (name, method): executor.submit(measure, name, method, shapes[name])
            for name in shapes
            for method in methods
        }
        try:
            for name in shapes:
                found |= {(name, method): futures[name, method].result() for method in methods}
                yield _set_table(name, {method: found[name, method] for method in methods})
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    yield from summaries(found)


def _methods_table(absent: dict[str, str | None]) -> Table:
    lines = []
    for name, reason in absent.items():
        method = METHODS[name]
        module = method.module.partition(".")[0]
        package = DISTRIBUTIONS.get(module, module)
        found = "given" if method.k else "found"
        lines.append((name, package, version_of(package), found, method.about(), reason or "runs"))
    return Table("Methods", ("method", "package", "version", "clusters", "not by default", "status"), lines)


def _shapes(sets: Sequence[str], folder: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Return rows, columns, classes and source of the sets that are there, and why others are not."""
    shapes, missing = {}, {}
    for name in sets:
        try:
            found = load_set(name, folder)
        except OSError as error:
            missing[name] = f"missing: {error}"
        else:
            shapes[name] = (*found.X.shape, found.n_classes, found.source)
    return dict(sorted(shapes.items(), key=lambda item: item[1][0] * item[1][1])), missing


def _sets_table(sets: Sequence[str], shapes: dict[str, Any], missing: dict[str, str]) -> Table:
    lines = [(name, *shapes.get(name, ("-", "-", "-", missing.get(name)))) for name in sets]
    title = f"Sets (folder: ${FOLDER}): complete rows; text has a column for every value"
    return Table(title, ("set", "rows", "columns", "classes", "source"), lines)


def _compiled(pool: "queue.SimpleQueue[Worker]", method: str) -> None:
    worker = pool.get()
    try:
        worker.call(COMPILING, warm_up, method)
    finally:
        pool.put(worker)


def _measurement(
    pool: "queue.SimpleQueue[Worker]",
    absent: dict[str, str | None],
    seeds: Sequence[int],
    seconds: float,
    memory: float,
    end: float,
    folder: str | None,
    cells: Path | None,
) -> Callable[[str, str, Any], Cell]:
    slow: dict[str, list[tuple[int, int]]] = {name: [] for name in absent}
    known = finished(cells)

    def measure(name: str, method: str, shape: Any) -> Cell:
        if (kept := known.get((name, method))) is not None:
            cell = Cell(tuple(Score(*score) for score in kept["scores"]), kept["failure"])
        elif (cell := tried(name, method, shape)).failure not in (UNTRIED, absent[method]):
            keep(cells, (name, method), asdict(cell))
        if cell.failure == SLOW:
            slow[method].append(shape[:2])
        return cell

    def tried(name: str, method: str, shape: Any) -> Cell:
        if absent[method] is not None:
            return Cell(failure=absent[method])
        if METHODS[method].n_bytes(*shape[:3]) > memory:
            return Cell(failure="too large")
        if any(shape[0] >= rows and shape[1] >= columns for rows, columns in slow[method]):
            return Cell(failure=SLOW)
        if time.monotonic() > end:
            return Cell(failure=UNTRIED)
        worker = pool.get()
        try:
            limit = seconds * max(1.0, shape[0] * shape[1] / 1e6) ** 0.5
            cell = _cell(worker, limit, seeds if METHODS[method].seeded else seeds[:1], name, method, folder)
        finally:
            pool.put(worker)
        return cell

    return measure


def _cell(worker: Worker, seconds: float, seeds: Sequence[int], name: str, method: str, folder: str | None) -> Cell:
    scores: list[Score] = []
    for seed in seeds:
        if sum(score.seconds for score in scores) > seconds:
            break
        try:
            if METHODS[method].compiles:
                worker.once(COMPILING, warm_up, method)
            scores.append(worker.call(seconds, score, method, name, folder, seed))
        except Failure as failure:
            return Cell(tuple(scores), "" if scores else str(failure))
    return Cell(tuple(scores))


def _set_table(name: str, cells: dict[str, Cell]) -> Table:
    lines = []
    for method, cell in cells.items():
        nmi = [score.nmi for score in cell.scores]
        spread = (min(nmi), max(nmi)) if nmi else ("-", "-")
        means = (cell.mean(of) if cell.scores else "-" for of in (*SCORES.values(), lambda score: score.seconds))
        first, *rest = means
        lines.append((method, len(nmi), first, *spread, *rest, cell.failure or "-"))
    columns = ("method", "seeds", "NMI", "least", "greatest", "ARI", "clusters", "CPU s", "remark")
    return Table(f"{name}: means of the seeds", columns, lines, detail=True)


def summaries(cells: Cells) -> Iterator[Table]:
    """Compare the methods over the sets of each group, then set by set, then where a peer is better."""
    sets = [name for name in ALL_SETS if any(name == of for of, _ in cells)]
    methods = list(dict.fromkeys(method for _, method in cells))
    for group, names in GROUPS.items():
        inside = [name for name in sets if name in names and UNTRIED not in (cells[name, of].failure for of in methods)]
        if inside:
            table = np.array([[cells[name, method].mean(SCORES["NMI"]) for method in methods] for name in inside])
            yield Table(f"Regret by NMI, {group} ({len(inside)} sets)", REGRET_COLUMNS, regret_lines(methods, table))
    for what, of in SCORES.items():
        lines = [(name, *(cells[name, method].text(of) for method in methods)) for name in sets]
        yield Table(f"{what}: means of the seeds", ("set", *methods), lines)
    yield _losses(cells, sets, methods)


def _losses(cells: Cells, sets: Sequence[str], methods: Sequence[str]) -> Table:
    nmi = {key: cell.mean(SCORES["NMI"]) for key, cell in cells.items() if cell.scores}
    ours = [method for method in DEFAULTS if method in methods]
    peers = [method for method in methods if not METHODS[method].ours]
    tried = {name for name, _ in nmi}
    lines = []
    for name in sets:
        best = max((nmi[name, method] for method in ours if (name, method) in nmi), default=0.0)
        gains = {method: nmi[name, method] - best for method in peers if (name, method) in nmi}
        better = sorted((method for method in gains if gains[method] > MARGIN), key=lambda method: -gains[method])
        if better:
            named = ", ".join(f"{method} {gains[method]:+.2f}" for method in better)
            lines.append((name, *(cells[name, method].text(SCORES["NMI"]) for method in ours), gains[better[0]], named))
    columns = ("set", *ours, "by how much", "peers, beyond the better of ours")
    title = f"Where a peer is better by more than {MARGIN:g} NMI: {len(lines)} of {len(tried)} sets"
    return Table(title, columns, lines or [("none", *["-"] * (len(columns) - 1))])


def plot(tables: Sequence[Table], path: Path) -> None:
    """Draw boxes of regret for every group of sets."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    (table,) = (table for table in tables if table.title.startswith("NMI"))
    complete = [row for row in table.rows if UNTRIED not in row]
    groups = {group: [row for row in complete if row[0] in names] for group, names in GROUPS.items()}
    groups = {group: rows for group, rows in groups.items() if rows}
    figure = Figure(figsize=(1 + 3.6 * max(1, len(groups)), 5), layout="constrained")
    ours = [name for name, method in METHODS.items() if method.ours]
    for axes, (group, rows) in zip(figure.subplots(1, max(1, len(groups)), squeeze=False)[0], groups.items()):
        scores = np.array([[value if isinstance(value, float) else math.nan for value in row[1:]] for row in rows])
        box_plot(axes, table.columns[1:], scores, ours, "regret (NMI)")
        axes.set_title(f"{group} ({len(rows)} sets)")
    colours = {"mdh_dask, clusters found": OURS, "peers, most of them told": THEIRS}
    handles = [Patch(facecolor=colour, edgecolor="black", label=label) for label, colour in colours.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=2 if len(groups) > 1 else 1)
    figure.savefig(path, dpi=80)
