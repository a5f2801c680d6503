"""Job files, which describe the input, the method, the cluster and the outputs of a job."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import SettingError
from .._fields import JobError, paths_of
from .._state import ComparedState
from .._typing import cached_property
from ..clusters.kinds import CLUSTERS
from ..estimators.base import ClusterEstimator
from ..io.repositories import fingerprint, pinned, revision_of
from ..workflows.outputs import check_metrics
from ..workflows.pixels import side_of_tiles
from ..workflows.reading import takes_types
from ..workflows.row_files import StoredBeside, check_ids
from .inputs import Input, columns_and_kinds, open_image_input, open_rows_input, open_scenes_input, options_from
from .methods import estimator_of
from .notify import OPENMETRICS, check_own
from .outputs import JobOutputs, SceneOutputs, is_there
from .tables import BESIDE, FIELDS, RUN, checked_tables, load_job, naming_file

INPUTS: dict[str, tuple[Callable[[Mapping[str, Any]], Input], type[JobOutputs]]] = {
    "rows": (open_rows_input, JobOutputs),
    "image": (open_image_input, JobOutputs),
    "scenes": (open_scenes_input, SceneOutputs),
}
"""What opens an input from the values of ``[input]``, and the class of its outputs, by the kinds of `FIELDS`."""


@dataclass(frozen=True)
class Job:
    """A checked job file."""

    path: Path
    """Path of the file."""
    name: str
    """Its path as the user gave it."""
    content: dict[str, Any]
    """Content of the file."""
    input: dict[str, Any]
    output: dict[str, Any]
    run: dict[str, Any]
    """The tables with defaults filled in and absolute paths."""
    kind: str
    """Kind of the cluster."""
    cluster: dict[str, Any]
    """The other keys of that table."""

    @cached_property
    def source(self) -> Any:
        """The path or URL of the input; that of an Icechunk repository is at its snapshot from the first use on."""
        path = self.input["path"]
        return pinned(path) if isinstance(path, str) else path

    @property
    def work(self) -> Path:
        """The folder with the state from which a killed job resumes."""
        return Path(self.run["work"] or self.path.with_suffix(".work"))

    def estimator(self, progress: bool = False) -> ClusterEstimator:
        """Return the estimator."""
        estimator = estimator_of(self.content.get("method", {}), progress)
        _, kinds = columns_and_kinds(self.input.get("columns"))
        return estimator.set_params(column_types=kinds) if kinds else estimator

    def inputs(self) -> list[str]:
        """Return the paths or URLs of the input, and of what belongs to it."""
        given = [self.input["path"], *self._beside().values()]
        return [path for one in given for path in ([one] if isinstance(one, str) else one)]

    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the input, with those of what belongs to it."""
        beside = {key: fingerprint(path) for key, path in self._beside().items()}
        for key, found in beside.items():
            if found.get("objects") == 0:
                raise FileNotFoundError(f"{self.input[key]} is not there: check the path input.{key} of the job")
        return fingerprint(self.source) | beside

    def _beside(self) -> dict[str, str]:
        """Return what belongs to the input, but for the model that the job itself replaces every night."""
        given = {key: path for key in BESIDE if (path := self.input.get(key)) is not None}
        return {key: path for key, path in given.items() if key != "previous" or path != self.output.get("model")}

    def open_input(self) -> Input:
        """Open the input."""
        estimator = self.estimator()
        tiles = side_of_tiles(self.input.get("dependence"), estimator, self.input.get("coordinates"), by_default=True)
        given = {**self.input, "path": self.source, "typed": takes_types(estimator), "dependence": tiles}
        own = "previous" not in self._beside()
        if own and given.get("previous") is not None and not is_there(given["previous"]):
            given["previous"] = None  # in the first night
        return INPUTS[self.input["kind"]][0](given)

    def outputs(self, **options: Any) -> JobOutputs:
        """Return the outputs."""
        made, ids = INPUTS[self.input["kind"]][1], bool(self.input.get("ids"))
        return made(**self.output, **options, ids=ids, of_image=self.input["kind"] != "rows")

    def start_cluster(self) -> AbstractContextManager[str]:
        """Return a context in which the cluster of the job is the current one."""
        return CLUSTERS[self.kind].make(**self.cluster)


def read_job(path: Path, cluster: Mapping[str, Any] | None = None, content: dict[str, Any] | None = None) -> Job:
    """Read and check a job file, unless its content is given, with another table for ``[cluster]`` if one is given."""
    content = load_job(path) if content is None else content
    with naming_file(path):
        file = path.resolve()
        sections = checked_tables(content, cluster)
        kind = sections["cluster"].pop("kind")
        given, output, run = (sections[name] for name in ("input", "output", "run"))
        estimator = estimator_of(content.get("method", {}), progress=False)
        of_input, of_output = FIELDS[given["kind"]]
        of_cluster = CLUSTERS[kind].fields if cluster is None else {}
        for section, fields in {"input": of_input, "output": of_output, "run": RUN, "cluster": of_cluster}.items():
            for key in paths_of(fields):
                _root(section, sections[section], key, file.parent)
        inputs = [given["path"]] if isinstance(given["path"], str) else given["path"]
        metrics = run["openmetrics"] or os.environ.get(OPENMETRICS)
        work = run["work"] or str(file.with_suffix(".work"))
        _check_metrics(metrics, file, work, *inputs, *map(given.get, BESIDE), *output.values())
        _check_method(estimator, given, output, run)
        try:
            CLUSTERS[kind].make(**sections["cluster"])
        except SettingError as error:
            raise JobError(f"[cluster]: {error}") from error
    return Job(file, str(path), content, **sections, kind=kind)


def _root(section: str, table: dict[str, Any], key: str, folder: Path) -> None:
    """Make the path or paths of a key absolute, if it has any."""
    if isinstance(place := table.get(key), str | list):
        try:
            table[key] = rooted(place, folder)
        except RuntimeError as error:
            raise JobError(f"{section}.{key} is {place}, but there is no such user: write the path out") from error


def _check_method(
    estimator: ClusterEstimator, given: Mapping[str, Any], output: Mapping[str, Any], run: Mapping[str, Any]
) -> None:
    """Raise an error if a method does not take the labels or weights of the input, or cannot show drift."""
    try:
        options_from(given, StoredBeside).check(estimator)
        check_ids(given.get("id_column"), output.get("labels"))
        if given.get("dependence") is not None:
            side_of_tiles(given["dependence"], estimator, given.get("coordinates"), by_default=True)
    except SettingError as error:
        raise JobError(str(error)) from error
    if run.get("on_drift") == "refit" and not issubclass(estimator.state_type, ComparedState):
        raise JobError(
            f"run.on_drift = 'refit' needs a method whose tree shows drift; {type(estimator).__name__} has none: leave "
            "it out, or take another method"
        )


def _check_metrics(metrics: str | None, job: Path, *others: str | None) -> None:
    """Raise an error if the metrics, which are replaced even if the job fails, would replace something else."""
    if metrics is not None:
        try:
            check_metrics(metrics, str(job), *others)
        except SettingError as error:
            raise JobError(f"run.openmetrics: {error}") from error
        check_own(metrics, job)


def rooted(place: Any, folder: Path) -> Any:
    """Return an absolute path, or a URL unchanged; of several paths or URLs each."""
    if isinstance(place, list):
        return [rooted(one, folder) for one in place]
    if (revision := revision_of(place)) is not None:
        return str(revision._replace(repository=rooted(revision.repository, folder)))
    return place if "://" in place else str(folder / Path(place).expanduser())
