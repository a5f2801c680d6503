"""Dask's own report of what a cluster did, as one file that loads nothing from anywhere."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..clusters.current import LOCAL_SCHEDULERS
from .outputs import Outputs, write_file

ICON = re.compile(r"<link rel=.shortcut icon.[^>]*>")
"""What the page would still load from the web."""


def check_recording(path: str | None, scheduler: str | None) -> None:
    """Raise an error if there will be no cluster, of which a report on its performance could tell.

    Raises
    ------
    UsageError
    """
    if path is not None and scheduler in LOCAL_SCHEDULERS:
        raise click.UsageError(
            f"expected a cluster for --performance-report; got --scheduler {scheduler}, which is this process only: "
            "leave one of them out"
        )


@contextmanager
def recorded(outputs: Outputs) -> Iterator[None]:
    """Write a report on the performance of the current cluster in the end, if one was asked for and nothing failed."""
    if outputs.performance_report is None:
        yield
        return
    from distributed import performance_report

    with TemporaryDirectory(prefix="mdh-dask-") as folder:
        file = Path(folder) / "performance.html"
        # Inline: by default the page loads its scripts from the web, and is blank where there is none.
        recording = performance_report(filename=str(file), mode="inline")
        recording.__enter__()
        yield
        recording.__exit__(None, None, None)
        page = ICON.sub("", file.read_text(encoding="utf-8"))
        write_file(outputs.performance_report, page.encode(), outputs.overwrite)
