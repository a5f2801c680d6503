"""Options that commands share: inputs, outputs, parameters of methods, and where it runs."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._locations import missing
from .._log import is_json
from ..clusters import start_cluster
from ..clusters.current import LOCAL_SCHEDULERS, AutoCluster, is_memory
from .exits import say

if TYPE_CHECKING:
    from ..workflows._fit import FitLine


def adding(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that adds options to a command; its help lists the last first."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in options:
            command = option(command)
        return command

    return add


def text_options(metavar: str, /, **texts: str) -> Callable[..., Any]:
    """Return a decorator that adds options of one kind to a command, in this order, with texts for its help."""
    flags = {f"--{name.replace('_', '-')}": text for name, text in texts.items()}
    return adding(*(click.option(flag, metavar=metavar, help=text) for flag, text in reversed(flags.items())))


path_options, column_options = partial(text_options, "PATH"), partial(text_options, "NAME")
"""Options for paths or URLs, and for columns of the input."""

MISSING_CHUNKS = click.option(
    "--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True,
    help="Whether missing chunks of a Zarr array are an error or hold the fill value.",
)  # fmt: skip


CONFIDENCE = path_options(
    confidence="Path or URL of a Zarr array to write in the same pass: how sure each label is, from 0 to 1."
)

IDS = click.option(
    "--ids", is_flag=True, help="Write the ids of clusters, which stay from night to night, in place of their labels."
)

ID_COLUMN = column_options(id_column="Column of FEATURES that names each row, to write beside labels in Parquet.")

NUMBERS = click.option("--json", "as_json", is_flag=True, help="Print all numbers as JSON instead of text.")


def as_text(numbers: Mapping[str, Any]) -> str:
    """Return numbers as JSON."""
    return json.dumps(numbers, indent=1, allow_nan=False)


def say_fit(line: "FitLine", estimator: Any, as_json: bool) -> None:
    """Print a line on a fit, or its numbers as JSON."""
    from ..workflows.facts import numbers_of

    say(as_text(numbers_of(estimator, line.counts)) if as_json else line)


REPORT = path_options(report="Path or URL of the HTML report to write.")


def _is_missing(path: str) -> bool:
    if not path:  # as that of a variable of the shell that is not set
        raise click.BadParameter("expected the path or URL of an input; got an empty one")
    if any(part in path for part in ("://", "::", "*", "\0")):
        return False
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def existing(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the path of an input, or raise an error at once if nothing is there: what opens it takes a second."""
    if _is_missing(value):
        raise missing(value)
    return value


