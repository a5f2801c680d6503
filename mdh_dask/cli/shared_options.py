"""Options that commands share: for inputs and outputs."""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from .._locations import missing
from .._log import is_json
from .names import check_names


class FitCommand(click.Command):
    """A command with the options of the methods, made when needed, as estimators take long to import."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a missing input and unknown names before the options are made."""
        asks = ctx.resilient_parsing or {"-h", "--help"} & {*args}  # a shell for completions, or the user for help
        if not asks:
            check_names(self, ctx, args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of the methods before ``--help``."""
        from .options import method_options

        *own, help_option = super().get_params(ctx)
        return [*own, *method_options(), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the methods under a separate heading."""
        from .options import method_options

        method = method_options()
        own = [p for p in self.get_params(ctx) if isinstance(p, click.Option) and p not in method]
        for title, params in (("Options", own), ("Options of the method", method)):
            with formatter.section(title):
                records = (param.get_help_record(ctx) for param in params)
                formatter.write_dl([record for record in records if record])


MISSING_CHUNKS = click.option(
    "--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True,
    help="Whether missing chunks of a Zarr array are an error or hold the fill value.",
)  # fmt: skip


CONFIDENCE = click.option(
    "--confidence", metavar="PATH",
    help="Path or URL of a Zarr array to write in the same pass: how sure each label is, from 0 to 1.",
)  # fmt: skip

REPORT = click.option("--report", metavar="PATH", help="Path or URL of the HTML report to write.")

PERFORMANCE_REPORT = click.option(
    "--performance-report", metavar="PATH", help="Path or URL of Dask's HTML performance report to write."
)


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the input to a command."""
    for option in (
        MISSING_CHUNKS,
        click.option(
            "--columns", callback=_names, metavar="A,B,C",
            help="Columns to use, in this order: names in a table, otherwise numbers from 0.  [default: all]",
        ),
        click.argument("features", callback=existing),
    ):  # fmt: skip
        command = option(command)
    return command


def existing(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the path of an input, or raise an error if nothing is there."""
    refuse_missing(value)
    return value


def refuse_missing(path: str) -> None:
    """Raise an error for a local path where nothing is, at once: what opens it takes a second to import.

    Raises
    ------
    FileNotFoundError

    Examples
    --------
    >>> refuse_missing("gone.mtx.xz")
    Traceback (most recent call last):
    FileNotFoundError: there is no file at gone.mtx.xz; check the path
    """
    if _is_missing(path):
        raise missing(path)


def _is_missing(path: str) -> bool:
    if any(part in path for part in ("://", "::", "*", "\0")):
        return False
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _model(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if _is_missing(value):
        raise FileNotFoundError(f"{value} is not there; give the path that a model was saved to")
    return value


SAVED_MODEL = click.option(
    "--model", callback=_model, required=True, metavar="PATH", help="Path or URL of a model that fit or segment wrote."
)


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


KIND_NAMES = ("continuous", "ordinal", "categorical")


def kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the kinds of columns to a command."""
    texts = (
        "are numbers",
        "have levels in the order of their values; texts need their order, as size=S:M:L",
        "have levels without an order",
    )
    for kind, text in reversed([*zip(KIND_NAMES, texts)]):
        help_ = f"Columns of a table, or numbers from 0, that {text}.  [default: by the types of the table]"
        places = _ordered_places if kind == "ordinal" else _places
        command = click.option(f"--{kind}", callback=places, metavar="A,B,C", help=help_)(command)
    return command


def _places(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str | int] | None:
    names = _names(ctx, param, value)
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
    for name, equals, levels in (name.partition("=") for name in _names(ctx, param, value) or ()):
        order = [level.strip() for level in levels.split(":")] if equals else None
        if order is not None and not all(order):
            raise click.BadParameter(f"expected levels, as {name}=low:mid:high; got {name}={levels}", ctx, param)
        if _place(name) in found:
            raise click.BadParameter(f"expected every column once; got {name!r} twice", ctx, param)
        found[_place(name)] = order
    return found


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for progress bars and existing outputs to a command."""
    for option in (
        click.option("--progress/--no-progress", default=None, help="Show progress bars.  [default: in a terminal]"),
        click.option("--overwrite", is_flag=True, help="Replace existing outputs."),
    ):
        command = option(command)
    return command


def wants_progress(progress: bool | None) -> bool:
    """Return whether to show progress bars: as requested, by default in a terminal, and never with a JSON log."""
    return not is_json() and (sys.stderr.isatty() if progress is None else progress)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading an image to a command."""
    for option in (
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
    ):  # fmt: skip
        command = option(command)
    return command


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
