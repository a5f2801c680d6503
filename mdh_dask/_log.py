"""The log as lines of text or of JSON."""

import json
import logging
import sys
import threading
from datetime import UTC, datetime

from ._locations import all_redacted, printable, redacted


class Lines(logging.Formatter):
    """Lines of text, one for a message, whatever names it holds; a traceback follows in lines of its own."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return printable(redacted(super().format(record)), kept="\n\t")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a message."""
        return printable(super().formatMessage(record))


class JsonLines(logging.Formatter):
    """One JSON object for every record: time, level, message, and the entries of ``extra={"fields": ...}``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(all_redacted(line))


def is_json() -> bool:
    """Return whether the log is JSON."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger("mdh_dask").handlers)


class Others:
    """Log the records of libraries, but for loggers with handlers (`besides`), warnings and unhandled errors."""

    def __init__(self, besides: tuple[str, ...] = ("mdh_dask",)) -> None:
        self._hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
        self._handler = logging.StreamHandler()
        self._handler.setFormatter(JsonLines())
        self._handler.addFilter(lambda record: not record.name.startswith(besides))
        logging.getLogger().addHandler(self._handler)
        logging.captureWarnings(True)
        sys.excepthook = lambda kind, error, trace: _tell(error)
        threading.excepthook = lambda about: _tell(about.exc_value)
        sys.unraisablehook = lambda about: _tell(about.exc_value)
        format_others()

    def close(self) -> None:
        """Restore the former handlers."""
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(self._handler)
        sys.excepthook, threading.excepthook, sys.unraisablehook = self._hooks


def format_others() -> None:
    """Let handlers that libraries install on import write lines of JSON to standard error."""
    for logger in logging.getLogger().manager.loggerDict.values():
        for handler in getattr(logger, "handlers", ()):
            if isinstance(handler, logging.StreamHandler) and handler.stream in (sys.stderr, sys.__stderr__):
                handler.setFormatter(JsonLines())


def _tell(error: BaseException | None) -> None:
    if error is not None and not isinstance(error, SystemExit):
        logging.getLogger("python").critical("%s: %s", type(error).__name__, error, exc_info=error)
