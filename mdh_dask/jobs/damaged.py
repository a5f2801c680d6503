"""Scenes that cannot be used: a night goes on without them, and ends with a warning that names them."""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .._errors import ContentsError, SettingError, is_bug
from .._fields import JobError
from .._locations import redacted
from ..chunks import Statistic, announced, reduce_rows
from ..images import Image, pixel_rows

logger = logging.getLogger(__name__)

NAMED = 5
"""Scenes that a message names."""


@dataclass(frozen=True)
class PixelCount(Statistic):
    """The number of pixels, for which all are read."""

    def chunk(self, start: int, *blocks: Any) -> int:
        """Count the pixels of a block."""
        return len(blocks[0])

    def combine(self, left: int, right: int) -> int:
        """Add the counts."""
        return left + right


@dataclass
class Damaged:
    """Scenes of a night that could not be used.

    Parameters
    ----------
    why : dict of str
        What was wrong with each, by its name, without credentials of URLs.
    known : collection of str
        Names of those that the files of an earlier night tell of.
    """

    why: dict[str, str] = field(default_factory=dict)
    known: Collection[str] = ()

    @contextmanager
    def noted(self, name: str) -> Iterator[None]:
        """Note what is wrong with the contents of a scene, in place of an error that would stop the night."""
        try:
            yield
        except (JobError, SettingError):
            raise
        except ValueError as error:
            if is_bug(error):
                raise
            self.why[name] = redacted(" ".join(str(error).split()))
            logger.warning("scene %s is left out: %s", name, self.why[name])

    def left(self, scenes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scenes without the damaged ones."""
        return {name: about for name, about in scenes.items() if name not in self.why}

    def read(self, images: Mapping[str, Image], progress: bool = False) -> None:
        """Read every pixel of scenes, one scene after another, and note those for which that fails."""
        for name, image in images.items():
            with self.noted(name):
                reduce_rows(PixelCount(), pixel_rows(image), progress=announced(f"reading {name}", progress))

    def check(self) -> None:
        """Raise an error if there are damaged scenes.

        Raises
        ------
        ContentsError
            The message names them.
        """
        if self.why:
            raise ContentsError(self._told())

    def end(self, n_done: int) -> None:
        """Warn of damaged scenes at the end of a night that has done `n_done` others.

        Raises
        ------
        ContentsError
            If it has done none, and the files of the night before do not tell of all of them.
        """
        if not n_done and not self.why.keys() <= {*self.known}:
            self.check()
        if self.why:
            logger.warning("%s", self._told())

    def _told(self) -> str:
        told = "; ".join(f"{name}: {why}" for name, why in [*self.why.items()][:NAMED])
        more = f"; and {len(self.why) - NAMED} more" if len(self.why) > NAMED else ""
        return (
            f"{len(self.why)} of the scenes could not be used and got no labels tonight: {told}{more}. Later runs "
            "try them again: replace them, or take them away"
        )
