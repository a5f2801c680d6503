"""Statistics that are computed chunk by chunk, and the functions that run them.

A statistic is a frozen dataclass with three methods and one law::

    finalise(combine(chunk(A), chunk(B))) == finalise(chunk(A_then_B))

`reduce_rows` runs any statistic over a NumPy array (the one-chunk case) or a Dask array on whichever scheduler
is current; `run` makes the passes of a plan, which asks for one statistic after another; `map_rows` applies a
function to every chunk and returns row-aligned results. This is the only package that builds task graphs for
numerics.

To add a statistic, subclass `Statistic` as a frozen dataclass and add an instance to
``tests/chunks/test_statistics.py``, which checks the law and chunk invariance for all of them.
"""

from .mapping import (
    Cache,
    block_size,
    default_block_bytes,
    fit_chunks,
    follow_chunks,
    holds_compact,
    is_dask,
    kept,
    known_chunks,
    map_rows,
    merge_chunks,
    repeated_rows,
    select_rows,
    sparse_blocks,
    under_own_names,
    work_through,
)
from .plans import Announce, Outcome, Pass, Plan, run, run_together, together
from .progress import Progress, announced, one_bar
from .reduction import COMBINE_EVERY, Statistic, Together, reduce_rows

__all__ = [
    "COMBINE_EVERY",
    "Announce",
    "Cache",
    "Outcome",
    "Pass",
    "Plan",
    "Progress",
    "Statistic",
    "Together",
    "announced",
    "block_size",
    "default_block_bytes",
    "fit_chunks",
    "follow_chunks",
    "holds_compact",
    "is_dask",
    "kept",
    "known_chunks",
    "map_rows",
    "merge_chunks",
    "one_bar",
    "reduce_rows",
    "repeated_rows",
    "run",
    "run_together",
    "select_rows",
    "sparse_blocks",
    "together",
    "under_own_names",
    "work_through",
]
