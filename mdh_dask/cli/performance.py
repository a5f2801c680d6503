"""Dask's own report of what a cluster did, as one file that loads nothing from anywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from .outputs import write_file


@contextmanager
def recorded(path: str | None, overwrite: bool) -> Iterator[None]:
    """Record what the current cluster does, and write it to a file in the end; if what it does fails, nothing.

    Raises
    ------
    ValueError
        If there is no cluster.
    """
    if path is None:
        yield
        return
    from distributed import get_client, performance_report

    try:
        get_client()
    except ValueError:
        raise ValueError(
            f"expected a cluster, of which {path} could tell; got this process only: leave out the performance report, "
            "or start workers"
        ) from None
    with TemporaryDirectory(prefix="mdh-dask-") as folder:
        file = Path(folder) / "performance.html"
        # Inline: by default the page loads its scripts from the web, and is blank where there is none.
        recording = performance_report(filename=str(file), mode="inline")
        recording.__enter__()
        yield
        recording.__exit__(None, None, None)
        write_file(path, file.read_bytes(), overwrite)
