"""The outputs of jobs."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from .._locations import stored
from ..images.maps import is_map
from ..io.models import MODEL_MARK
from ..io.nodes import MARK, find_node
from ..io.paths import file_exists, local_path, read_file
from ..workflows.output_kinds import OUTPUTS
from ..workflows.outputs import Outputs
from .locks import Fence
from .staging import Staged, StagedFile, StagedUrl

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobOutputs(Outputs):
    """The outputs of a job.

    Parameters
    ----------
    own : tuple of str
        Stored paths of outputs that the job has made itself, which may be replaced.
    linked : tuple of (str, str)
        Links of the report, if not to outputs beside it: while staged, these are elsewhere.
    """

    own: tuple[str, ...] = field(default=(), kw_only=True)
    linked: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)

    def links(self) -> dict[str, str]:
        """Return the links of the report."""
        return dict(self.linked) or super().links()

    def may_replace(self, path: str) -> bool:
        """Return whether an output may replace what exists at its path or URL."""
        return self.overwrite or stored(path) in self.own

    def replaceable(self) -> list[str]:
        """Return the stored paths of outputs that may be replaced."""
        return [place for place in self.places().values() if self.may_replace(place)]

    def files(self) -> list[Path]:
        """Return the paths of outputs on a file system."""
        paths = map(local_path, self.places().values())
        return [path for path in paths if path is not None]

    def staged(self, attempt: str = "", job: str = "") -> dict[str, Staged | StagedUrl]:
        """Return the staged outputs of an attempt at a job."""
        found: dict[str, Staged | StagedUrl] = {}
        for key, place in self.places().items():
            file = local_path(place)
            kind = StagedUrl if OUTPUTS[key].form != "file" and not is_map(place) else StagedFile
            found[key] = kind(place, job) if file is None else Staged(file, attempt)
        return found

    def publish(self, attempt: str, job: str, fence: Fence) -> None:
        """Move what is still staged to its final paths and URLs."""
        for (key, place), staged in zip(self.places().items(), self.staged(attempt, job).values(), strict=True):
            staged.publish(self.may_replace(place), fence)
            logger.info("%s in %s", key, place)

    @contextmanager
    def growing(self, job: str, fence: Fence) -> Iterator[Self]:
        """Yield the outputs at their staging paths, where only the job itself writes and earlier attempts may have.

        What is staged there is removed if another attempt takes over, even one that no lock has kept from it.
        """
        fence.check()
        staged = self.staged(fence.attempt.id, job)
        for one in staged.values():
            one.take_over()
        places: dict[str, Any] = {key: str(one.path) for key, one in staged.items()}
        try:
            yield replace(self, **places, overwrite=True, own=(), linked=tuple(self.links().items()))
        except Exception:
            if fence.is_lost():
                for one in staged.values():
                    one.leave()
            raise


def is_there(path: str) -> bool:
    """Return whether an output exists at a path or URL."""
    return file_exists(path) or (local_path(path) is None and find_node(path, None) is not None)


def checksum_of(path: str) -> str:
    """Return a checksum of an output; labels and models store their own."""
    node = find_node(path, None)
    if node is None:
        return f"sha256:{hashlib.sha256(read_file(path)).hexdigest()}"
    if MODEL_MARK in node.attrs:
        return f"sha256:{node.attrs[MODEL_MARK]['checksum']}"
    return f"crc32:{node.attrs[MARK]['record']:08x}"
