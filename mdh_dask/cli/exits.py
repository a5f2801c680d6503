"""Exit codes that a scheduler of jobs understands, after BSD's ``sysexits.h``."""

import logging
import sys
from collections.abc import Callable
from typing import NoReturn

import click

logger = logging.getLogger(__name__)

OK, FAILED, USAGE = 0, 1, 2
BAD_DATA, NO_INPUT, CANNOT_CREATE, TRY_AGAIN, INTERRUPTED = 65, 66, 73, 75, 130

LOST_CLUSTER = ("KilledWorker", "CommClosedError", "FutureCancelledError", "NoValidWorkerError", "CancelledError")


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error: 75 where the same command may succeed later, 65 where the data are at fault.

    Examples
    --------
    >>> exit_code(FileExistsError()), exit_code(ValueError()), exit_code(TimeoutError())
    (73, 65, 75)
    """
    if type(error).__name__ in LOST_CLUSTER or isinstance(error, (TimeoutError, ConnectionError)):
        return TRY_AGAIN
    for kinds, code in (
        ((KeyboardInterrupt, click.Abort), INTERRUPTED),
        ((FileExistsError, PermissionError), CANNOT_CREATE),
        ((FileNotFoundError, NotADirectoryError), NO_INPUT),
        ((ValueError, TypeError), BAD_DATA),
    ):
        if isinstance(error, kinds):
            return code
    return FAILED


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command and leave the process with its exit code; errors are logged in one line."""
    try:
        command()
        sys.exit(OK)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (Exception, KeyboardInterrupt) as error:
        code = exit_code(error)
        logger.error("%s", str(error) or type(error).__name__, exc_info=code == FAILED)
        sys.exit(code)
