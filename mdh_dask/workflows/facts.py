"""Facts on a fit: the passes, tasks and memory that it needs, and what its report says and shows."""

import io
import platform
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from .._sparse import SLAB_VALUES
from .._typing import AnyArray, Integers
from ..chunks import COMBINE_EVERY, default_block_bytes, holds_compact, merge_chunks
from ..clusters.current import cluster_for, current_cluster
from ..estimators.divisive_tree import DivisiveTree
from ..estimators.groups import compared
from ..estimators.profiles import why_one
from ..estimators.tables import column_names
from ..io.commits import together
from ..io.repositories import revision_of, snapshot_of, store_of
from ..summaries.words import named

WORKER_BYTES = 400 * 10**6
"""Memory of a worker that has imported everything and compiled the loops."""

SAMPLES_OF_COMMAND, DIRECTIONS_OF_COMMAND = 6, 3
"""Copies of a sample, and of the directions of a branch, in memory of the process that grows a tree: measured with
10,000 rows of 20,000 columns, and 400 of 60,000."""

SAMPLES_OF_CROWD = 32
"""Copies of the larger sample that is drawn where clusters are very many, counts of their splits included: a job on
10,000,000 rows of 64 columns with 2000 clusters, for which 100,000 rows were drawn, took 1.64 GB on two threads."""

BLOCKS_OF_A_THREAD = 5
"""Most blocks in memory per thread: stored, read and joined ones, and memory that the allocator has not returned."""


