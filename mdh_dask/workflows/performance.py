"""Dask's performance report as one self-contained file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .._errors import SettingError
from ..clusters.current import current_client
from ..io.staging import naming_place, write_file
from .outputs import Outputs

ICON = re.compile(r"<link rel=.shortcut icon.[^>]*>")
"""The icon, which the page would still load from the web."""


@contextmanager
def recorded(outputs: Outputs) -> Iterator[None]:
    """Write the performance report of the current cluster at the end, if one is requested and nothing failed.

    Raises
    ------
    SettingError
        If there is no cluster to report on.
    """
    if outputs.performance_report is None:
        yield
        return
    from distributed import performance_report

    if current_client() is None:
        raise SettingError(
            "expected a cluster for performance_report=...; got this process only: leave it out, or start a cluster"
        )

    with TemporaryDirectory(prefix="mdh-dask-") as folder:
        file = Path(folder) / "performance.html"
        # By default the page loads its scripts from the web, and is blank without a connection (dask/distributed#4999).
        recording = performance_report(filename=str(file), mode="inline")
        recording.__enter__()
        yield
        with naming_place(file):
            recording.__exit__(None, None, None)
        page = ICON.sub("", file.read_text(encoding="utf-8"))
        write_file(outputs.performance_report, page, outputs.overwrite)
