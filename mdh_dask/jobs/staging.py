"""Outputs that grow in hidden folders beside their places, until all of them are complete."""

import glob
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..io.folders import exchange, write_whole
from .locks import Fence

IDENTITY = "identity"
"""The file in a hidden folder that tells what is new once it has changed places with what was there before."""


@dataclass(frozen=True)
class Staged:
    """An output on its way to a file system.

    Parameters
    ----------
    final : Path
        Where it will be: a file or a folder.
    attempt : str
        That makes it.
    """

    final: Path
    attempt: str

    @property
    def folder(self) -> Path:
        """The hidden folder."""
        return self.final.with_name(f".{self.final.name}.attempt-{self.attempt}")

    @property
    def path(self) -> Path:
        """Where the output grows."""
        return self.folder / self.final.name

    def take_over(self) -> None:
        """Make the hidden folder out of what earlier attempts left, which they can then no longer write to."""
        earlier = self._earlier()
        if earlier:
            earlier[0].rename(self.folder)
            (self.folder / IDENTITY).unlink(missing_ok=True)
        else:
            self.folder.mkdir()
        for folder in earlier[1:]:
            shutil.rmtree(folder)

    def publish(self, replace: bool, fence: Fence) -> None:
        """Give the output its name; nothing is done if an attempt that was interrupted has done so.

        Raises
        ------
        FileExistsError
            If something is there that is not to be replaced.
        BlockingIOError
            If another attempt has begun since.
        """
        fence.check()
        if self.path.exists() and not self._is_published():
            if self.final.exists() and not replace:
                raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
            self._move()
        shutil.rmtree(self.folder, ignore_errors=True)

    def give_up(self) -> None:
        """Remove what all attempts have left."""
        for folder in self._earlier():
            shutil.rmtree(folder, ignore_errors=True)

    def _earlier(self) -> list[Path]:
        """Return the hidden folders of other attempts, each of which has ended."""
        pattern = f".{glob.escape(self.final.name)}.attempt-*"
        return sorted(folder for folder in self.final.parent.glob(pattern) if folder != self.folder)

    def _move(self) -> None:
        if not self.final.exists():
            self.path.rename(self.final)
            return
        write_whole(self.folder / IDENTITY, str(self.path.stat().st_ino).encode())
        if not exchange(self.path, self.final):
            self.final.rename(self.folder / "replaced")
            self.path.rename(self.final)

    def _is_published(self) -> bool:
        """Tell whether the output has its name and what it replaced is where it grew."""
        noted = self.folder / IDENTITY
        return noted.exists() and self.final.exists() and noted.read_text() == str(self.final.stat().st_ino)
