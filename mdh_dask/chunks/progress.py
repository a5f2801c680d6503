"""The progress of passes: a bar for each or one for all of a fit, or lines in the log."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from time import perf_counter
from typing import Any, Self

from .._locations import printable

logger = logging.getLogger(__name__)

Progress = Callable[[int], Any]
"""Return the progress bar of a pass over that many rows: a context manager with ``update(n)``, like ``tqdm``."""

BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}{unit} [{rate_fmt}, {remaining} left]"


def announced(description: str, bar: bool, unit: str = "rows") -> Progress | None:
    """Return the progress of a pass as a bar or, without one, as lines in the log if it records them.

    Lines are logged every half minute and at the end. Their records have ``fields``: ``pass``, ``rows`` done, ``of``
    rows in all, ``seconds``, ``rows_per_second`` and ``seconds_left``. Where rows are not known yet, `unit` names what
    is counted in their place.
    """
    description = printable(description)
    if bar:
        whole = _current.get()
        return partial(_bar, description, unit) if whole is None else partial(whole.next_pass, description)
    return partial(_Lines, description, unit) if logger.isEnabledFor(logging.INFO) else None


@contextmanager
def one_bar(bar: bool) -> Iterator[None]:
    """Show all passes that are made inside as a single bar, if bars are shown; it is full at the end, and only then.

    Nobody knows how many passes will follow, so the bar always leaves room for one more: after three passes of a fit
    it stands at three quarters. Between passes it names the last one and what the time is spent on.
    """
    if not bar or _current.get() is not None:
        yield
        return
    whole = _Whole()
    token = _current.set(whole)
    try:
        yield
        whole.end()
    finally:
        _current.reset(token)
        whole.close()


class _Whole:
    """One bar for several passes, which appears with the first."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._passes = 0

    @contextmanager
    def next_pass(self, description: str, n_rows: int) -> Iterator[Self]:
        """Show the progress of a pass over that many rows."""
        from tqdm.auto import tqdm

        if self._bar is None:
            self._bar = tqdm(total=1.0, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}")
        self._bar.set_description_str(description)
        self._done, self._of = 0, n_rows
        yield self
        self._passes += 1
        self._show(0.0)
        self._bar.set_description_str(f"{description} done, computing")  # its value is worked on

    def update(self, n: int) -> None:
        """Advance by `n` rows of the current pass."""
        self._done += n
        self._show(self._done / max(self._of, 1))

    def _show(self, share: float) -> None:
        made = self._passes + share
        self._bar.update(max(min(made / (made + 1), 0.99) - self._bar.n, 0.0))  # not rounded to 100 %

    def end(self) -> None:
        """Show that there is nothing left to do."""
        if self._bar is not None:
            self._bar.set_description_str("all passes")
            self._bar.update(1.0 - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()


_current: ContextVar[_Whole | None] = ContextVar("_current", default=None)


def _bar(description: str, unit: str, n_rows: int) -> Any:
    from tqdm.auto import tqdm  # imported late: in a notebook without widgets the import warns

    return tqdm(total=n_rows, desc=description, unit=f" {unit}", unit_scale=True, bar_format=BAR)


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
        if perf_counter() - self._logged >= 30 and 0 < self._done < self._of:
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
