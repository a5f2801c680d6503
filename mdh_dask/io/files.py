"""Reading and writing of whole files at paths and URLs."""

import os
import re

from .folders import existing, naming_place, write_whole
from .nodes import local_path
from .remote import filesystem

CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Characters that no text file should hold: browsers and parsers stop at them, or read them as others."""


def file_exists(location: str | os.PathLike[str]) -> bool:
    """Return whether a path exists, or a file at a URL."""
    path = local_path(location)
    if path is not None:
        return path.exists()
    fs, name = filesystem(location)
    fs.invalidate_cache()
    return bool(fs.isfile(name))


def read_file(location: str | os.PathLike[str]) -> bytes:
    """Return the contents of a file."""
    fs, name = filesystem(location)
    content: bytes = fs.cat_file(name)
    return content


def write_file(location: str | os.PathLike[str], content: bytes | str, overwrite: bool = False) -> None:
    """Write a file that appears, or changes, only when it is complete; a missing local folder is created.

    Texts are written in UTF-8. Bytes of file names that are not UTF-8, NUL and other control characters are written as
    the log shows them.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.

    Examples
    --------
    >>> write_file("memory://bucket/metrics.json", b"{}")
    >>> read_file("memory://bucket/metrics.json")
    b'{}'
    """
    if isinstance(content, str):
        content = CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", content).encode(errors="backslashreplace")
    path = local_path(location)
    with naming_place(location):
        if path is None:
            _put(location, content, overwrite)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, overwrite)


def _put(location: str | os.PathLike[str], content: bytes, overwrite: bool) -> None:
    """Store an object, on the condition that it does not exist unless `overwrite`."""
    fs, name = filesystem(location)
    try:
        fs.pipe_file(name, content, mode="overwrite" if overwrite else "create")
    except FileExistsError as error:
        raise existing(location) from error
