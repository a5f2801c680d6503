"""The commands: fit, predict, drift, run, segment, demo."""

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .clusters import cluster, cluster_options, scheduler_options
from .exits import EXIT_CODES, Commands, leaving_at_once
from .log import JsonLines, Lines, is_json


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="mdh_dask")
@click.option(
    "--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]), show_default=True,
    help="What is told on standard error.",
)  # fmt: skip
@click.option("--log-json", is_flag=True, help="Tell it as lines of JSON.")
@click.pass_context
def mdh(ctx: click.Context, log_level: str, log_json: bool) -> None:
    """Cluster data that do not fit on one machine by low-density separators."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_json else Lines())
    logger = logging.getLogger("mdh_dask")
    logger.setLevel(log_level.upper())
    logger.addHandler(handler)
    ctx.call_on_close(lambda: logger.removeHandler(handler))


def main() -> None:
    """Entry point of ``mdh-dask``."""
    with leaving_at_once():
        mdh(prog_name="mdh-dask")


class FitCommand(click.Command):
    """A command with the options of the methods, made when they are asked for: estimators take long to import."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of the methods before ``--help``."""
        from .options import method_options

        *own, help_option = super().get_params(ctx)
        return [*own, *method_options(), help_option]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the methods under a heading of their own."""
        from .options import method_options

        method = method_options()
        own = [p for p in self.get_params(ctx) if isinstance(p, click.Option) and p not in method]
        for title, params in (("Options", own), ("Options of the method", method)):
            with formatter.section(title):
                records = (param.get_help_record(ctx) for param in params)
                formatter.write_dl([record for record in records if record])


def input_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command its input."""
    for option in (
        click.option(
            "--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True,
            help="What to do about chunks of Zarr that are not stored: refuse, or take them for the fill value.",
        ),
        click.option(
            "--columns", callback=_names, metavar="A,B,C",
            help="Columns to take, in this order: names in a table, else numbers from 0.  [default: all]",
        ),
        click.argument("features"),
    ):  # fmt: skip
        command = option(command)
    return command


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of how it writes and what it shows."""
    for option in (
        click.option("--progress/--no-progress", default=None, help="Progress bars.  [default: in a terminal]"),
        click.option("--overwrite", is_flag=True, help="Replace outputs that exist."),
    ):
        command = option(command)
    return command


def wants_progress(progress: bool | None) -> bool:
    """Return whether to show progress bars: as asked, else in a terminal; among lines of JSON, never."""
    return not is_json() and (sys.stderr.isatty() if progress is None else progress)


CLUSTER_SETTINGS = (
    "scheduler", "scheduler_file", "scheduler_timeout", "workers", "threads_per_worker", "memory_limit",
)  # fmt: skip
"""Names of what `cluster_options` gives."""


@mdh.command(cls=FitCommand)
@input_options
@click.option("--out", metavar="PATH", help="Zarr array of labels to write; a path or URL.")
@click.option("--model", metavar="PATH", help="Model to write; a path or URL.")
@click.option("--report", metavar="FILE", help="HTML report to write.")
@output_options
@cluster_options
@click.pass_context
def fit(
    ctx: click.Context, features: str, columns: list[str] | None, missing_chunks: Any, overwrite: bool,
    progress: bool | None, **options: Any,
) -> None:  # fmt: skip
    """Cluster the rows of FEATURES.

    FEATURES is the path or URL of a Zarr array, that of an array in a group being store.zarr/array, of a .npy file, or
    of a Parquet file or folder.
    """
    from .options import estimator_of
    from .outputs import Outputs
    from .pipeline import fit_features

    outputs = Outputs(options.pop("out"), options.pop("model"), options.pop("report"), overwrite)
    outputs.check(features)
    working_on = cluster(**{name: options.pop(name) for name in CLUSTER_SETTINGS})
    estimator = estimator_of(ctx, options.pop("method"), options, wants_progress(progress))
    click.echo(fit_features(features, estimator, outputs, missing_chunks, working_on, columns))


@mdh.command()
@input_options
@click.option("--model", required=True, metavar="PATH", help="Model that fit wrote; a path or URL.")
@click.option("--out", required=True, metavar="PATH", help="Zarr array of labels to write; a path or URL.")
@output_options
@cluster_options
def predict(
    features: str, columns: list[str] | None, model: str, out: str, missing_chunks: Any, overwrite: bool,
    progress: bool | None, **settings: Any,
) -> None:  # fmt: skip
    """Label the rows of FEATURES with a model.

    FEATURES is what fit takes. Of a table, the columns are taken that the model was fitted to.
    """
    from .outputs import Outputs
    from .pipeline import predict_features

    outputs = Outputs(out, overwrite=overwrite)
    outputs.check(features, model)
    shown = wants_progress(progress)
    click.echo(predict_features(features, model, outputs, missing_chunks, shown, cluster(**settings), columns))


def _share(default: float, most: float, text: str) -> dict[str, Any]:
    kind = click.FloatRange(min=0, min_open=True, max=most)
    return {"default": default, "type": kind, "show_default": True, "metavar": "SHARE", "help": text}


@mdh.command()
@input_options
@click.option("--model", required=True, metavar="PATH", help="Model that fit wrote; a path or URL.")
@click.option("--report", metavar="FILE", help="HTML report to write.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON instead of tables.")
@click.option("--threshold", **_share(0.1, 1, "Drift is if more than this share of rows lies elsewhere."))
@click.option("--filled", **_share(0.5, 1, "Drift is if more than this share of a valley is filled in."))
@click.option("--false-alarms", **_share(0.001, 0.5, "Probability that chance alone is taken for drift."))
@output_options
@cluster_options
@click.pass_context
def drift(
    ctx: click.Context, features: str, columns: list[str] | None, model: str, missing_chunks: Any, report: str | None,
    as_json: bool, threshold: float, filled: float, false_alarms: float, overwrite: bool, progress: bool | None,
    **settings: Any,
) -> None:  # fmt: skip
    """Compare the rows of FEATURES with those that a model was fitted to.

    FEATURES is what fit takes. Its rows are read once. The exit code is 0 if they are distributed as those of the model
    at all of its splits, and 3 if there is drift.
    """
    from .drift import drift_of_features
    from .exits import DRIFT
    from .outputs import Outputs

    outputs = Outputs(report=report, overwrite=overwrite)
    if report is not None:
        outputs.check(features, model)
    limits = {"threshold": threshold, "filled": filled, "false_alarms": false_alarms}
    shown = wants_progress(progress)
    found = drift_of_features(features, model, outputs, limits, missing_chunks, shown, cluster(**settings), columns)
    click.echo(json.dumps(found.to_dict(), indent=1, allow_nan=False) if as_json else found.to_text())
    if found.found:
        ctx.exit(DRIFT)


@mdh.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only check the job and its input, and tell what it would need.")
@click.option("--restart", is_flag=True, help="Give up what was done of a job that was interrupted or has changed.")
@output_options
@scheduler_options
def run(
    job: Path, check: bool, restart: bool, overwrite: bool, progress: bool | None, scheduler: str | None,
    scheduler_file: Path | None, scheduler_timeout: float,
) -> None:  # fmt: skip
    """Do what the file JOB says, in TOML.

    A run that was interrupted or killed goes on where it was when the same command is given again, and ends with the
    same outputs. If the job is finished, nothing is done. A scheduler that is named here stands for the cluster of the
    file.
    """
    from .check import check_job
    from .jobs import read_job
    from .log import log_json
    from .run import run_job

    described = read_job(job)
    if scheduler or scheduler_file:
        described = described.elsewhere(scheduler, scheduler_file, scheduler_timeout)
    if described.run["log_json"]:
        log_json()
    if check:
        click.echo(check_job(described, overwrite=overwrite))
        return
    click.echo(run_job(described, restart=restart, overwrite=overwrite, progress=wants_progress(progress)))


def _index(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, int]:
    pairs = [value.partition("=") for value in values]
    for axis, _, place in pairs:
        if not axis or not place.isdecimal():
            raise click.BadParameter(f"expected an axis and a place, as t=0; got {axis + _ + place!r}")
    return {axis: int(place) for axis, _, place in pairs}


def _odd(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value is not None and value % 2 == 0:
        raise click.BadParameter(f"expected an odd number, so that a pixel is in the middle; got {value}")
    return value


def image_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an image and what of it is clustered."""
    for option in (
        click.option(
            "--sample", type=click.IntRange(min=2), metavar="N",
            help="Grow the tree on N pixels, which one pass draws; another labels all. By default it is grown on all.",
        ),
        click.option(
            "--coordinates", type=click.FloatRange(min=0, min_open=True), metavar="WEIGHT",
            help="Add line and column of a pixel, which at 1 vary as much as a band does.",
        ),
        click.option(
            "--window", type=click.IntRange(min=3), callback=_odd, metavar="N",
            help="Add mean and standard deviation of every band in a square of N x N pixels around the pixel.",
        ),
        click.option(
            "--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True,
            help="What to do about chunks of Zarr that are not stored: refuse, or take them for the fill value.",
        ),
        click.option(
            "--index", multiple=True, callback=_index, metavar="AXIS=N",
            help="Place on another axis, as t=0; series=1 is the second image in a TIFF. May be given again.",
        ),
        click.option(
            "--axes", metavar="LETTERS",
            help="What the axes of a TIFF or Zarr image are, as yxc or cyx with c for the bands, if it does not say.",
        ),
        click.argument("image"),
    ):  # fmt: skip
        command = option(command)
    return command


