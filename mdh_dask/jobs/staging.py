"""Outputs staged in hidden folders beside their final paths until all of them are complete."""

import glob
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..io.staging import move_into_place, write_whole
from .locks import Fence

IDENTITY = "identity"
"""The file in a hidden folder that identifies the new output once it has been exchanged with the old one."""


@dataclass(frozen=True)
class Staged:
    """A staged output on a file system.

    Parameters
    ----------
    final : Path
        Final path: a file or a folder.
    attempt : str
        Id of the attempt that writes it.
    """

    final: Path
    attempt: str

    @property
    def folder(self) -> Path:
        """The hidden folder."""
        return self.final.with_name(f".{self.final.name}.attempt-{self.attempt}")

    @property
    def path(self) -> Path:
        """Path at which the output is written."""
        return self.folder / self.final.name

    def take_over(self) -> None:
        """Rename the hidden folder of an earlier attempt, which can then no longer write to it, or create one."""
        earlier = self._earlier()
        if earlier:
            earlier[0].rename(self.folder)
            (self.folder / IDENTITY).unlink(missing_ok=True)
        else:
            self.folder.mkdir()
        for folder in earlier[1:]:
            shutil.rmtree(folder)

    def publish(self, replace: bool, fence: Fence) -> None:
        """Move the output to its final path, unless an interrupted attempt has done so.

        Raises
        ------
        FileExistsError
            If something exists there that must not be replaced.
        BlockingIOError
            If another attempt has begun since.
        """
        fence.check()
        if self.path.exists() and not self._is_published():
            if self.final.exists() and not replace:
                raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
            if self.final.exists():
                write_whole(self.folder / IDENTITY, str(self.path.stat().st_ino).encode())
            move_into_place(self.path, self.final, self.folder / "replaced")
        shutil.rmtree(self.folder, ignore_errors=True)

    def give_up(self) -> None:
        """Remove the staged files of all attempts."""
        for folder in self._earlier():
            shutil.rmtree(folder, ignore_errors=True)

    def leave(self) -> None:
        """Remove the staged files of this attempt, once another has taken over what it had staged until then."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _earlier(self) -> list[Path]:
        """Return the hidden folders of other attempts, all of which have ended."""
        pattern = f".{glob.escape(self.final.name)}.attempt-*"
        return sorted(folder for folder in self.final.parent.glob(pattern) if folder != self.folder)

    def _is_published(self) -> bool:
        """Return whether the output is at its final path and the one it replaced is in the hidden folder."""
        noted = self.folder / IDENTITY
        return noted.exists() and self.final.exists() and noted.read_text() == str(self.final.stat().st_ino)
