"""What a command writes, checked before any work is done."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import click
import zarr

from ..io.models import MODEL_MARK
from ..io.nodes import find_node, local_path
from .exits import CannotCreateError


@dataclass(frozen=True)
class Outputs:
    """What a command writes.

    Parameters
    ----------
    labels, model : str or None
        Paths or URLs.
    report : str or None
        Path of a file.
    overwrite : bool
        Whether they may replace what is there.
    """

    labels: str | None = None
    model: str | None = None
    report: str | None = None
    overwrite: bool = False

    def check(self, *inputs: str) -> None:
        """Raise an error now rather than after the work is done.

        Raises
        ------
        UsageError
            If there is no output, or one of them is inside another or inside an input.
        FileExistsError, CannotCreateError, PermissionError
            If one cannot be written.
        ImportError
            If the report needs a package that is missing.
        """
        given = [path for path in (self.labels, self.model, self.report) if path is not None]
        if not given:
            raise click.UsageError("expected --out, --model or --report; got none of them: nothing would be kept")
        for i, path in enumerate(given):
            for other in (*given[:i], *inputs):
                if overlap(path, other):
                    raise click.UsageError(
                        f"expected separate places; got {path} and {other}, of which one holds the other: name another"
                    )
        if self.labels is not None:
            check_place(self.labels, self.overwrite, "a Zarr array", lambda node: isinstance(node, zarr.Array))
        if self.model is not None:
            check_place(self.model, self.overwrite, "a model", lambda node: MODEL_MARK in node.attrs)
        if self.report is not None:
            check_report(self.report, self.overwrite)


def check_place(path: str, overwrite: bool, what: str, is_what: Callable[[Any], bool]) -> None:
    """Raise an error if nothing can be written to a path or URL, or something is there that is to stay."""
    folder = local_path(path)
    node = node_at(path) if overwrite or not folder else None
    if node is not None or (folder and folder.exists()):
        if not overwrite:
            raise FileExistsError(f"{path} exists: name another output, or replace it with --overwrite")
        if node is None or not is_what(node):
            raise FileExistsError(f"{path} is not {what}, and nothing else is replaced: name another output")
    if folder:
        check_folder(folder.parent)


def check_report(path: str, overwrite: bool) -> None:
    """Raise an error if a report cannot be written to a path."""
    require("jinja2", "report")
    if "://" in path:
        raise click.UsageError(f"expected a local file for the report; got {path}: write it here and copy it there")
    file = Path(path).resolve()
    if file.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the file of the report, as {path}/report.html")
    if file.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: name another output, or replace it with --overwrite")
    check_folder(file.parent)


def check_folder(folder: Path) -> None:
    """Raise an error if nothing can be written into a folder."""
    if not folder.is_dir():
        raise CannotCreateError(f"the folder {folder} of an output does not exist: make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {folder} of an output is not writable: name another output")


def node_at(path: str) -> zarr.Array | zarr.Group | None:
    """Return the Zarr array or group at a path or URL; None if there is none.

    Raises
    ------
    ValueError
        If its metadata are damaged.
    """
    try:
        return find_node(path, None)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: Zarr cannot read its metadata ({error}); write it again") from error


def overlap(path: str, other: str) -> bool:
    """Tell whether two paths or URLs are the same, or one is inside the other.

    Examples
    --------
    >>> overlap("a/x.zarr", "a/../a/x.zarr/c"), overlap("s3://a/x", "s3://a/xy")
    (True, False)
    """
    a, b = (_pure(p) for p in (path, other))
    return a.is_relative_to(b) or b.is_relative_to(a)


def require(module: str, extra: str) -> None:
    """Raise an error that names the remedy if an optional package is missing."""
    if find_spec(module) is None:
        raise ImportError(f'expected the package {module}; it is missing: pip install "mdh_dask[{extra}]"')


def _pure(path: str) -> PurePath:
    return local_path(path) or PurePosixPath(path)
