"""Outputs at paths and URLs: none appears before it is complete, only what may be replaced is, and locks on files."""

import ctypes
import errno
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import zarr

from .._errors import FULL, SettingError
from .._locations import name_of, redacted
from .nodes import find_node, overlaps, wait_for_zarr
from .paths import file_exists, filesystem, local_path, reaching, remove_below
from .repositories import revision_of

NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Error numbers of file systems without locks, as some of clusters."""

logger = logging.getLogger(__name__)

HERE, EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


def existing(path: str | os.PathLike[str]) -> FileExistsError:
    """Return the error for an output that must not be replaced."""
    return FileExistsError(f"{os.fspath(path)} exists: name another output, or replace it with overwrite=True")


class Stage(NamedTuple):
    """Where an output is written before it is complete."""

    place: Path | str
    """A path, of a file or folder, or a URL."""
    replace: bool
    """Whether what is there now is to be replaced."""

    @property
    def folder(self) -> Path | None:
        """The path, None for a URL."""
        return self.place if isinstance(self.place, Path) else None

    def clear(self) -> None:
        """Remove what is to be replaced, if it is there: Zarr would take the marks of patterns in a URL for such."""
        if self.replace:
            remove_array(os.fspath(self.place))


@contextmanager
def staged(path: str | os.PathLike[str], replace: bool, *, in_place: bool = False) -> Iterator[Stage]:
    """Provide the place to write an output, which appears at `path` when the block has ended well.

    On a file system this is a hidden path beside it, unless `in_place`. At URLs it is `path` itself, as object stores
    cannot rename: single objects appear whole there, and arrays are marked as incomplete until the end. What belongs to
    an Icechunk repository is staged beside that, and committed, see `mdh_dask.io.commits.together`.
    """
    final = local_path(path)
    with naming_place(path):
        if (node := revision_of(path)) is not None:
            from .commits import add

            place = node.hidden(f"staged-{uuid4().hex}")
            try:
                yield Stage(local_path(place) or place, False)
            except BaseException:
                wait_for_zarr()
                remove_array(place)
                raise
            add(node, place, replace)
        elif final is None:
            yield Stage(os.fspath(path), replace)
        elif in_place:
            yield Stage(final, replace)
        else:
            final.parent.mkdir(parents=True, exist_ok=True)
            with _beside(final, replace) as hidden:
                yield Stage(hidden, False)


@contextmanager
def staged_file(path: str | os.PathLike[str], replace: bool) -> Iterator[Path]:
    """Provide the path of a file to write, which appears at a path or URL when the block has ended well."""
    with staged(path, replace) as stage, TemporaryDirectory() as folder:
        file = stage.folder or Path(folder, "file")
        yield file
        if stage.folder is None:
            fs, name = filesystem(path)
            with reaching(path):
                fs.put_file(str(file), name)


@contextmanager
def _beside(final: Path, replace: bool) -> Iterator[Path]:
    """Provide a hidden path beside `final` and rename it to `final` at the end, or remove it after any failure."""
    hidden = final.with_name(f".{final.name}.partial-{uuid4().hex}")
    aside = final.with_name(f".{final.name}.replaced-{uuid4().hex}")
    try:
        yield hidden
        if final.exists() and not replace:
            raise FileExistsError(f"{final} appeared while it was being written; choose another path")
        if hidden.is_file():
            hidden.replace(final)  # an error if that is a folder, which no file replaces
        else:
            move_into_place(hidden, final, aside)
            remove_folder(hidden)
            remove_folder(aside)
    except BaseException:
        if hidden.is_file():
            hidden.unlink()
            raise
        # An interrupt ends the wait for Zarr's event loop, but not the tasks that run there. A thread that had just
        # seen the folder may begin one more.
        for _ in range(2):
            try:
                wait_for_zarr()
            finally:
                remove_folder(hidden)
        if final.exists():
            remove_folder(aside)
        raise


def move_into_place(hidden: Path, final: Path, aside: Path) -> None:
    """Rename an output to its final path; what it replaces moves to its old path, or aside if they cannot exchange."""
    if not final.exists():
        hidden.rename(final)
    elif not exchange(hidden, final):
        try:
            final.rename(aside)
            hidden.rename(final)
        except BaseException:
            if not final.exists():
                aside.rename(final)
            raise


def exchange(a: Path, b: Path) -> bool:
    """Exchange two files or folders in one step; return False if the system or file system cannot do that."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux
        return False
    return bool(rename(HERE, os.fsencode(a), HERE, os.fsencode(b), EXCHANGE) == 0)


def remove_array(place: str) -> None:
    """Remove a Zarr array or group at a path or URL, if it is there."""
    if (folder := local_path(place)) is not None:
        remove_folder(folder)
    else:
        fs, name = filesystem(place)
        fs.invalidate_cache()
        if fs.exists(name):
            remove_below(fs, name)


