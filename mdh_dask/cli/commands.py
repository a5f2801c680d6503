"""The commands fit, predict, drift, run and methods."""

import logging
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from .._errors import AddressError, SettingError
from .._fields import JobError
from .._log import Lines
from .._process import import_later, search_rarely
from .exits import EXIT_CODES, WHOLE_PROCESS, Commands, exit_code, leaving_at_once, say
from .exits import log_json as log_all_json
from .image_commands import demo, segment
from .options import (
    CONFIDENCE,
    ID_COLUMN,
    IDS,
    KINDS_OF_COLUMNS,
    NUMBERS,
    REPORT,
    SAVED_MODEL,
    as_text,
    cluster_of,
    cluster_options,
    cluster_table,
    column_options,
    input_options,
    kind_options,
    output_options,
    path_options,
    reading_options,
    say_fit,
    scheduler_options,
    wants_progress,
)
from .parameters import FitCommand, estimator_of, fit_options, naming_options


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(package_name="mdh_dask")
@click.option(
    "--log-level", default="info", type=click.Choice(["debug", "info", "warning", "error"]), show_default=True,
    help="Level of the log on standard error.",
)  # fmt: skip
@click.option("--log-json", is_flag=True, help="Log lines of JSON.")
@click.pass_context
def mdh(ctx: click.Context, log_level: str, log_json: bool) -> None:
    """Cluster data that do not fit on one machine by low-density separators."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logger = logging.getLogger("mdh_dask")
    logger.setLevel(log_level.upper())
    logger.addHandler(handler)
    ctx.call_on_close(lambda: logger.removeHandler(handler))
    if log_json:
        log_all_json(ctx)


def main() -> None:
    """Entry point of ``mdh-dask``."""
    search_rarely()
    # Dask and scikit-learn import them at once: half a second.
    import_later("scipy.fft", "scipy.fftpack", "scipy.stats", "pandas", "xarray")
    with leaving_at_once():
        mdh(prog_name="mdh-dask", obj=WHOLE_PROCESS)


@mdh.command(cls=FitCommand)
@input_options
@kind_options
@path_options(out="Path or URL of the Zarr array or Parquet file of labels to write.")
@click.option(
    "--labels",
    "known_labels",
    metavar="PATH",
    help="Path or URL of the labels of some rows, for trees and for --method semi-supervised, which needs them: "
    "integers in a Zarr array or a .npy file, -1 for rows without a label; or a .csv or Parquet file with the columns "
    "row,label.",
)
@column_options(
    weight_column="Column of FEATURES that says how many equal rows each row stands for, in whole numbers from 0, and "
    "is not clustered: a name in a table, otherwise a number from 0.",
    groups="Column of FEATURES that names the group of each row, as a donor or a day, and is not clustered: rows of "
    "one group may depend on each other, and splits must show between groups.",
    text_column="Column of FEATURES with a text for each row, which is not clustered: its words name the clusters.",
)
@CONFIDENCE
@IDS
@ID_COLUMN
@path_options(
    previous="Path or URL of a model of the night before, whose ids clusters keep.",
    model="Path or URL of the model to write.",
)
@fit_options
def fit(features: str, progress: bool | None, as_json: bool, **options: Any) -> None:
    """Cluster the rows of FEATURES.

    FEATURES is the path or URL of a Zarr array (store.zarr/array for an array in a group), of a .npy or .csv
    file, or of a Parquet file or folder; or of sparse rows: a .npz file of SciPy, or a Zarr group
    like X of AnnData. Texts and categories need --feature-map gower.
    """
    from .. import workflows

    cluster, estimator = cluster_of(options), estimator_of(options, wants_progress(progress))
    if kinds := {kind: columns for kind in KINDS_OF_COLUMNS if (columns := options.pop(kind))}:
        estimator.set_params(column_types=kinds)
    said = workflows.fit(features, estimator, labels=options.pop("out"), **options, cluster=cluster)
    say_fit(said, estimator, as_json)


@mdh.command()
@input_options
@reading_options
@SAVED_MODEL
@click.option(
    "--out",
    required=True,
    metavar="PATH",
    help="Path or URL of the Zarr array, Parquet file, image or GeoTIFF of labels to write.",
)
@CONFIDENCE
@IDS
@ID_COLUMN
@path_options(preview="Path or URL of a PNG to write for an image: the segments in their mean colours.")
@output_options
@cluster_options
def predict(features: str, model: str, out: str, progress: bool | None, **options: Any) -> None:
    """Label the rows of FEATURES, or the pixels of an image, with a model.

    FEATURES is as for fit; a table needs only the columns that the model was fitted to. For a model that
    segment wrote it is an image, which gets the same windows and coordinates; its labels form an image, too.
    """
    from .. import workflows

    cluster = cluster_of(options)
    say(workflows.predict(features, model, out, **options, progress=wants_progress(progress), cluster=cluster))


def _share(default: float, most: float, text: str) -> dict[str, Any]:
    kind = click.FloatRange(min=0, min_open=True, max=most)
    return {"default": default, "type": kind, "show_default": True, "metavar": "SHARE", "help": text}


@mdh.command()
@input_options
@reading_options
@SAVED_MODEL
@REPORT
@path_options(openmetrics="File for Prometheus to replace, or http:// of a Pushgateway.")
@NUMBERS
@column_options(groups="Column of FEATURES that names the group of each row, as for fit; one more pass.")
@click.option("--threshold", **_share(0.1, 1, "Report drift if more than this share of rows has moved."))
@click.option("--filled", **_share(0.5, 1, "Report drift if more than this share of a valley is filled in."))
@click.option("--false-alarms", **_share(0.001, 0.5, "Probability of reporting drift where there is none."))
@output_options
@cluster_options
@click.pass_context
def drift(ctx: click.Context, features: str, model: str, as_json: bool, progress: bool | None, **options: Any) -> None:
    """Compare the rows of FEATURES with the rows that a model was fitted to.

    FEATURES is as for predict. Its rows are read once. The exit code is 0 if they are distributed like those of the
    model at all of its splits, and 3 if there is drift.
    """
    from .. import workflows
    from .exits import DRIFT

    cluster = cluster_of(options)
    found = workflows.drift(features, model, **options, progress=wants_progress(progress), cluster=cluster)
    say(as_text(found.to_dict()) if as_json else found.to_text())
    if found.found:
        ctx.exit(DRIFT)


@mdh.command()
@click.argument("job", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only check the job and its input, and estimate what it needs.")
@click.option("--restart", is_flag=True, help="Discard the work of a job that was interrupted or has changed.")
@output_options
@scheduler_options
@click.pass_context
def run(
    ctx: click.Context, job: Path, check: bool, restart: bool, overwrite: bool, progress: bool | None,
    scheduler: str | None, scheduler_file: Path | None, scheduler_timeout: float,
) -> None:  # fmt: skip
    """Run the job described in the TOML file JOB.

    The same command resumes a run that was interrupted or killed, and ends with the
    same outputs. For a finished job it does nothing. A scheduler given here replaces the cluster of the
    file.
    """
    from ..jobs.notify import Notified, notify
    from ..jobs.tables import checked_tables, load_job, naming_file, wants_json

    elsewhere = cluster_table(scheduler, scheduler_file, scheduler_timeout) if scheduler or scheduler_file else None
    with nullcontext(Notified()) if check else notify(exit_code) as told:
        content = load_job(job)
        if wants_json(content):
            log_all_json(ctx)
        with naming_file(job):
            checked_tables(content, elsewhere)  # before the estimators are imported, which takes long
        from ..jobs._run import check_job, run_job
        from ..jobs.job import read_job

        told.job = read_job(job, elsewhere, content)
        try:
            if check:
                say(check_job(told.job, overwrite=overwrite))
            else:
                say(run_job(told.job, restart=restart, overwrite=overwrite, progress=wants_progress(progress)))
        except SettingError as error:
            if elsewhere is not None and isinstance(error, AddressError):
                raise  # an option, and no setting of the file
            raise JobError(f"{job}: {error}") from error


@mdh.command()
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods, or the parameters of the method NAME, for --method and -p."""
    from ..jobs.methods import list_methods, list_parameters

    with naming_options():
        text = list_methods() if name is None else list_parameters(name)
    say(text)


mdh.add_command(segment)
mdh.add_command(demo)
