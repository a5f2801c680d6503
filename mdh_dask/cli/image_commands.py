"""The commands for images: segment, demo."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..clusters.current import local_cluster
from ..clusters.kinds import start_cluster
from .log import say
from .shared_options import (
    CLUSTER_SETTINGS,
    MISSING_CHUNKS,
    PERFORMANCE_REPORT,
    REPORT,
    FitCommand,
    axes_options,
    check_recording,
    cluster_options,
    cluster_table,
    output_options,
    wants_progress,
)


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
        MISSING_CHUNKS,
        axes_options,
        click.argument("image"),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command(cls=FitCommand)
@image_options
@click.option("--out", metavar="PATH", help="Zarr image of labels to write; a path or URL.")
@click.option("--model", metavar="PATH", help="Model to write; a path or URL.")
@click.option(
    "--preview", metavar="FILE", help="PNG to write: segments in their mean colours, at most 2000 pixels wide."
)
@REPORT
@PERFORMANCE_REPORT
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
    from ..workflows.outputs import ImageOutputs
    from ..workflows.reading import Reading
    from ..workflows.segment import PixelOptions, segment_image
    from .options import estimator_of

    given = {name: options.pop(name) for name in ("model", "report", "preview", "performance_report")}
    outputs = ImageOutputs(options.pop("out"), overwrite=overwrite, **given)
    outputs.check(image)
    check_recording(outputs.performance_report, options["scheduler"])
    working_on = start_cluster(**cluster_table(**{name: options.pop(name) for name in CLUSTER_SETTINGS}))
    estimator = estimator_of(ctx, options.pop("method"), options, wants_progress(progress))
    opened = Reading(missing_chunks, axes=axes, index=index).image(image)
    found = segment_image(opened, estimator, PixelOptions(window, coordinates, sample), outputs, working_on)
    say(f"{found.summary}: {outputs.kept()}")


@click.command()
@click.option("--image", default="flower", show_default=True, help="'flower', 'china', or a picture of your own.")
@click.option(
    "--out", default="mdh-dask-demo", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@output_options
@cluster_options
def demo(image: str, out: Path, overwrite: bool, progress: bool | None, **settings: Any) -> None:
    """Segment a photograph end to end and write a report."""
    from .._packages import require

    require("PIL", "demo")
    require("jinja2", "demo")
    from ..workflows.demo import segment_photograph

    table = cluster_table(**settings)
    kind = table.pop("kind")
    # One worker in this process compiles the loops once; every worker process would compile them again.
    in_here = kind == "local" and "workers" not in table
    working_on = local_cluster(**table, processes=False) if in_here else start_cluster(kind, **table)
    say(segment_photograph(image, out, overwrite, wants_progress(progress), working_on))
