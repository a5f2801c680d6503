"""Errors as one line and an exit code for job schedulers, after BSD's ``sysexits.h``."""

import errno
import logging
import os
import re
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from .._errors import FULL, NO_CREDENTIALS, CannotCreateError, SettingError, is_bug
from .._fields import JobError
from .._locations import printable, redacted
from .._log import JsonLines, Others, is_json
from .interrupts import HungUp, Terminated, signals_raised

logger = logging.getLogger(__name__)

FAILED, USAGE, DRIFT, BAD_DATA, NO_INPUT, MISSING_PACKAGE, NO_MEMORY, CANNOT_CREATE = 1, 2, 3, 65, 66, 69, 70, 73
NOT_READ_OR_WRITTEN, TRY_AGAIN, NOT_PERMITTED, BAD_JOB = 74, 75, 77, 78
HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143

EXIT_CODES = """\b
Exit codes:
  0    done
  2    the command line is wrong
  3    drift: the new rows are not distributed as those of the model
  65   the input is invalid, or all new scenes of a night are: shape, values, or other columns than the model's
  66   the input is missing
  69   a package is missing
  70   out of memory: more memory or smaller blocks will help, a retry will not
  73   an output exists or cannot be made
  74   reading or writing failed
  75   the cluster or a server was not reached or was lost, or another run holds the lock: may succeed later
  77   no permission, or a certificate that is not trusted
  78   the job file is wrong, or it or its input has changed since the job began
  130  interrupted (143: by SIGTERM, 129: by SIGHUP); finished outputs stay, others are removed, but run resumes when
       run again
  1    anything else, with a traceback
"""

LOST_CLUSTER = (
    "CommClosedError",
    "FutureCancelledError",
    "FuturesCancelledError",
    "NoValidWorkerError",
    "CancelledError",
    "ClosedClientError",
)

LOST_SERVER = (
    "EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ClientConnectorError",
    "ServiceRequestError", "ServiceResponseError", "TransportError",
)  # fmt: skip
"""Errors of object store clients (S3, Azure, GCS), by name, as the clients need not be installed."""

LACK_OF_MEMORY = ("KilledWorker", "DiedWorkersError")
"""Names of errors that mean that one task has killed several workers."""

SPELLINGS = {
    "expected labels, model or report": "expected --out, --model or --report",
    "expected labels, model, preview, connected, regions or report": "expected --out, --model, --preview, --connected, "
    "--regions or --report",
    "expected labels, connected or regions with sieve": "expected --out, --connected or --regions with --sieve",
    "leave sieve out": "leave --sieve out",
    "folder=...": "--out",
    "timeout=...": "--scheduler-timeout",
    "with index": "with --index",
    "as categorical or ordinal in column_types": "with --categorical or --ordinal",
    "leave out column_types": "leave out --categorical, --ordinal and --continuous",
}
"""What errors name for Python, as spelt on the command line; settings that are options of the command aside."""

JOB_SPELLINGS = {
    "missing_chunks='fill'": "missing_chunks = 'fill' in [input]",
    "axes='yxc'": "axes = 'yxc' in [input]",
    "columns=...": "columns in [input]",
    "nodata=... and mask=...": "nodata and mask in [input]",
    "with index": "with index in [input]",
    "as categorical or ordinal in column_types": "as categorical or ordinal in columns of [input]",
    "leave out column_types": "leave out columns of [input]",
    "timeout=...": "timeout in [cluster], or with --scheduler-timeout beside --scheduler",
}
"""The remedies as spelt in a job file, where that differs."""

SETTING = re.compile(r"\b(\w+)=(?:True\b|\.\.\.|'([^']+)')")
"""A setting in a message, as ``overwrite=True``, ``columns=...`` or ``missing='drop'``."""


