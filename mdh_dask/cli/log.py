"""The log as lines of text or of JSON."""

import json
import logging
from datetime import UTC, datetime

import click

from .._locations import all_redacted, redacted


class Lines(logging.Formatter):
    """Lines that people read."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        return redacted(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object for every record: time, level, message, and what is given as ``extra={"fields": ...}``.

    Examples
    --------
    >>> record = logging.LogRecord("mdh_dask", logging.INFO, "", 0, "pass %s", (1,), None)
    >>> record.fields = {"n_rows": 9}
    >>> json.loads(JsonLines().format(record))["message"]
    'pass 1'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
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
    """Tell whether lines of the log are JSON."""
    return any(isinstance(handler.formatter, JsonLines) for handler in logging.getLogger("mdh_dask").handlers)


def log_json() -> None:
    """Let everything that is told from now on be lines of JSON."""
    for handler in logging.getLogger("mdh_dask").handlers:
        handler.setFormatter(JsonLines())


def say(text: str) -> None:
    """Tell on standard output what came out."""
    click.echo(redacted(text))
