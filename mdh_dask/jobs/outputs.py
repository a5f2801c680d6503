"""The outputs of jobs, and of each scene."""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Self

from .._errors import SettingError
from .._locations import stored
from ..images import Image
from ..images.maps import is_map, place_of
from ..io.models import MODEL_MARK
from ..io.nodes import MARK, find_node
from ..io.parquet import is_label_table
from ..io.paths import file_exists, filesystem, local_path
from ..io.repositories import revision_of
from ..workflows.output_kinds import OUTPUTS
from ..workflows.outputs import Outputs, pure_path
from .staging import Staged, StagedFile, StagedUrl, publish_nodes
from .state import Fence

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobOutputs(Outputs):
    """The outputs of a job."""

    _: KW_ONLY
    own: tuple[str, ...] = ()
    """Stored paths of outputs that the job has made itself, which may be replaced."""

    def may_replace(self, path: str) -> bool:
        return self.overwrite or stored(path) in self.own

    def replaceable(self) -> list[str]:
        """Return the stored paths of outputs that may be replaced."""
        return [place for place in self.places().values() if self.may_replace(place)]

    def files(self) -> list[Path]:
        """Return the paths of outputs on a file system."""
        return [path for place in self.given() if (path := local_path(_outside(place))) is not None]

    def staged(self, attempt: str = "", job: str = "") -> dict[str, Staged | StagedUrl]:
        """Return the staged outputs of an attempt at a job."""
        found: dict[str, Staged | StagedUrl] = {}
        for key, place in self.places().items():
            outside, node = _outside(place), revision_of(place)
            is_file = OUTPUTS[key].form == "file" or is_map(place) or is_label_table(place)
            kind = StagedFile if is_file else StagedUrl
            file = local_path(outside)
            found[key] = kind(outside, job, node) if file is None else Staged(file, attempt, node)
        return found

    def publish(self, attempt: str, job: str, fence: Fence, about: Mapping[str, Any]) -> None:
        """Move what is still staged to its final paths and URLs; what belongs to repositories in a commit of each.

        `about` goes to the metadata of these commits.
        """
        all_staged = [*zip(self.places().items(), self.staged(attempt, job).values(), strict=True)]
        nodes = {one: self.may_replace(place) for (_, place), one in all_staged if one.node is not None}
        publish_nodes(nodes, {"attempt": f"{attempt}-{job}", **about}, fence)
        for (key, place), one in all_staged:
            if one.node is None:
                one.publish(self.may_replace(place), fence)
            else:  # it is committed
                one.leave()
                one.give_up()
            logger.info("%s in %s", key, place)

    @contextmanager
    def resumed(self, job: str, fence: Fence) -> Iterator[Self]:
        """Yield the outputs at their staging paths, where only the job itself writes and earlier attempts may have.

        `job` differs for steps with other results. What is staged there is removed if another attempt takes over, even
        one that no lock has kept from it.
        """
        fence.check()
        staged = self.staged(fence.attempt.id, job)
        for one in staged.values():
            one.resume()
        places: dict[str, Any] = {key: str(one.path) for key, one in staged.items()}
        try:
            yield replace(self, **places, overwrite=True, own=(), final=tuple(self.places().items()))
            fence.check()
        except Exception:
            try:
                fence.check()
            except BlockingIOError:
                for one in staged.values():
                    one.leave()
            raise


@dataclass(frozen=True)
class SceneOutputs(JobOutputs):
    """The outputs of a job on scenes: paths with ``{scene}``, of models with ``{version}``, and files of a night."""

    def check(self, *inputs: str | None) -> None:
        """Raise an error if an output cannot be written, or another would be replaced by a version of the model."""
        super().check(*inputs)
        for place in self.places().values():
            if place != self.model and self.is_of_model(place):
                raise SettingError(f"{place} would be replaced by a version of {self.model}: name another place")

    def replaceable(self) -> list[str]:
        return [*self.own]

    def owning(self, places: Iterable[str]) -> Self:
        """Return the outputs with further places that may be replaced."""
        return replace(self, own=tuple(dict.fromkeys([*self.own, *places])))

    def of_scene(self, scene: str) -> JobOutputs:
        """Return the outputs of a scene."""
        return self._only(self.places_of("scene", scene))

    def check_place(self, scene: str, image: Image) -> None:
        """Raise an error if labels of a scene lie where it does, and its coordinates cannot be read."""
        if any(map(is_map, self.of_scene(scene).places().values())):
            place_of(image)

    def of_model(self, version: int) -> JobOutputs:
        """Return the model of a version as an output."""
        return self._only(self.places_of("version", str(version)))

    def is_of_model(self, place: str) -> bool:
        """Return whether a place is that of some version of the model, or inside it."""
        versions = re.escape(str(pure_path(self.model or ""))).replace(re.escape("{version}"), r"[1-9]\d*")
        pure = pure_path(place)
        return any(re.fullmatch(versions, str(one)) for one in (pure, *pure.parents))

    def of_night(self) -> JobOutputs:
        """Return the outputs of a night."""
        return self._only({key: place for key, place in self.places().items() if not OUTPUTS[key].per})

    def _only(self, places: Mapping[str, str]) -> JobOutputs:
        own = {name: getattr(self, name) for name in ("overwrite", "own", "ids")}
        given: dict[str, Any] = {**places, **own, "of_image": True}
        return JobOutputs(**given)


def _outside(place: str) -> str:
    """Return a path or URL, of what belongs to a repository one beside it."""
    return place if (node := revision_of(place)) is None else node.outside


def is_there(path: str) -> bool:
    """Return whether an output exists at a path or URL."""
    if revision_of(path) is None and file_exists(path):
        return True
    return local_path(path) is None and find_node(path) is not None


def checksum_of(path: str) -> str:
    """Return a checksum of an output; labels and models store their own."""
    node = find_node(path)
    if node is None:
        fs, name = filesystem(path)
        with fs.open(name, "rb") as stream:  # not whole: a map may be larger than memory
            return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    if MODEL_MARK in node.attrs:
        return f"sha256:{node.attrs[MODEL_MARK]['checksum']}"
    return f"crc32:{node.attrs[MARK]['record']:08x}"
