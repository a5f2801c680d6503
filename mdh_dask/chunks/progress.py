"""The progress of a pass, as a bar or as lines in the log."""

import logging
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Self

logger = logging.getLogger(__name__)

Progress = Callable[[int], Any]
"""Return the progress bar of a pass over that many rows: a context manager with ``update(n)``, like ``tqdm``."""

SECONDS_BETWEEN_LINES = 30

BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} [{rate_fmt}, {remaining} left]"


def announced(description: str, bar: bool, unit: str = "rows") -> Progress | None:
    """Return the progress of a pass as a bar or, without one, as lines in the log if it records them.

    Lines are logged every half minute and at the end. Their records have ``fields``: ``pass``, ``rows`` done, ``of``
    rows in all, ``seconds``, ``rows_per_second`` and ``seconds_left``. Where rows are not known yet, `unit` names what
    is counted in their place.

    Examples
    --------
    >>> with announced("pass 1: reading", bar=True)(2_000_000) as bar:
    ...     bar.update(1_000_000)
    """
    if bar:
        return partial(_Bar, description, unit)
    return partial(_Lines, description, unit) if logger.isEnabledFor(logging.INFO) else None


class _Bar:
    """Progress as a bar."""

    def __init__(self, description: str, unit: str, n_rows: int) -> None:
        from tqdm.auto import tqdm  # imported late: in a notebook without widgets the import warns

        self._bar = tqdm(total=n_rows, desc=description, unit=f" {unit}", unit_scale=True, bar_format=BAR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def update(self, n: int) -> None:
        """Advance by `n` rows."""
        self._bar.update(n)


class _Lines:
    """Progress as lines in the log."""

    def __init__(self, description: str, unit: str, n_rows: int) -> None:
        self._description, self._unit, self._of, self._done = description, unit, n_rows, 0
        self._began = self._logged = perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._log()

    def update(self, n: int) -> None:
        """Advance by `n` rows."""
        self._done += n
        if perf_counter() - self._logged >= SECONDS_BETWEEN_LINES and 0 < self._done < self._of:
            self._log()
            self._logged = perf_counter()

    def _log(self) -> None:
        seconds = perf_counter() - self._began
        rate = self._done / max(seconds, 1e-9)
        left = (self._of - self._done) / rate if rate else 0.0
        done = f"{self._done:,} of {self._of:,} {self._unit}"
        text = f"{self._description}: {done} in {seconds:.1f} s, {rate:,.0f} {self._unit}/s"
        fields = {"pass": self._description, "rows": self._done, "of": self._of, "seconds": round(seconds, 6)}
        fields |= {"rows_per_second": round(rate), "seconds_left": round(left, 1)}
        logger.info("%s%s", text, f", {left:.0f} s left" if left else "", extra={"fields": fields})
