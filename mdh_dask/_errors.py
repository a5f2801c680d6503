"""Errors of the package, and which errors are its own faults."""

import errno
import linecache
from collections.abc import Iterator
from traceback import walk_tb
from types import TracebackType

READS = ("io", "images", "columns")
"""Packages in which any error is one of what is read."""

COMPUTES = ("numpy", "scipy", "numba")
"""Libraries that read nothing for the other packages."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers for a full disk, quota or file."""

NO_CREDENTIALS = (
    "NoCredentialsError", "PartialCredentialsError", "ClientAuthenticationError", "DefaultCredentialsError",
    "RefreshError",
)  # fmt: skip
"""Errors of clients of servers, by name, as the clients need not be installed."""


class SettingError(ValueError):
    """A setting is missing, wrong or contradicts another."""


class AddressError(SettingError):
    """The address of a scheduler is wrong, or contradicts Dask's configuration or how the scheduler answers."""


class ContentsError(ValueError):
    """What an input holds is damaged, or cannot be used."""


class CannotCreateError(OSError):
    """An output cannot be created at its path."""


class BugError(TypeError):
    """A part of the package, or of one that extends it, gives another what that does not take."""


def is_bug(error: BaseException) -> bool:
    """Return whether an error is a fault of the package, though its type would be that of an error of the input.

    Errors of the input are raised by a statement of the package, or while something is read. A fault is what an
    expression of the package raises, or a library that computes for it.
    """
    if isinstance(error, BugError):
        return True
    if type(error) not in (ValueError, TypeError):
        return False
    steps = [*_steps(error.__traceback__)]
    last = max((i for i, (module, _) in enumerate(steps) if module[0] == __package__), default=None)
    if last is None or steps[last][0][1] in READS:
        return False
    after = steps[last + 1 :]
    return all(module[0] in COMPUTES for module, _ in after) if after else not steps[last][1]


def _steps(trace: TracebackType | None) -> Iterator[tuple[list[str], bool]]:
    """Yield the module of every call in a traceback, in parts, and whether a statement `raise` has left it.

    By its line, as tracebacks that come from workers hold no more; calls whose line is not known count as left so.
    """
    for frame, number in walk_tb(trace):
        line = linecache.getline(frame.f_code.co_filename, number, frame.f_globals).split()
        yield [*str(frame.f_globals.get("__name__")).split("."), ""], line[:1] in ([], ["raise"])
