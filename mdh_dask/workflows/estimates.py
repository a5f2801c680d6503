"""Estimates of the passes, tasks and memory of a fit."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .._sparse import SLAB_VALUES
from ..chunks import COMBINE_EVERY, default_block_bytes, holds_compact, merge_chunks
from ..estimators.divisive_tree import DivisiveTree

WORKER_BYTES = 400 * 10**6
"""Memory of a worker that has imported everything and compiled the loops."""

SAMPLES_OF_COMMAND, DIRECTIONS_OF_COMMAND = 6, 3
"""Copies of a sample, and of the directions of a branch, in memory of the process that grows a tree: measured with
10,000 rows of 20,000 columns, and 400 of 60,000."""

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

    def on_pixels(self, sample: bool, first: bool, n_after: int) -> "Estimate":
        """Return the estimate for an image.

        If the tree is grown on a `sample`, one pass draws the pixels; otherwise a `first` pass may measure the columns.
        `n_after` passes follow once the tree has grown.
        """
        if sample:
            return replace(self, fewest=1 + n_after, most=1 + n_after)
        return self.more(first)

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


def estimate(rows: Any, estimator: Any, labels: bool) -> Estimate:
    """Return the estimate for fitting an estimator to lazy rows and, with `labels`, labelling them."""
    merged = merge_chunks(rows)
    fewest, most = estimator._passes(*rows.shape)
    return Estimate(
        fewest + labels,
        None if most is None else most + labels,
        merged.numblocks[0],
        # The files' readers make blocks of sparse rows, of which a few at a time become dense.
        (
            default_block_bytes(rows.nbytes) + SLAB_VALUES * 8
            if holds_compact(rows)
            else max(merged.chunks[0]) * rows.dtype.itemsize * rows.shape[1]
        ),
        estimator._task_bytes(rows),
        direction_bytes=4 * getattr(estimator, "n_projections", 0) * rows.shape[1],
    )


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
        need = estimate(rows, estimator, labels=False)
        smaller = "make blocks smaller by DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment"
        if need.block_bytes > 2 * default_block_bytes(rows.nbytes):
            smaller = f"store the input in smaller chunks: one of {format_bytes(need.block_bytes)} is read whole"
        raise DiedWorkersError(
            "several workers died one after another of the same task, most likely for lack of memory: one needs "
            f"about {need.memory()}. Give workers more memory or fewer threads, or {smaller}"
        ) from error


def is_known(estimator: Any) -> bool:
    """Return whether the constants hold for an estimator: kernels cost much more than the values themselves."""
    return isinstance(estimator, DivisiveTree) and estimator.feature_map is None