@dataclass(frozen=True)
class Estimate:
    """The passes, tasks and memory that a fit needs."""

    fewest: int
    most: int | None
    """Passes over the data; None if their number depends on the depth of the tree."""
    blocks: int
    block_bytes: int
    """Size of the largest block of rows."""
    state_bytes: int
    """Size of the result of a task, and of what it holds beside the rows."""
    held_bytes: int = 0
    """Size of what every process holds of the input."""
    direction_bytes: int = 0
    """Size of all directions that are drawn at once for a branch."""
    crowd_bytes: int = 0
    """Largest size of the sample that is drawn where clusters are very many."""

    @property
    def tasks(self) -> int:
        """Tasks per pass: one for every block, and those that combine the results."""
        tasks = level = self.blocks
        while level > 1:
            level = -(-level // COMBINE_EVERY)
            tasks += level
        return tasks

    @property
    def thread_bytes(self) -> int:
        """Memory for each thread of a worker."""
        return BLOCKS_OF_A_THREAD * self.block_bytes + 2 * self.state_bytes

    def worker_bytes(self, threads: int) -> int:
        """Return the memory of a worker with so many threads."""
        return WORKER_BYTES + self.held_bytes + threads * self.thread_bytes

    @property
    def command_bytes(self) -> int:
        """Memory of the process that grows the tree."""
        growing = SAMPLES_OF_COMMAND * self.state_bytes + DIRECTIONS_OF_COMMAND * self.direction_bytes
        return WORKER_BYTES + self.held_bytes + growing

    def for_many_clusters(self) -> str:
        """Return in words how much more memory very many clusters need, if the estimator looks for them."""
        if self.crowd_bytes <= self.state_bytes:
            return ""
        of_thread, of_command = 2 * (self.crowd_bytes - self.state_bytes), SAMPLES_OF_CROWD * self.crowd_bytes
        return (
            f"; where there are thousands of clusters, up to {format_bytes(of_thread)} more for every thread, and "
            f"{format_bytes(of_command)} more in the process of the command"
        )

    def more(self, n: int) -> "Estimate":
        """Return the estimate with so many more passes."""
        return replace(self, fewest=self.fewest + n, most=None if self.most is None else self.most + n)

    def passes(self) -> str:
        """Return the number of passes in words."""
        if self.most is None:
            return f"{self.fewest} or more, about one for every level of the tree"
        return str(self.most) if self.fewest == self.most else f"about {self.fewest} to {self.most}"

    def memory(self) -> str:
        """Return the memory of a worker as a formula."""
        held = f" + {format_bytes(self.held_bytes)} of the input" if self.held_bytes else ""
        return (
            f"{format_bytes(WORKER_BYTES)}{held} + threads x {format_bytes(self.thread_bytes)}"
            f" ({BLOCKS_OF_A_THREAD} x {format_bytes(self.block_bytes)} of a block"
            f" + 2 x {format_bytes(self.state_bytes)} of results)"
        )


def estimate(rows: Any, estimator: Any) -> Estimate:
    """Return the estimate for fitting an estimator to lazy rows."""
    merged = merge_chunks(rows)
    fewest, most = estimator._passes(*rows.shape)
    need = Estimate(
        fewest,
        most,
        merged.numblocks[0],
        # The files' readers make blocks of sparse rows, of which a few at a time become dense.
        (
            default_block_bytes(rows.nbytes) + SLAB_VALUES * 8
            if holds_compact(rows)
            else max(merged.chunks[0]) * rows.dtype.itemsize * rows.shape[1]
        ),
        estimator._task_bytes(rows),
        direction_bytes=4 * getattr(estimator, "n_projections", 0) * rows.shape[1],
        crowd_bytes=estimator._crowd_bytes(rows) if is_known(estimator) else 0,
    )
    return need.more(estimator.missing != "error")


def format_bytes(size: int) -> str:
    """Return a size in MB as text."""
    return f"{size / 1e6:,.4g} MB"


class DiedWorkersError(RuntimeError):
    """Several workers died of the same task; Dask does not say that memory was the reason (dask/distributed#2297)."""


@contextmanager
def telling_of_memory(rows: Any, estimator: Any) -> Iterator[None]:
    """Explain the memory that a block needs, and the remedies, when a task has killed its workers."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        need = estimate(rows, estimator)
        smaller = "make blocks smaller by DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment"
        if need.block_bytes > 2 * default_block_bytes(rows.nbytes):
            smaller = f"store the input in smaller chunks: one of {format_bytes(need.block_bytes)} is read whole"
        raise DiedWorkersError(
            "several workers died one after another of the same task, most likely for lack of memory: one needs "
            f"about {need.memory()}. Give workers more memory or fewer threads, or {smaller}"
        ) from error


Cluster = AbstractContextManager[str]
"""A context that makes a cluster the current one; its value describes the cluster."""


@contextmanager
def computing(cluster: Cluster | None, rows: Any, estimator: Any, path: str, snapshot: str = "") -> Iterator[str]:
    """Be on a cluster, by default the current one, and yield its description.

    What is written to a repository is committed at the end, with the path and snapshot of the input.
    """
    if not snapshot and (revision := revision_of(path)) is not None:
        snapshot = snapshot_of(store_of(revision))
    written = together({"input": path, "input_snapshot": snapshot or None})
    with cluster_for(cluster or current_cluster(), rows.nbytes) as where, written, telling_of_memory(rows, estimator):
        yield where


def is_known(estimator: Any) -> bool:
    """Return whether the constants hold for an estimator: kernels cost much more than the values themselves."""
    return isinstance(estimator, DivisiveTree) and estimator.feature_map is None


PACKAGES = ("mdh_dask", "dask", "distributed", "numba", "numpy", "scikit-learn", "scipy", "zarr")
"""Packages whose versions the report lists."""

Facts = dict[str, str | Mapping[str, str]]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that may affect results."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def facts_of(estimator: Any, where: str, seconds: float, pass_bytes: int | None, n_after: int = 1) -> Facts:
    """Return the facts on the fit of an estimator and on the further passes that wrote labels and profiles.

    `where` describes the cluster; every pass reads `pass_bytes`, the size of the input in memory, None if it is
    unknown.
    """
    labels = {"Labelled rows of clusters": found} if (found := _labels_of(estimator)) else {}
    parameters = {name: str(value) for name, value in estimator.get_params(deep=False).items() if name != "progress"}
    passes = estimator.n_passes_ + n_after
    if (missing := estimator.missing_values_) is not None:
        n, rule = int(missing.n_missing.sum()), "replaced by means" if estimator.missing == "mean" else "left out"
        parameters["missing"] += f": {n:,} values in {missing.n_incomplete:,} rows, {rule}"
    if parameters.get("feature_map", "None") != "None" and getattr(estimator, "feature_map_", estimator) is None:
        parameters["feature_map"] += ": its features show a single cluster, those of the rows themselves are shown"
    return {
        "Method": type(estimator).__name__,
        "Parameters": parameters,
        **compared(estimator),
        **why_one(estimator),
        **labels,
        "Passes over the data": f"{passes}, the last {'of them' if n_after == 1 else n_after} for labels and profiles",
        **({} if pass_bytes is None else {"Bytes read": f"{format_bytes(passes * pass_bytes)}, as they are in memory"}),
        "Time": f"{seconds:.1f} s",
        "Ran on": where,
        "Versions": versions(),
    }


def numbers_of(estimator: Any, counts: Integers | None = None) -> dict[str, Any]:
    """Return the numbers of a fit for other programs, with the groups or tiles of dependent rows.

    Without `counts` of the labels from the lowest, the sizes of clusters are those that the model counts.
    """
    noise = int(estimator.noise)
    sizes = estimator.state_.sizes if counts is None else counts[noise:]
    outside = {"n_in_no_cluster": None if counts is None else int(counts[0])} if noise else {}
    tiles = None if estimator.pixel_columns_ is None else estimator.pixel_columns_.tiles
    return {
        "method": type(estimator).__name__,
        "n_clusters": int(estimator.n_clusters_),
        "clusters": list(named(estimator._words, column_names(estimator))) or None,
        "cluster_sizes": None if sizes is None else sizes.tolist(),
        **outside,
        "passes": estimator.n_passes_,
        "n_groups": estimator.n_groups_,
        "tiles": None if tiles is None else tiles._asdict() | {"n_independent": tiles.n_independent},
        "compared": compared(estimator),
        "evidence": estimator.evidence().to_dict(),
    }


def _labels_of(estimator: Any) -> dict[str, str]:
    """Return the class, or the labels in `fit` and how many rows had them, of every cluster."""
    if (classes := getattr(estimator, "classes_", None)) is not None:
        return {f"cluster {i}": f"class {label}" for i, label in enumerate(classes.tolist())}
    if (counts := getattr(estimator, "label_counts_", None)) is None:
        return {}
    known = estimator.known_labels_.tolist()
    held = {i: [f"{n} of {label}" for n, label in zip(row, known) if n] for i, row in enumerate(counts.tolist())}
    return {f"cluster {i}": ", ".join(labels) for i, labels in held.items() if labels}


WIDEST = 1600
"""Most pixels on the longer side of a picture in a report."""

WIDEST_MASK = 800
"""The same for the masks of segments, of which there is one for each."""

HIDDEN = 215
"""Opacity of a mask over other segments, of 255."""


def encoded(picture: AnyArray, kind: str = "PNG", widest: int | None = None) -> bytes:
    """Return a picture as an encoded file, scaled down if it is wider or higher than `widest`."""
    from PIL import Image

    image = Image.fromarray(picture)
    if widest is not None:
        image.thumbnail((widest, widest))
    buffer = io.BytesIO()
    image.save(buffer, format=kind, quality=90)
    return buffer.getvalue()


def mask_of(labels: Integers, label: int) -> bytes:
    """Return a PNG that is transparent where an image of labels has a label, and nearly black elsewhere."""
    from PIL import Image

    step = -(-max(labels.shape) // WIDEST_MASK)
    mask = Image.fromarray((labels[::step, ::step] != label).astype("u1"))
    mask.putpalette(bytes(6))
    buffer = io.BytesIO()
    mask.save(buffer, format="PNG", bits=1, transparency=bytes([0, HIDDEN]), optimize=True)
    return buffer.getvalue()
