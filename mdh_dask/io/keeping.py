"""Materialisation of lazy rows that several passes need and that cost more to compute than to read."""

import logging
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Literal

import dask

from .._journal import current_journal
from .._process import memory_limit
from .._typing import RowArray
from ..chunks import Progress, is_dask, under_own_names
from .rows import open_rows
from .writing import write_rows

Cache = Literal["auto", "memory", "disk"]

SHARE_OF_MEMORY = 0.25
"""Largest share of memory for materialised rows."""

SHARE_OF_DISK = 0.5
"""Largest share of the free space of the scratch folder."""

logger = logging.getLogger(__name__)


@contextmanager
def kept(rows: RowArray, cache: Cache | None, progress: Progress | None = None) -> Iterator[RowArray]:
    """Compute lazy rows once and provide them within the context; a NumPy array is returned as it is.

    `cache` names the place: ``"memory"`` of the workers, or of this process; ``"disk"``, an array in Dask's
    ``temporary-directory``, which all workers must see, and which is removed at the end; ``"auto"``, memory, if the
    rows fit into a quarter of it, else disk, if the workers are on this machine and half of the free space suffices,
    else None; None, nowhere: the rows are computed in every pass.
    """
    place = _place(rows, cache) if is_dask(rows) else None
    if place is not None:
        logger.info("%.3g MB of features kept in %s", rows.nbytes / 1e6, place)
    if place == "memory":
        yield under_own_names(rows).persist()
    elif place == "disk":
        with _scratch() as (folder, name):
            path = folder / "features.zarr"
            write_rows(rows, path, compress=False, progress=progress, resume=name)
            yield open_rows(path)
    else:
        yield rows


def _place(rows: Any, cache: Cache | None) -> Cache | None:
    journal = current_journal()
    return chosen_place(rows, cache) if journal is None else journal.note("cache", lambda: chosen_place(rows, cache))


@contextmanager
def _scratch() -> Iterator[tuple[Path, str | None]]:
    """Provide a scratch folder, which survives a failure if the job can be resumed."""
    journal = current_journal()
    if journal is None:
        with TemporaryDirectory(prefix="mdh-dask-", dir=scratch_folder()) as temporary:
            yield Path(temporary), None
        return
    folder = Path(scratch_folder()) / f"mdh-dask-{journal.scratch}"
    own_folder(folder)
    yield folder, journal.name
    shutil.rmtree(folder, ignore_errors=True)


def own_folder(folder: Path) -> None:
    """Create a folder for its owner only, or check an existing one, as others could guess its name and create it first.

    Raises a PermissionError if it exists, but is not a folder, belongs to another user or is open to others.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        found = folder.lstat()  # does not follow a link, which could lead anywhere
        ours = os.name == "nt" or (found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700)
        if not (stat.S_ISDIR(found.st_mode) and ours):
            raise PermissionError(
                f"expected a folder of this user with mode 0700 at {folder}; got {stat.filemode(found.st_mode)} of "
                f"user {found.st_uid}: remove it, or name another folder as Dask's temporary-directory"
            ) from None


def chosen_place(rows: Any, cache: Cache | None) -> Cache | None:
    """Return where to materialise lazy rows; ``"auto"`` decides by their size."""
    if cache != "auto":
        return cache
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    if rows.nbytes <= SHARE_OF_MEMORY * memory_of(client):
        return "memory"
    if (client is None or is_local(client)) and rows.nbytes <= SHARE_OF_DISK * shutil.disk_usage(scratch_folder()).free:
        return "disk"
    return None


def memory_of(client: Any | None) -> float:
    """Return the memory of all workers of a client in bytes, or of this machine without a client."""
    if client is None:
        return memory_limit()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["memory_limit"] or 0 for worker in workers)


def is_local(client: Any) -> bool:
    """Return whether the workers of a client share the disk of this process, as those that it has started do."""
    from distributed import LocalCluster

    return isinstance(client.cluster, LocalCluster)


def scratch_folder() -> str:
    """Return the existing folder for temporary arrays."""
    folder = dask.config.get("temporary-directory", None) or gettempdir()
    Path(folder).mkdir(parents=True, exist_ok=True)
    return str(folder)
