"""The output and the log of commands."""

import logging

import click

from .._locations import printable, redacted
from .._log import JsonLines, Others, is_json

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
