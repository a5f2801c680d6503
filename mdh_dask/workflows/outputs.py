"""What a command writes, checked before any work is done."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import zarr

from .._errors import CannotCreateError, SettingError
from .._packages import require
from ..io.models import MODEL_MARK
from ..io.nodes import find_node, local_path

PERFORMANCE = "What the cluster did: performance report of Dask"


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
    performance_report : str or None
        Path of a file, for Dask's own report on the cluster.
    """

    labels: str | None = None
    model: str | None = None
    report: str | None = None
    overwrite: bool = False
    performance_report: str | None = field(default=None, kw_only=True)

    def check(self, *inputs: str) -> None:
        """Raise an error now rather than after the work is done.

        Raises
        ------
        SettingError
            If there is no output, or one of them is inside another or inside an input.
        FileExistsError, CannotCreateError, PermissionError
            If one cannot be written.
        ImportError
            If the report needs a package that is missing.
        """
        given = self._given()
        if not any(self._options().values()):
            *names, last = self._options()
            raise SettingError(f"expected {', '.join(names)} or {last}; got none of them: nothing would be kept")
        for i, path in enumerate(given):
            for other in (*given[:i], *inputs):
                if overlap(path, other):
                    raise SettingError(
                        f"expected separate places; got {path} and {other}, of which one holds the other: name another"
                    )
        if self.labels is not None:
            self._check_labels(self.labels)
        if self.model is not None:
            check_place(self.model, self.may_replace(self.model), "a model", lambda node: MODEL_MARK in node.attrs)
        if self.report is not None:
            require("jinja2", "report")
            check_file(self.report, self.may_replace(self.report), "report.html")
        if self.performance_report is not None:
            require("bokeh", "dashboard")
            check_file(self.performance_report, self.may_replace(self.performance_report), "performance-report.html")

    def may_replace(self, path: str) -> bool:
        """Tell whether an output may take the place of what is at its path or URL."""
        return self.overwrite

    def kept(self) -> str:
        """Return what a command says about where its results are."""
        return ", ".join(self._given())

    def links(self) -> dict[str, str]:
        """Return what the report links to, with addresses as they are seen from it."""
        if self.report is None or self.performance_report is None:
            return {}
        return {PERFORMANCE: quote(os.path.relpath(self.performance_report, Path(self.report).parent))}

    def _given(self) -> list[str]:
        return [path for path in (*self._options().values(), self.performance_report) if path is not None]

    def _options(self) -> dict[str, str | None]:
        """Return the places by their names, but for that of the performance report."""
        return {"labels": self.labels, "model": self.model, "report": self.report}

    def _check_labels(self, path: str) -> None:
        check_place(path, self.may_replace(path), "a Zarr array", lambda node: isinstance(node, zarr.Array))


@dataclass(frozen=True)
class ImageOutputs(Outputs):
    """What a command writes about an image.

    Parameters
    ----------
    preview : str or None
        Path of a file.
    """

    preview: str | None = None

    def check(self, *inputs: str) -> None:
        """Raise an error now rather than after the work is done."""
        super().check(*inputs)
        if self.preview is not None or self.report is not None:
            require("PIL", "images")
        if self.preview is not None:
            check_file(self.preview, self.may_replace(self.preview), "preview.png")

    @property
    def shows_pixels(self) -> bool:
        """Tell whether anything is written but the model."""
        return any((self.labels, self.preview, self.report))

    def _options(self) -> dict[str, str | None]:
        return {"labels": self.labels, "model": self.model, "preview": self.preview, "report": self.report}

    def _check_labels(self, path: str) -> None:
        from ..images.label_array import is_label_image

        check_place(path, self.may_replace(path), "an image of labels", is_label_image)


def check_place(path: str, overwrite: bool, what: str, is_what: Callable[[Any], bool]) -> None:
    """Raise an error if nothing can be written to a path or URL, or something is there that is to stay."""
    folder = local_path(path)
    node = find_node(path, None) if overwrite or not folder else None
    if node is not None or (folder and folder.exists()):
        if not overwrite:
            raise FileExistsError(f"{path} exists: name another output, or replace it with overwrite=True")
        if node is None or not is_what(node):
            raise FileExistsError(f"{path} is not {what}, and nothing else is replaced: name another output")
    if folder:
        check_folder(folder.parent)


def check_file(path: str, overwrite: bool, example: str) -> None:
    """Raise an error if a report or preview, of which `example` is a name, cannot be written to a path."""
    what = PurePath(example).stem
    if "://" in path:
        raise SettingError(f"expected a local file for the {what}; got {path}: write it here and copy it there")
    file = Path(path).resolve()
    if file.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the file of the {what}, as {path}/{example}")
    if file.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: name another output, or replace it with overwrite=True")
    check_folder(file.parent)


def write_file(path: str, content: bytes, overwrite: bool) -> None:
    """Write a file that appears under its name only when it is complete."""
    final = Path(path)
    growing = final.with_name(f".{final.name}.partial-{uuid4().hex}")
    try:
        growing.write_bytes(content)
        if final.exists() and not overwrite:
            raise FileExistsError(f"{path} appeared while it was being written: name another output")
        growing.replace(final)
    finally:
        growing.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Raise an error if nothing can be written into a folder."""
    if not folder.is_dir():
        raise CannotCreateError(f"the folder {folder} of an output does not exist: make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"the folder {folder} of an output is not writable: name another output")


def overlap(path: str, other: str) -> bool:
    """Tell whether two paths or URLs are the same, or one is inside the other.

    Examples
    --------
    >>> overlap("a/x.zarr", "a/../a/x.zarr/c"), overlap("s3://a/x", "s3://a/xy")
    (True, False)
    """
    a, b = (_pure(p) for p in (path, other))
    return a.is_relative_to(b) or b.is_relative_to(a)


def _pure(path: str) -> PurePath:
    return local_path(path) or PurePosixPath(path)
