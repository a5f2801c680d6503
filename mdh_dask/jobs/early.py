"""What can be checked of a job file before estimators and readers are imported, which takes seconds."""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._fields import JobError, check_keys, checked_table, choice, flag, share, text
from .._options import OPTIONS
from ..clusters.kinds import cluster_settings
from .tables import FIELDS, checked_input

SECTIONS = ("input", "method", "cluster", "output", "run")

IMPORTED_LATER = {"mdh_dask.estimators.registry", "mdh_dask.jobs.input_kinds"}

RUN_OF_SCENES = {
    "on_drift": choice("label", "refit", default="label"),
    "drift_threshold": share(0.1),
}
"""Keys of ``[run]`` that only jobs on scenes have."""

RUN = {
    "work": text("the path of a folder"),
    "on_change": choice("error", "restart", default="error"),
    "overwrite": flag(default=False),
    "log_json": flag(default=False),
    "openmetrics": text("a path or URL"),
    "name": text("a name for monitors"),
}


LARGEST = 2**20
"""Bytes of a job file, far more than any has."""


def load_job(path: Path) -> dict[str, Any]:
    """Return the unchecked content of a job file; see `mdh_dask.jobs.job.read_job`."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise JobError(
            f"{path} is a pipe, a socket or a device, which may never end: write the job file to a file first"
        )
    if path.is_file() and (size := path.stat().st_size) > LARGEST:
        raise JobError(f"{path}: expected a job file of at most {LARGEST:,} bytes; got {size:,}: check the path")
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no job file {path}; check the path") from None
    except IsADirectoryError:
        raise FileNotFoundError(f"{path} is a folder; give the path of a job file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JobError(f"{path} is not TOML: {error}") from error


def wants_json(content: dict[str, Any]) -> bool:
    """Return whether unchecked content asks for a JSON log, so that errors of the job file are JSON, too."""
    run = content.get("run")
    return isinstance(run, dict) and run.get("log_json") is True


def check_early(path: Path, content: dict[str, Any], cluster: Mapping[str, Any] | None = None) -> None:
    """Raise the errors of the sections, all tables but the method, and the keys of the method.

    `cluster` replaces the table ``[cluster]`` if it is given.

    Raises
    ------
    JobError
        For the first of them.
    """
    if IMPORTED_LATER & sys.modules.keys():  # these may have more than this package; then the whole check is soon done
        return
    try:
        check_keys("a job file", content, SECTIONS)
        cluster_settings(content.get("cluster", {}) if cluster is None else cluster)
        given, _ = checked_input(content.get("input", {}), content.get("output", {}), FIELDS)
        checked_run(content.get("run", {}), given)
        checked_method(content.get("method", {}), OPTIONS)
    except JobError as error:
        raise JobError(f"{path}: {error}") from error


def checked_run(table: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of ``[run]``, whose keys depend on the kind of the checked input."""
    return checked_table("run", table, RUN | (RUN_OF_SCENES if given["kind"] == "scenes" else {}))


def checked_method(table: Any, options: Mapping[str, Sequence[str]]) -> str:
    """Return the name of the method in the table ``[method]``, whose keys are options of it."""
    if not isinstance(table, dict):
        checked_table("method", table, {})
    named = {"name": table["name"]} if "name" in table else {}
    name: str = checked_table("method", named, {"name": choice(*options, default=next(iter(options)))})["name"]
    check_keys(f"[method] with name = {name!r}", table, ["name", *options[name]])
    return name
