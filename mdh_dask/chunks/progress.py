"""What is told about a pass while it runs: a bar, or else lines in the log."""

import logging
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Self

logger = logging.getLogger(__name__)

Progress = Callable[[int], Any]
"""Makes the bar of a pass over that many rows: a context manager with ``update(n)``, as ``tqdm(total=n)`` is."""

SECONDS_BETWEEN_LINES = 30

BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rows [{rate_fmt}, {remaining} left]"


def announced(description: str, bar: bool) -> Progress | None:
    """Return what tells of a pass: a bar or, without one, lines in the log, if anyone reads it.

    Lines come every half minute and at the end. Their records have ``fields``: ``pass``, ``rows`` that are done, ``of``
    how many, ``seconds``, ``rows_per_second`` and ``seconds_left``.

    Examples
    --------
    >>> with announced("pass 1: reading", bar=True)(2_000_000) as bar:
    ...     bar.update(1_000_000)
    """
    if bar:
        return partial(_Bar, description)
    return partial(_Lines, description) if logger.isEnabledFor(logging.INFO) else None


class _Bar:
    """A bar that counts rows."""

    def __init__(self, description: str, n_rows: int) -> None:
        from tqdm.auto import tqdm  # in a notebook without widgets it warns: only if a bar is asked for

        self._bar = tqdm(total=n_rows, desc=description, unit=" rows", unit_scale=True, bar_format=BAR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def update(self, n: int) -> None:
        """Advance by `n` rows."""
        self._bar.update(n)


class _Lines:
    """Lines in the log."""

    def __init__(self, description: str, n_rows: int) -> None:
        self._description, self._of, self._done = description, n_rows, 0
        self._began = self._told = perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._tell()

    def update(self, n: int) -> None:
        """Advance by `n` rows."""
        self._done += n
        if perf_counter() - self._told >= SECONDS_BETWEEN_LINES and 0 < self._done < self._of:
            self._tell()
            self._told = perf_counter()

    def _tell(self) -> None:
        seconds = perf_counter() - self._began
        rate = self._done / max(seconds, 1e-9)
        left = (self._of - self._done) / rate if rate else 0.0
        text = f"{self._description}: {self._done:,} of {self._of:,} rows in {seconds:.1f} s, {rate:,.0f} rows/s"
        fields = {"pass": self._description, "rows": self._done, "of": self._of, "seconds": round(seconds, 6)}
        fields |= {"rows_per_second": round(rate), "seconds_left": round(left, 1)}
        logger.info("%s%s", text, f", {left:.0f} s left" if left else "", extra={"fields": fields})
