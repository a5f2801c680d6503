"""What a fit costs by the formula of the sizing page: seconds, processor-hours and money. Nothing is measured."""

from collections.abc import Iterator
from typing import Any

from .shared import Table

SHORT: dict[str, Any] = {}

COLUMNS, ITEM_BYTES, PASSES = 50, 4, 3

SIZES = ((10**7, 2, 32), (10**8, 16, 32), (10**9, 64, 32), (10**10, 256, 128))
"""Rows, threads, and MiB of a block."""

VALUE_SECONDS, BLOCK_SECONDS = 8e-9, 0.75e-3
"""Time of a thread for one value in one pass, and of client and scheduler for one block."""

BANDWIDTH, SHARING = 2e9, 16
"""Bytes per second that a store is taken to serve, and the threads for which it is: more of them get more."""

PRICE, SPOT_PRICE = 0.05, 0.015
"""Dollars for an hour of a processor with 4 GB: round figures for large providers, which change: use your own."""


def run() -> Iterator[Table]:
    """Compute the time and the cost of three passes over rows of 50 float32."""
    rows = []
    for n_rows, threads, block in SIZES:
        n_bytes = n_rows * COLUMNS * ITEM_BYTES
        reading = max(n_rows * COLUMNS * VALUE_SECONDS / threads, n_bytes / BANDWIDTH / max(threads / SHARING, 1))
        seconds = PASSES * (reading + n_bytes / block / 2**20 * BLOCK_SECONDS)
        hours = seconds * threads / 3600
        rows.append((n_rows, threads, float(f"{seconds:.3g}"), hours, hours * PRICE, hours * SPOT_PRICE))
    columns = ("rows", "threads", "seconds", "processor-hours", f"$, {PRICE} an hour", f"$, spot, {SPOT_PRICE}")
    yield Table(f"{PASSES} passes over rows of {COLUMNS} float32", columns, rows)