def remove_folder(folder: Path) -> None:
    """Remove the folder of a Zarr array, its metadata first, so that tasks which still write to it give up."""
    (folder / "zarr.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def naming_place(place: str | os.PathLike[str]) -> Iterator[None]:
    """Add the path or URL being written to the error of a full disk, which does not name it."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(place)) from error


def write_whole(file: Path, content: bytes, overwrite: bool = True) -> None:
    """Write a file in an existing folder that appears, or changes, only when all of it is on disk."""
    if not overwrite and file.exists():
        raise existing(file)
    with naming_place(file), _beside(file, overwrite) as hidden, hidden.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that no text file should hold: browsers and parsers stop at them, or read them as others."""


def write_file(location: str | os.PathLike[str], content: bytes | str, overwrite: bool = False) -> None:
    """Write a file that appears, or changes, only when it is complete; a missing local folder is created.

    Texts are written in UTF-8. Bytes of file names that are not UTF-8, NUL and other control characters are written as
    the log shows them.
    """
    if isinstance(content, str):
        content = CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", content).encode(errors="backslashreplace")
    if (path := local_path(location)) is not None:
        with naming_place(location):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, overwrite)
        return
    fs, name = filesystem(location)
    try:
        with reaching(location), naming_place(location):
            fs.pipe_file(name, content, mode="overwrite" if overwrite else "create")
    except FileExistsError as error:
        raise existing(location) from error


FILES = (
    ".parquet", ".parq", ".pq", ".csv", ".tsv", ".txt", ".npy", ".npz", ".json", ".feather", ".arrow", ".xlsx", ".h5",
    ".hdf5", ".nc", ".html", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff",
    ".pdf", ".pkl", ".pickle", ".joblib", ".zip", ".gz", ".bz2", ".xz", ".zst",
)  # fmt: skip
"""Endings of files, which no Zarr folder may have."""


NAMED = {".html": "an HTML page", ".png": "a PNG picture"}
"""Files that must not be named like others, by their endings."""


class Kind(NamedTuple):
    """A kind of output, which may only replace outputs of the same kind."""

    what: str
    is_one: Callable[[Any], bool]
    """Returns whether a Zarr node is of this kind."""


ARRAY = Kind("a Zarr array", lambda node: isinstance(node, zarr.Array))


def check_ending(path: str | os.PathLike[str], what: str, *endings: str) -> None:
    """Raise an error if a path or URL is named like a file of another format."""
    name = PurePosixPath(name_of(path))
    if name.suffix.lower() in {*FILES, ".zarr"} - {*endings}:
        raise SettingError(
            f"expected the path of {what}; got {redacted(os.fspath(path))}, the name of a file of another format: "
            f"name it {' or '.join(name.stem.removesuffix('.zarr') + ending for ending in endings)}"
        )


def will_replace(path: str | os.PathLike[str], overwrite: bool, kind: Kind = ARRAY) -> bool:
    """Return whether a path or URL holds something that may be replaced; a new one must not be named like a file."""
    folder = local_path(path)
    there = folder is not None and folder.exists()
    if there and not overwrite:
        raise existing(path)
    try:
        node = find_node(path)
    except FileNotFoundError:  # the repository, which the first commit makes
        node = None
    except ValueError:  # Zarr cannot read it
        node, there = None, True
    if node is None and not there:
        check_ending(path, kind.what, ".zarr")
        return False
    if not overwrite:
        raise existing(path)
    if node is None or not kind.is_one(node):
        raise FileExistsError(f"{path} is not {kind.what}, and nothing else is replaced: name another output")
    return True


def check_file(path: str | os.PathLike[str], overwrite: bool, example: str) -> None:
    """Raise an error if a file, named like `example`, cannot be written to a path or URL."""
    file = local_path(path)
    if os.fspath(path).endswith("/") if file is None else file.is_dir():
        raise IsADirectoryError(
            f"{path} is a folder: name the file of the {PurePath(example).stem}, as {path}/{example}"
        )
    ending = PurePath(example).suffix
    if ending in NAMED:
        check_ending(path, NAMED[ending], ending)
    if not overwrite and file_exists(path):
        raise existing(path)


def refuse_input(path: str | os.PathLike[str], inputs: Iterable[zarr.Array]) -> None:
    """Raise an error if an input is stored at a path or URL, inside it or around it."""
    for source in inputs:
        if overlaps(path, source):
            raise ValueError(f"{path} holds an input of the array that is to be written there; choose another path")


try:
    import fcntl
except ImportError:  # on Windows only the number of a job's attempt separates runs
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(file: Path, what: str, *, keep: bool = False, wait: bool = False) -> Iterator[None]:
    """Create and lock a file, and remove it at the end unless `keep`; without `wait`, a lock is a BlockingIOError."""
    stream = _acquire(file, what, wait)
    try:
        yield
    finally:
        if not keep:
            file.unlink(missing_ok=True)
        os.close(stream)


def _acquire(file: Path, what: str, wait: bool) -> int:
    while True:
        stream = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if fcntl is None or _is_still(file, stream):
                return stream
        except BlockingIOError:
            os.close(stream)
            raise BlockingIOError(f"{what} is being worked on by another run: wait until it has ended") from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(stream)
                raise
            logger.warning("%s: its file system has no locks: only the latest of several runs publishes", file.parent)
            return stream
        except BaseException:
            os.close(stream)
            raise
        os.close(stream)  # the former holder has just removed the file


def _is_still(file: Path, stream: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(file), os.fstat(stream))
    return False
