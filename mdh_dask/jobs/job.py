"""Job files: what is to be clustered how, where, and what is to be kept."""

import tomllib
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from .._fields import JobError, check_keys, checked_kind, checked_table, choice, flag, text
from ..clusters.current import cluster
from ..clusters.kinds import CLUSTERS
from ..estimators import DivisiveClustering
from .input_kinds import INPUTS, checked_input
from .inputs import Input
from .methods import estimator_of
from .outputs import JobOutputs

RUN = {
    "work": text("the path of a folder"),
    "on_change": choice("error", "restart", default="error"),
    "overwrite": flag(default=False),
    "log_json": flag(default=False),
}


SECTIONS = ("input", "method", "cluster", "output", "run")

PATHS = {"input": ("path",), "run": ("work",)}
"""Keys of paths, which are relative to the folder of the job file."""


@dataclass(frozen=True)
class Job:
    """A job file in which everything is known to be of the right kind.

    Parameters
    ----------
    path : Path
        Of the file.
    content : dict
        What it says.
    input, output, run : dict
        The sections, with defaults and with paths that begin at the root.
    kind : str
        Of the cluster.
    cluster : dict
        The other keys of that section.
    """

    path: Path
    content: dict[str, Any]
    input: dict[str, Any]
    output: dict[str, Any]
    run: dict[str, Any]
    kind: str
    cluster: dict[str, Any]

    @property
    def work(self) -> Path:
        """The folder in which the job keeps what it needs to go on after it was killed."""
        return Path(self.run["work"] or self.path.with_suffix(".work"))

    def estimator(self, progress: bool = False) -> DivisiveClustering:
        """Return the estimator."""
        return estimator_of(self.content.get("method", {}), progress)

    def open_input(self) -> Input:
        """Open what is clustered."""
        return INPUTS[self.input["kind"]].open(self.input)

    def outputs(self, **options: Any) -> JobOutputs:
        """Return what is written."""
        return INPUTS[self.input["kind"]].outputs_type(**self.output, **options)

    def elsewhere(self, scheduler: str | None, scheduler_file: Path | None, timeout: float) -> "Job":
        """Return the same job on a scheduler that runs already.

        Raises
        ------
        click.UsageError
            If both an address and a file are given, or the address is none.
        """
        cluster(scheduler, scheduler_file, timeout)
        where = {"address": scheduler} if scheduler else {"file": str(scheduler_file)}
        return replace(self, kind="scheduler" if scheduler else "scheduler-file", cluster={**where, "timeout": timeout})

    def start_cluster(self) -> AbstractContextManager[str]:
        """Make the cluster the current one for a while."""
        return CLUSTERS[self.kind].make(**self.cluster)


def read_job(path: Path) -> Job:
    """Read a job file and check all of it.

    Raises
    ------
    FileNotFoundError
        If there is none.
    JobError
        If it is not TOML, or for the first key or value in it that is not as it should be.
    """
    try:
        content = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no job file {path}; check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(f"{path} is not TOML: {error}") from error
    try:
        return _checked(path.resolve(), content)
    except JobError as error:
        raise JobError(f"{path}: {error}") from error


def _checked(path: Path, content: dict[str, Any]) -> Job:
    check_keys("a job file", content, SECTIONS)
    where = checked_kind("cluster", content.get("cluster", {}), {name: kind.fields for name, kind in CLUSTERS.items()})
    kind = where.pop("kind")
    given, output = checked_input(content.get("input", {}), content.get("output", {}))
    run = checked_table("run", content.get("run", {}), RUN)
    sections = {"input": given, "output": output, "run": run, "cluster": where}
    for section, keys in (PATHS | {"cluster": CLUSTERS[kind].paths, "output": tuple(output)}).items():
        for key in keys:
            if isinstance(place := sections[section].get(key), str):
                sections[section][key] = rooted(place, path.parent)
    estimator_of(content.get("method", {}), progress=False)
    if output["performance_report"] is not None and kind == "threads":
        raise JobError(
            "output.performance_report is of a cluster, and cluster.kind = 'threads' has none: leave one out"
        )
    try:
        CLUSTERS[kind].make(**sections["cluster"])
    except click.UsageError as error:
        raise JobError(f"[cluster]: {error.message}") from error
    return Job(path, content, **sections, kind=kind)


def rooted(place: str, folder: Path) -> str:
    """Return a path that does not depend on the current folder; a URL stays.

    Examples
    --------
    >>> rooted("a/b.zarr", Path("/jobs")), rooted("s3://a/b.zarr", Path("/jobs"))
    ('/jobs/a/b.zarr', 's3://a/b.zarr')
    """
    return place if "://" in place else str(folder / Path(place).expanduser())