@mdh.command(cls=FitCommand)
@image_options
@click.option("--out", metavar="PATH", help="Zarr image of labels to write; a path or URL.")
@click.option("--model", metavar="PATH", help="Model to write; a path or URL.")
@click.option(
    "--preview", metavar="FILE", help="PNG to write: segments in their mean colours, at most 2000 pixels wide."
)
@click.option("--report", metavar="FILE", help="HTML report to write.")
@output_options
@cluster_options
@click.pass_context
def segment(
    ctx: click.Context, image: str, axes: str | None, index: dict[str, int], missing_chunks: Any, window: int | None,
    coordinates: float | None, sample: int | None, overwrite: bool, progress: bool | None, **options: Any,
) -> None:  # fmt: skip
    """Segment IMAGE: cluster its pixels by their bands.

    IMAGE is the path or URL of a picture as PNG or JPEG, a TIFF, an OME-Zarr group or a Zarr array of lines, columns
    and bands in any order. It is read block by block, pictures whole.
    """
    from ..io.images import open_image
    from .options import estimator_of
    from .outputs import ImageOutputs
    from .segment import PixelOptions, segment_image

    given = {name: options.pop(name) for name in ("model", "report", "preview")}
    outputs = ImageOutputs(options.pop("out"), overwrite=overwrite, **given)
    outputs.check(image)
    working_on = cluster(**{name: options.pop(name) for name in CLUSTER_SETTINGS})
    estimator = estimator_of(ctx, options.pop("method"), options, wants_progress(progress))
    opened = open_image(image, axes=axes, index=index, missing_chunks=missing_chunks)
    summary = segment_image(opened, estimator, PixelOptions(window, coordinates, sample), outputs, working_on)
    click.echo(f"{summary}: {outputs.kept()}")


@mdh.command()
@click.option("--image", default="flower", show_default=True, help="'flower', 'china', or a picture of your own.")
@click.option(
    "--out", default="mdh-dask-demo", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@output_options
@cluster_options
def demo(image: str, out: Path, overwrite: bool, progress: bool | None, **settings: Any) -> None:
    """Segment a photograph end to end and write a report."""
    from .outputs import require

    require("PIL", "demo")
    require("jinja2", "demo")
    from .demo import segment_photograph

    # One worker in this process compiles the loops once; every worker process would compile them again.
    working_on = cluster(**settings, processes=settings["workers"] is not None)
    click.echo(segment_photograph(image, out, overwrite, wants_progress(progress), working_on))
