"""Estimates of the time that a fit takes, from constants that `deploy/README.md` explains."""

from typing import Any

import numpy as np

from .._numba import FOLDER
from .._words import full_count
from ..estimators.divisive import DivisiveClustering
from .estimates import Estimate

VALUE_SECONDS = 18e-9
"""Time of a thread for one value of the rows in one pass."""

BLOCK_SECONDS = 1.5e-3
"""Time of the scheduler for one block in one pass."""

STARTING, OF_WORKERS, COMPILING = 2.0, 2.0, 2.5
"""Seconds of imports and of a tree on a sample, until worker processes have started, and for loops that are not in the
cache: the table of starts of ``python -m tests.benchmarks first``."""

BANDWIDTH, SHARING = 2e9, 16
"""Bytes per second that a store is taken to serve, and the threads for which it is: more of them get more."""


def seconds_of_passes(n_passes: int, n_values: float, n_bytes: float, n_blocks: float, n_threads: int) -> float:
    """Return the time of passes over rows for a method without kernels.

    Examples
    --------
    >>> round(seconds_of_passes(3, 50 * 10**8, 200 * 10**8, 600, 16))
    33
    """
    bandwidth = BANDWIDTH * max(n_threads / SHARING, 1)
    reading = max(n_values * VALUE_SECONDS / n_threads, n_bytes / bandwidth)
    return n_passes * (reading + n_blocks * BLOCK_SECONDS)


def seconds_to_start(workers: bool) -> float:
    """Return the time that a command takes beside its passes, with worker processes or without."""
    compiling = COMPILING * (FOLDER is None or next(FOLDER.iterdir(), None) is None)
    return STARTING + OF_WORKERS * workers + compiling


def is_known(estimator: Any) -> bool:
    """Return whether the constants hold for an estimator: kernels cost much more than the values themselves."""
    return isinstance(estimator, DivisiveClustering) and estimator.feature_map is None


def time_of(need: Estimate, n_nodes: int, n_threads: int, to_start: float = 0.0) -> str:
    """Return the time of a fit on nodes of `n_threads` each in words, and how many hours of them it takes.

    `to_start` are the seconds beside the passes.

    Examples
    --------
    >>> time_of(Estimate(3, 5, 600, 2**25, 0, 50 * 10**8, 200 * 10**8), 8, 2)
    'about 33 to 54 s, 0.073 to 0.12 node-hours: 8 nodes of 2 threads'
    >>> time_of(Estimate(3, None, 10**7, 2**25, 0, 50 * 10**8, 200 * 10**8), 64, 2)
    'about 45,004 s, 800 node-hours or more: 64 nodes of 2 threads'
    >>> time_of(Estimate(3, 3, 1, 2**20, 0, 10**5, 10**6), 1, 2, to_start=4.5)
    'about 4.5 s, of which 4.5 s to start, 0.0013 node-hours: 1 node of 2 threads'
    """
    ends = {need.fewest, need.fewest if need.most is None else need.most}
    each = [
        to_start + seconds_of_passes(n, need.n_values, need.n_bytes, need.blocks, n_nodes * n_threads)
        for n in sorted(ends)
    ]
    seconds, hours = (
        " to ".join(dict.fromkeys(_shown(one * factor) for one in each)) for factor in (1, n_nodes / 3600)
    )
    more = " or more" if need.most is None else ""
    size = f"{full_count(n_nodes, 'node')} of {full_count(n_threads, 'thread')}"
    start = f", of which {_shown(to_start)} s to start" if to_start else ""
    return f"about {seconds} s{start}, {hours} node-hours{more}: {size}"


def _shown(value: float) -> str:
    """Return a number with two digits, or all before the point."""
    return f"{value:,.0f}" if value >= 99.5 else np.format_float_positional(value, 2, fractional=False, trim="-")
