"""Outputs that grow in hidden folders beside their places, until all of them are complete."""

import glob
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Staged:
    """An output on its way.

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
        earlier = earlier_than(self)
        if earlier:
            earlier[0].rename(self.folder)
        else:
            self.folder.mkdir()
        for folder in earlier[1:]:
            shutil.rmtree(folder)

    def publish(self, replace: bool) -> None:
        """Rename the output to its final name; nothing is done if an attempt that was interrupted has done so.

        Raises
        ------
        FileExistsError
            If something is there that is not to be replaced.
        """
        if self.path.exists():
            if self.final.exists():
                if not replace:
                    raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
                self.final.rename(self.folder / "replaced")
            self.path.rename(self.final)
        shutil.rmtree(self.folder, ignore_errors=True)


def earlier_than(staged: Staged) -> list[Path]:
    """Return the hidden folders of other attempts at an output, each of which has ended."""
    pattern = f".{glob.escape(staged.final.name)}.attempt-*"
    return sorted(folder for folder in staged.final.parent.glob(pattern) if folder != staged.folder)
