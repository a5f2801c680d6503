"""Cache of compiled loops on disk, for later processes.

Numba's own cache keeps one index per function, which two processes can leave pointing to the machine code of another
processor, and it does not notice changes of loops from other files that the compiler has inlined.
Here each compiled loop is a separate file, named by everything that its machine code depends on, staged and then
renamed, and verified when loaded. So processes need no lock, and a damaged file is just compiled again.

The files hold pickles, so anyone who can write them can run code as this user: the folder must belong to the user (or
root) and nobody else may write to it; otherwise there is no cache. The same holds for each file at the moment at which
it is read, because who can write to a parent of the folder can put another one in its place.
"""

import hashlib
import os
import pickle
import platform
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import caching, config
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

OPTIONS = (
    "CPU_NAME", "CPU_FEATURES", "OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT",
    "DISABLE_INTEL_SVML",
)  # fmt: skip
"""Numba settings that change the machine code."""

FOLDER, FILE = re.compile(r"loops-[0-9a-f]{16}"), re.compile(r".+-[0-9a-f]{24}|\.new-\w+")
"""Names of folders and of files in them that are made here; nothing else is ever removed."""

DIGEST = hashlib.sha256().digest_size

UNUSED = 60 * 24 * 3600.0
"""Seconds without use after which loops of other versions are removed."""


def base_folder() -> Path | None:
    """Return the folder of `MDH_DASK_CACHE`, or numba's, or the user's; None for `MDH_DASK_CACHE=off`."""
    chosen = os.environ.get("MDH_DASK_CACHE", "")
    if chosen == "off":
        return None
    return Path(chosen or config.CACHE_DIR or AppDirs("mdh_dask", appauthor=False).user_cache_dir)


def open_folder(base: Path | None) -> Path | None:
    """Return the folder of the current versions of the loops; None if it is not safe, or without a folder above it."""
    if base is None:
        return None
    try:
        folder = base / f"loops-{stamp(Path(__file__).parent)}"
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_unused(base)
        if not _is_safe(folder.stat()):
            return None
        with suppress(OSError):
            os.utime(folder)
    except OSError:
        return None
    return folder


def stamp(package: Path) -> str:
    """Return a digest of everything that machine code depends on besides the loop, its arguments and the processor.

    It covers the text of every loop of a package, because the compiler inlines loops.
    """
    digest = hashlib.sha256()
    for path in [*sorted(package.glob("_jit/*.py")), package / "_numba.py", package / "_loop_cache.py"]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)
    options = [(name, getattr(config, name, None)) for name in OPTIONS]
    digest.update(repr((versions, platform.machine(), sys.platform, options)).encode())
    return digest.hexdigest()[:16]


def _is_safe(status: os.stat_result) -> bool:
    """Return whether only the user or root can have written a folder or file."""
    return not hasattr(os, "getuid") or (status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022)


def _remove_unused(base: Path) -> None:
    """Remove the loops of versions that have not been used for long."""
    for other in base.iterdir():
        with suppress(OSError):
            status = other.lstat()
            ours = FOLDER.fullmatch(other.name) and stat.S_ISDIR(status.st_mode) and _is_safe(status)
            if ours and time.time() - status.st_mtime > UNUSED:
                for file in other.iterdir():
                    if FILE.fullmatch(file.name):
                        file.unlink()
                other.rmdir()


class LoopFiles:
    """The files of one loop, by its module and name: one for each set of argument types and each processor."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    def path(self, key: Any) -> Path:
        """Return the file for a key: argument types, processor and byte code."""
        return self.folder / f"{self.name}-{hashlib.sha256(str(key).encode()).hexdigest()[:24]}"

    def load(self, key: Any) -> Any:
        """Return the data saved under a key, or None if there are none or the file is damaged or not safe."""
        try:
            with self.path(key).open("rb") as file:
                if not _is_safe(os.fstat(file.fileno())):
                    return None
                content = file.read()
            if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
                return None
            known, data = pickle.loads(content[DIGEST:])
        except Exception:  # pickles of another version raise anything
            return None
        return data if known == str(key) else None

    def save(self, key: Any, data: Any) -> None:
        """Save data under a key; do nothing if the disk is full or not writable."""
        content = dumps((str(key), data))
        with suppress(OSError):
            handle, beside = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(content).digest() + content)
                os.replace(beside, self.path(key))
            except OSError:
                os.unlink(beside)

    def flush(self) -> None:
        """Do nothing, as files are never out of date."""


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc, unused-ignore]
    """Numba's serialisation of a compiled loop."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self._lineno = loop.__code__.co_firstlineno
        self._locator = SimpleNamespace(_py_file=loop.__code__.co_filename, ensure_cache_path=lambda: None)
        self._filename_base = f"{loop.__module__.rpartition('.')[2]}.{loop.__qualname__}"


class LoopCache(caching.FunctionCache):  # type: ignore[misc, unused-ignore]
    """The cache of a numba dispatcher, which loads and saves its compiled loops in a folder."""

    def __init__(self, folder: Path, loop: Callable[..., Any]) -> None:
        self._name, self._py_func = repr(loop), loop
        self._impl = _Implementation(loop)
        self._cache_path = str(folder)
        self._cache_file = LoopFiles(folder, self._impl.filename_base)
        self.enable()
