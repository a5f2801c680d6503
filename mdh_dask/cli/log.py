"""What commands say, and their log."""

import logging

import click

from .._locations import redacted
from .._log import JsonLines, Others, is_json

WHOLE_PROCESS = "whole process"
"""The object of a context of click that ends with its process."""


def log_json(context: click.Context) -> None:
    """Let everything that is told from now on be lines of JSON, until the command has ended.

    Where the process ends with the command, what it says last is JSON, too.
    """
    if is_json():
        return
    for handler in logging.getLogger("mdh_dask").handlers:
        handler.setFormatter(JsonLines())
    others = Others()
    if context.find_root().obj != WHOLE_PROCESS:
        context.find_root().call_on_close(others.close)


def say(text: str) -> None:
    """Tell on standard output what came out."""
    from ..io.folders import naming_place

    with naming_place("standard output"):
        click.echo(redacted(text))
