"""What a job writes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..io.models import MODEL_MARK
from ..io.nodes import MARK, find_node, local_path
from .outputs import Outputs, check_file
from .staging import Staged


@dataclass(frozen=True)
class JobOutputs(Outputs):
    """What a job writes.

    Parameters
    ----------
    metrics, manifest : str or None
        Paths of files.
    """

    metrics: str | None = None
    manifest: str | None = None

    def check(self, *inputs: str) -> None:
        """Raise an error now rather than after the work is done."""
        super().check(*inputs)
        for example, path in (("metrics.json", self.metrics), ("manifest.json", self.manifest)):
            if path is not None:
                check_file(path, self.overwrite, example)

    def places(self) -> dict[str, str]:
        """Return the path or URL of every output by its key in the job file, in the order of publishing."""
        return {key: path for key, path in self._options().items() if path is not None}

    def staged(self, attempt: str = "") -> dict[str, Staged]:
        """Return the outputs on a file system, on their way."""
        paths = {key: local_path(path) for key, path in self.places().items()}
        return {key: Staged(path, attempt) for key, path in paths.items() if path is not None}

    def growing(self, attempt: str) -> "JobOutputs":
        """Return where the outputs grow: in hidden folders; but behind a URL, where nothing can be renamed, there.

        What is there was made by the job itself, or is to be replaced.
        """
        staged = self.staged(attempt)
        places = {key: str(staged[key].path) if key in staged else path for key, path in self.places().items()}
        return JobOutputs(**places, overwrite=True)

    def _options(self) -> dict[str, str | None]:
        return {key: getattr(self, key) for key in ("labels", "model", "report", "metrics", "manifest")}


def is_there(path: str) -> bool:
    """Tell whether an output is at a path or URL."""
    local = local_path(path)
    return local.exists() if local is not None else find_node(path, None) is not None


def checksum_of(path: str) -> str:
    """Return what changes with the contents of an output: of labels and models the checksum that they hold."""
    node = find_node(path, None)
    if node is None:
        return f"sha256:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
    crc = node.attrs[MODEL_MARK]["checksum"] if MODEL_MARK in node.attrs else node.attrs[MARK]["record"]
    return f"crc32:{crc:08x}"
