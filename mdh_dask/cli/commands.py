"""The commands: fit, predict, demo."""

import logging
import sys
from pathlib import Path
from typing import Any

import click

from .clusters import cluster, cluster_options
from .exits import run
from .options import METHODS, method_options

LOG_FORMAT = "%(asctime)s %(levelname)s %(message)s"


def main() -> None:
    """Entry point of ``mdh-dask``."""
    run(lambda: mdh.main(prog_name="mdh-dask", standalone_mode=False))


@click.group()
@click.version_option(package_name="mdh_dask")
@click.option("--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]))
def mdh(log_level: str) -> None:
    """Cluster data that do not fit on one machine by low-density separators."""
    logging.basicConfig(format=LOG_FORMAT, datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("mdh_dask").setLevel(log_level.upper())
    # What a worker says to its scheduler is of interest when something is wrong.
    logging.getLogger("distributed").setLevel("DEBUG" if log_level == "debug" else "WARNING")


def output_options(command: Any) -> Any:
    """Give a command the options of what it writes and shows."""
    for option in (
        click.option("--progress/--no-progress", default=None, help="Progress bars [default: in a terminal]."),
        click.option("--overwrite", is_flag=True, help="Replace outputs that exist."),
    ):
        command = option(command)
    return command


def wants_progress(progress: bool | None) -> bool:
    """Return whether to show progress: as asked, else in a terminal."""
    return sys.stderr.isatty() if progress is None else progress


@mdh.command()
@click.argument("features")
@click.option("--method", default="rp", type=click.Choice(sorted(METHODS)), show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Zarr array of labels to write.")
@click.option("--model", type=click.Path(path_type=Path), help="Model to write.")
@click.option("--report", type=click.Path(path_type=Path), help="HTML report to write.")
@click.option("--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True)
@output_options
@method_options
@cluster_options
def fit(features: str, **options: Any) -> None:
    """Cluster the rows of the Zarr array FEATURES."""
    from .pipeline import Outputs, fit_features

    settings = {name: options.pop(name) for name in tuple(options) if name in cluster_settings()}
    outputs = Outputs(options.pop("out"), options.pop("model"), options.pop("report"), options.pop("overwrite"))
    missing, method = options.pop("missing_chunks"), options.pop("method")
    options["progress"] = wants_progress(options["progress"])
    outputs.check()
    with cluster(**settings) as where:
        click.echo(fit_features(features, METHODS[method](**options), outputs, missing, where))


@mdh.command()
@click.argument("features")
@click.option("--model", required=True, type=click.Path(path_type=Path), help="Model that fit wrote.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Zarr array of labels to write.")
@click.option("--missing-chunks", default="error", type=click.Choice(["error", "fill"]), show_default=True)
@output_options
@cluster_options
def predict(features: str, **options: Any) -> None:
    """Label the rows of the Zarr array FEATURES with a model."""
    from .pipeline import Outputs, predict_features

    model, missing = options.pop("model"), options.pop("missing_chunks")
    outputs = Outputs(options.pop("out"), overwrite=options.pop("overwrite"))
    progress = wants_progress(options.pop("progress"))
    outputs.check()
    with cluster(**options):
        click.echo(predict_features(features, model, outputs, missing, progress))


@mdh.command()
@click.option("--image", default="china", show_default=True, help="'china', 'flower', or a picture of your own.")
@click.option(
    "--out", default="mdh-dask-demo", show_default=True, type=click.Path(path_type=Path), help="Folder to write to."
)
@output_options
@cluster_options
def demo(image: str, out: Path, overwrite: bool, progress: bool | None, **settings: Any) -> None:
    """Segment a photograph end to end and write a report."""
    from .demo import segment_photograph

    click.echo(segment_photograph(image, out, overwrite, wants_progress(progress), settings))


def cluster_settings() -> set[str]:
    """Return the names of the options that `cluster_options` adds."""
    return {"scheduler", "scheduler_file", "workers", "threads_per_worker", "memory_limit"}
