"""The commands for images: segment and demo."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..clusters import start_cluster
from ..clusters.current import local_cluster
from .exits import say
from .options import (
    MISSING_CHUNKS,
    adding,
    cluster_of,
    cluster_options,
    cluster_table,
    existing,
    names_of,
    output_options,
    path_options,
    reading_options,
    say_fit,
    wants_progress,
)
from .parameters import FitCommand, estimator_of, fit_options


def _odd(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value is not None and value % 2 == 0:
        raise click.BadParameter(f"expected an odd number, so that a pixel is in the middle; got {value}")
    return value


def _side(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    if value in (None, "auto", "none"):
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"expected auto, none or a number of pixels; got {value}")
    return int(value)


def _features(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    if not value:
        return ()
    from ..images.features import check_kinds

    names = tuple(name.strip() for name in value.split(","))
    try:
        check_kinds(names)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return names


image_options = adding(
    click.option(
        "--sample", type=click.IntRange(min=2), metavar="N",
        help="Grow the tree on N pixels, drawn in one pass; another labels all. By default all pixels are used.",
    ),
    click.option(
        "--coordinates", type=click.FloatRange(min=0, min_open=True), metavar="WEIGHT",
        help="Add line and column of a pixel with this weight; at 1 they vary as much as a band.",
    ),
    click.option(
        "--features", default="", callback=_features, metavar="NAMES",
        help="Some of lab (colours as people see them), smooth (local means in place of pixels), texture (local "
        "deviations) and gradient, as lab,smooth,texture; --window sets how local, 5 by default.",
    ),
    click.option(
        "--sieve", type=click.IntRange(min=2), metavar="N",
        help="Merge connected regions of fewer than N pixels into the neighbour of longest border.",
    ),
    click.option(
        "--window", type=click.IntRange(min=3), callback=_odd, metavar="N",
        help="Add mean and standard deviation of every band in a square of N x N pixels around each pixel.",
    ),
    click.option(
        "--dependence", callback=_side, metavar="auto|N|none",
        help="Test splits on tiles of N x N pixels, or as large as the patches of the image (auto), and not on "
        "pixels, which depend on their neighbours. A single picture may then be one segment.  [default: auto for "
        "several images, none for one]",
    ),
    click.option(
        "--dequantise", type=click.Choice(["declared", "alphaearth", "tessera"]),
        help="Cluster the values that stored numbers stand for: by scale and offset that the image declares, as "
        "AlphaEarth embeddings, or by the scale of every pixel beside TESSERA embeddings.",
    ),
    click.option(
        "--reproject", metavar="CRS",
        help="Cluster GeoTIFFs in this coordinate system, as EPSG:32633, on one grid; needs mdh_dask[maps].",
    ),
    click.option(
        "--bands", callback=names_of, metavar="NAMES",
        help="Bands to use, by name, as red,green,nir.",
    ),
    MISSING_CHUNKS,
    reading_options,
    click.argument("image", callback=existing),
)  # fmt: skip
"""An image, its columns and pixels."""


@click.command(cls=FitCommand)
@image_options
@path_options(
    out="Path or URL of the Zarr image of labels to write; ending in .tif, of a GeoTIFF.",
    model="Path or URL of the model to write.",
    connected="Path or URL of an image of the numbers of connected regions to write.",
    regions="Path or URL of a Parquet table of these regions to write; ending in .geoparquet, with their polygons.",
    item="Path or URL of a STAC item of the labels to write, as JSON.",
    preview="Path or URL of a PNG to write: the segments in their mean colours, at most 2000 pixels wide.",
)
@fit_options
def segment(image: str, progress: bool | None, as_json: bool, **options: Any) -> None:
    """Segment IMAGE: cluster its pixels by their bands.

    IMAGE is the path or URL of a picture as PNG or JPEG, a TIFF, an OME-Zarr group or a Zarr array of lines, columns
    and bands in any order. It is read block by block; PNG and JPEG are read at once. A pattern in quotes, as
    'scenes/*.tif', or a JSON file of STAC items names several images: one model of all, and labels of each, at a path
    with {scene} in place of its name.
    """
    from .. import workflows

    cluster, estimator = cluster_of(options), estimator_of(options, wants_progress(progress))
    said = workflows.segment(image, estimator, labels=options.pop("out"), **options, cluster=cluster)
    say_fit(said, estimator, as_json)


@click.command()
@click.option("--image", default="flower", show_default=True, help="'flower', 'china', or the path of a picture.")
@click.option("--table", is_flag=True, help="Cluster a table instead: 178 wines by 13 measurements.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    show_default="mdh-dask-demo, or mdh-dask-demo-table",
    help="Folder to write to.",
)
@output_options
@cluster_options
@click.pass_context
def demo(
    ctx: click.Context,
    image: str,
    table: bool,
    out: Path | None,
    overwrite: bool,
    progress: bool | None,
    **settings: Any,
) -> None:
    """Segment a photograph, or cluster a table, end to end and write a report."""
    from .. import workflows

    if table and ctx.get_parameter_source("image") is not ParameterSource.DEFAULT:
        raise click.UsageError("expected --image or --table; got both: leave one out")
    where = cluster_table(**settings)
    kind = where.pop("kind")
    # One worker in this process compiles the loops once, where every worker process would compile them again.
    in_here = kind == "local" and "workers" not in where
    working_on = local_cluster(**where, processes=False) if in_here else start_cluster(kind, **where)
    say(
        workflows.demo(
            image, out, table=table, overwrite=overwrite, progress=wants_progress(progress), cluster=working_on
        )
    )