def names_of(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Return the names in a list with commas."""
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


input_options = adding(
    MISSING_CHUNKS,
    click.option(
        "--columns", callback=names_of, metavar="A,B,C",
        help="Columns to use, in this order: names in a table, otherwise numbers from 0.  [default: all]",
    ),
    click.argument("features", callback=existing),
)  # fmt: skip
"""The input of a command."""


def _model(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if _is_missing(value):
        raise FileNotFoundError(f"{value} is not there; give the path that a model was saved to")
    return value


SAVED_MODEL = click.option(
    "--model", callback=_model, required=True, metavar="PATH", help="Path or URL of a model that fit or segment wrote."
)


def _places(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str | int] | None:
    names = names_of(ctx, param, value)
    return None if names is None else [_place(name) for name in names]


def _place(name: str) -> str | int:
    return int(name) if name.isdecimal() else name


def _ordered_places(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> list[str | int] | dict[str | int, list[str] | None] | None:
    """Return columns, or their levels in order, with None for columns of numbers, if any levels are given."""
    if value is None or "=" not in value:
        return _places(ctx, param, value)
    found: dict[str | int, list[str] | None] = {}
    for name, equals, levels in (name.partition("=") for name in names_of(ctx, param, value) or ()):
        order = [level.strip() for level in levels.split(":")] if equals else None
        if order is not None and not all(order):
            raise click.BadParameter(f"expected levels, as {name}=low:mid:high; got {name}={levels}", ctx, param)
        if _place(name) in found:
            raise click.BadParameter(f"expected every column once; got {name!r} twice", ctx, param)
        found[_place(name)] = order
    return found


KINDS_OF_COLUMNS = {
    "continuous": (_places, "are numbers"),
    "ordinal": (_ordered_places, "have levels in the order of their values; texts need their order, as size=S:M:L"),
    "categorical": (_places, "have levels without an order"),
}
"""Kinds of columns: what reads them, and what they are."""

kind_options = adding(
    *(
        click.option(
            f"--{kind}", callback=places, metavar="A,B,C",
            help=f"Columns of a table, or numbers from 0, that {text}.  [default: by the types of the table]",
        )
        for kind, (places, text) in reversed(KINDS_OF_COLUMNS.items())
    )
)  # fmt: skip

output_options = adding(
    click.option("--progress/--no-progress", default=None, help="Show progress bars.  [default: in a terminal]"),
    click.option("--overwrite", is_flag=True, help="Replace existing outputs."),
)
"""Progress bars and existing outputs."""


def wants_progress(progress: bool | None) -> bool:
    """Return whether to show progress bars: as requested, by default in a terminal, and never with a JSON log."""
    return not is_json() and (sys.stderr.isatty() if progress is None else progress)


def _nodata(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    from ..images.validity import nodata_of

    try:
        return nodata_of(value)
    except ValueError:
        raise click.BadParameter(f"expected a number or 'none'; got {value!r}") from None


def _index(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    pairs = [value.partition("=") for value in values]
    for axis, _, place in pairs:
        if not axis or not place.isdecimal():
            raise click.BadParameter(f"expected an axis and an index, as t=0; got {axis + _ + place!r}")
    return {axis: int(place) for axis, _, place in pairs}


reading_options = adding(
    click.option(
        "--mask", metavar="PATH",
        help="Image with one band, zero where the pixels of the image hold no data; of several with {scene}.",
    ),
    click.option(
        "--nodata", callback=_nodata, metavar="VALUE",
        help="Pixels with this value in any band hold no data, are left out and get the label -1; 'none': all "
        "pixels hold data.  [default: what the image declares, and NaN]",
    ),
    click.option(
        "--index", multiple=True, callback=_index, metavar="AXIS=N",
        help="Index on another axis, as t=0; series=1 is the second image in a TIFF, level=2 an overview. Can "
        "be repeated.",
    ),
    click.option(
        "--axes", metavar="LETTERS",
        help="Axes of a TIFF or Zarr image that does not name them, as yxc or cyx with c for the bands.",
    ),
)  # fmt: skip
"""How an image is read."""


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None or value == "auto" or is_memory(value):
        return value
    raise click.BadParameter(f"expected 'auto' or an amount of 100 MB or more, as 2GB; got {value!r}")


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if not value or value in LOCAL_SCHEDULERS or ":" in value:
        return value
    raise click.BadParameter(f"expected an address, as tcp://host:8786, or 'threads'; got {value!r}")


scheduler_options = adding(
    click.option(
        "--scheduler-timeout", type=click.FloatRange(min=0, min_open=True), default=60, show_default=True,
        metavar="SECONDS", help="How long to wait for a running scheduler and for its first worker.",
    ),
    click.option(
        "--scheduler-file", type=click.Path(dir_okay=False, path_type=Path), help="File of a running scheduler."
    ),
    click.option(
        "--scheduler", callback=_address, metavar="ADDRESS",
        help="Running scheduler, as tcp://host:8786; or 'threads': this process only.",
    ),
)  # fmt: skip
"""A running scheduler."""

cluster_options = adding(
    click.option(
        "--memory-limit", callback=_memory, metavar="BYTES", help="Memory of each worker, as 2GB."
    ),
    click.option("--threads-per-worker", type=click.IntRange(min=1), metavar="N", help="Threads of each worker."),
    click.option(
        "--workers", type=click.IntRange(min=1), metavar="N",
        help="Worker processes to start on this machine.  [default: none for small data]",
    ),
    scheduler_options,
)  # fmt: skip
"""Where a command runs."""


def cluster_table(
    scheduler: str | None, scheduler_file: Path | None, scheduler_timeout: float, **local: Any
) -> dict[str, Any]:
    """Return the options of `cluster_options` as the table ``[cluster]`` of a job file."""
    given = {name: value for name, value in local.items() if value is not None}
    if scheduler and scheduler_file:
        raise click.UsageError("expected --scheduler or --scheduler-file; got both: leave one out")
    if not (scheduler or scheduler_file):
        return {"kind": "local", **given}
    if given:
        flag = next(iter(given)).replace("_", "-")
        raise click.UsageError(f"--{flag} is for workers started here: leave it or --scheduler out")
    if scheduler in LOCAL_SCHEDULERS:
        return {"kind": scheduler}
    if scheduler:
        return {"kind": "scheduler", "address": scheduler, "timeout": scheduler_timeout}
    return {"kind": "scheduler-file", "file": str(scheduler_file), "timeout": scheduler_timeout}


CLUSTER_SETTINGS = (
    "scheduler", "scheduler_file", "scheduler_timeout", "workers", "threads_per_worker", "memory_limit",
)  # fmt: skip
"""Names of the parameters from `cluster_options`."""


def cluster_of(options: dict[str, Any]) -> AbstractContextManager[str]:
    """Remove the options of `cluster_options` from those of a command and return the cluster that they choose.

    Without any, the size of the rows chooses. Raises a UsageError if they contradict each other.
    """
    table = cluster_table(**{name: options.pop(name) for name in CLUSTER_SETTINGS})
    return AutoCluster() if table == {"kind": "local"} else start_cluster(**table)
