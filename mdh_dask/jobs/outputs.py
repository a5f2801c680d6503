"""What a job writes."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from .._locations import stored
from ..io.files import file_exists, read_file
from ..io.models import MODEL_MARK
from ..io.nodes import MARK, find_node, local_path
from ..workflows.outputs import ImageOutputs, Outputs, check_file
from .staging import Staged
from .staging_urls import StagedFile, StagedUrl

ZARR = ("labels", "model")
"""The outputs that are arrays or groups; all others are files."""


@dataclass(frozen=True)
class JobOutputs(Outputs):
    """What a job writes.

    Parameters
    ----------
    metrics, manifest : str or None
        Paths or URLs of files.
    own : tuple of str
        Places of outputs, as they are stored, that the job has made itself: these may be replaced.
    linked : tuple of (str, str)
        What the report links to, if not its neighbours: where they grow, they are elsewhere.
    """

    metrics: str | None = None
    manifest: str | None = None
    own: tuple[str, ...] = ()
    linked: tuple[tuple[str, str], ...] = ()

    def check(self, *inputs: str) -> None:
        """Raise an error now rather than after the work is done."""
        super().check(*inputs)
        for example, path in (("metrics.json", self.metrics), ("manifest.json", self.manifest)):
            if path is not None:
                check_file(path, self.may_replace(path), example)

    def places(self) -> dict[str, str]:
        """Return the path or URL of every output by its key in the job file, in the order of publishing."""
        places = self._options() | {"performance_report": self.performance_report}
        return {key: path for key, path in places.items() if path is not None}

    def links(self) -> dict[str, str]:
        """Return what the report links to."""
        return dict(self.linked) or super().links()

    def may_replace(self, path: str) -> bool:
        """Tell whether an output may take the place of what is at its path or URL."""
        return self.overwrite or stored(path) in self.own

    def replaceable(self) -> list[str]:
        """Return the places of outputs that may be replaced."""
        return [place for place in self.places().values() if self.may_replace(place)]

    def files(self) -> list[Path]:
        """Return the places on a file system."""
        paths = map(local_path, self.places().values())
        return [path for path in paths if path is not None]

    def staged(self, attempt: str = "", job: str = "") -> dict[str, Staged | StagedUrl]:
        """Return the outputs on their way, in an attempt at a job."""
        found: dict[str, Staged | StagedUrl] = {}
        for key, place in self.places().items():
            file = local_path(place)
            kind = StagedUrl if key in ZARR else StagedFile
            found[key] = kind(place, job) if file is None else Staged(file, attempt)
        return found

    def growing(self, attempt: str, job: str) -> "JobOutputs":
        """Return where the outputs grow; what is there was made by the job itself."""
        places = {key: str(staged.path) for key, staged in self.staged(attempt, job).items()}
        return replace(self, **places, overwrite=True, own=(), linked=tuple(self.links().items()))

    def _options(self) -> dict[str, str | None]:
        return {key: getattr(self, key) for key in ("labels", "model", "report", "metrics", "manifest")}


@dataclass(frozen=True)
class ImageJobOutputs(JobOutputs, ImageOutputs):
    """What a job writes about an image: a preview, too."""

    def _options(self) -> dict[str, str | None]:
        return super()._options() | {"preview": self.preview}


def is_there(path: str) -> bool:
    """Tell whether an output is at a path or URL."""
    return file_exists(path) or (local_path(path) is None and find_node(path, None) is not None)


def checksum_of(path: str) -> str:
    """Return what changes with the contents of an output: of labels and models the checksum that they hold."""
    node = find_node(path, None)
    if node is None:
        return f"sha256:{hashlib.sha256(read_file(path)).hexdigest()}"
    crc = node.attrs[MODEL_MARK]["checksum"] if MODEL_MARK in node.attrs else node.attrs[MARK]["record"]
    return f"crc32:{crc:08x}"