def _is_of_certificates(error: BaseException) -> bool:
    """Return whether a certificate was refused: then trying again does not help, though no server was reached."""
    cause: BaseException | None = error
    seen: list[BaseException] = []  # causes go in circles where the first of them was raised from the last
    while cause is not None and not any(cause is one for one in seen):
        seen.append(cause)
        reason = getattr(cause, "reason", None) if isinstance(cause, ssl.SSLError) else None
        if isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(reason) or "_CA" in str(reason):
            return True
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return False


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error, such as 75 if the same command may succeed later, or 65 for invalid data."""
    name = type(error).__name__
    if is_bug(error):
        return FAILED
    if name in LACK_OF_MEMORY or isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return NO_MEMORY
    if _is_of_certificates(error):
        return NOT_PERMITTED
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {*LOST_CLUSTER, *LOST_SERVER} or isinstance(error, (TimeoutError, ConnectionError)):
        return TRY_AGAIN
    if names & {*NO_CREDENTIALS}:
        return NOT_PERMITTED
    for kinds, code in (
        (Terminated, TERMINATED),
        (HungUp, HUNG_UP),
        ((KeyboardInterrupt, click.Abort), INTERRUPTED),
        ((FileExistsError, IsADirectoryError, CannotCreateError), CANNOT_CREATE),
        (PermissionError, NOT_PERMITTED),
        (BlockingIOError, TRY_AGAIN),
        (JobError, BAD_JOB),
        (SettingError, USAGE),
        ((FileNotFoundError, NotADirectoryError), NO_INPUT),
        (OSError, NOT_READ_OR_WRITTEN),
        (ImportError, MISSING_PACKAGE),
        ((ValueError, TypeError), BAD_DATA),
    ):
        if isinstance(error, kinds):
            return code
    return FAILED


def message_of(error: BaseException, command: click.Command | None = None) -> str:
    r"""Return the message of an error in one line, with its remedies as spelt for a command."""
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return str(error) or "interrupted; unfinished outputs are removed"
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError):
        return (
            f"out of memory ({text}): give workers more memory or fewer threads, or make blocks smaller by "
            "DASK_MDH_DASK__BLOCK_SIZE=8MiB in the environment"
        )
    if isinstance(error, OSError) and error.errno in FULL:
        return f"{error.strerror}: {error.filename!r}: make room, or name another place; what was there stays"
    if type(error).__name__ in LOST_CLUSTER:
        return f"the cluster was lost ({text.rstrip('.')}): the same command may succeed later"
    given = [] if command is None else command.params
    options = {option.name or "": option.opts[0] for option in given if isinstance(option, click.Option)}
    spellings = SPELLINGS | (JOB_SPELLINGS if command is not None and command.name == "run" else {})
    for python, option in spellings.items():
        text = text.replace(python, option)
    return SETTING.sub(lambda found: _as_typed(found, options), text)


def _as_typed(setting: re.Match[str], options: Mapping[str, str]) -> str:
    """Return a setting as the option that sets it, or as it is if there is none."""
    name, value = setting.groups()
    return setting[0] if name not in options else f"{options[name]} {value}" if value else options[name]


class Commands(click.Group):
    """Commands that end with an exit code of this module, both as ``mdh-dask`` and as ``dask mdh``."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error becomes one line in the log and an exit code."""
        try:
            with signals_raised():
                return super().invoke(ctx)
        except (click.ClickException, SettingError) as error:
            invoked = self._invoked(ctx)
            wrong = click.UsageError(message_of(error, invoked)) if isinstance(error, SettingError) else error
            wrong.message = printable(redacted(wrong.message), kept="\n")  # type: ignore[misc]
            if not is_json():
                raise wrong from None
            logger.error("%s", wrong.format_message())
            ctx.exit(wrong.exit_code)
        except click.exceptions.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:
            code = exit_code(error)
            logger.error("%s", message_of(error, self._invoked(ctx)), exc_info=code == FAILED)
            ctx.exit(code)

    def _invoked(self, ctx: click.Context) -> click.Command | None:
        """Return the command that was invoked, or None if there is none of its name."""
        return self.get_command(ctx, ctx.invoked_subcommand) if ctx.invoked_subcommand else None


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End the process after an interrupted command has cleaned up, without waiting for threads.

    A thread that was starting when the signal came is unknown to the code that would stop it, so waiting
    for it, as Python does at exit, would never end.
    """
    try:
        yield
    except SystemExit as ended:
        if ended.code not in (HUNG_UP, INTERRUPTED, TERMINATED):
            raise
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # the terminal is gone
                stream.flush()
        os._exit(ended.code)


WHOLE_PROCESS = "whole process"
"""Marks a click context that ends together with its process."""


def log_json(context: click.Context) -> None:
    """Log lines of JSON from now on, until the command has ended.

    If the process ends with the command, its last messages are JSON, too.
    """
    if is_json():
        return
    for handler in logging.getLogger("mdh_dask").handlers:
        handler.setFormatter(JsonLines())
    others = Others()
    if context.find_root().obj != WHOLE_PROCESS:
        context.find_root().call_on_close(others.close)


def say(text: str) -> None:
    """Print a result to standard output."""
    from ..io.staging import naming_place

    with naming_place("standard output"):
        click.echo(printable(redacted(text), kept="\n\t"))
