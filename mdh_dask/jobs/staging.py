"""Outputs staged in hidden folders beside their final paths until all of them are complete."""

import glob
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..io import commits
from ..io.paths import filesystem, remove_below
from ..io.repositories import Revision
from ..io.staging import move_into_place, write_whole
from .state import Fence

IDENTITY = "identity"
"""The file in a hidden folder that identifies the new output once it has been exchanged with the old one."""


@dataclass(frozen=True)
class Staged:
    """A staged output on a file system."""

    final: Path
    """Final path: a file or a folder."""
    attempt: str
    """Id of the attempt that writes it."""
    node: Revision | None = None
    """The node of an Icechunk repository that it becomes: the final path is then one beside the repository."""

    @property
    def folder(self) -> Path:
        """The hidden folder."""
        return self.final.with_name(f".{self.final.name}.attempt-{self.attempt}")

    @property
    def path(self) -> Path:
        """Path at which the output is written."""
        return self.folder / self.final.name

    def resume(self) -> None:
        """Rename the hidden folder of an earlier attempt, which can then no longer write to it, or create one."""
        earlier = self._earlier()
        if earlier:
            earlier[0].rename(self.folder)
            (self.folder / IDENTITY).unlink(missing_ok=True)
            for path in self.folder.iterdir():
                if path.is_dir() and not (path / "zarr.json").exists():
                    shutil.rmtree(path)  # a kill has interrupted how it was created or removed
        else:
            self.folder.mkdir()
        for folder in earlier[1:]:
            shutil.rmtree(folder)

    def publish(self, replace: bool, fence: Fence) -> None:
        """Move the output to its final path, unless an interrupted attempt has done so.

        Raises a FileExistsError if something exists there that must not be replaced; a BlockingIOError if
        another attempt has begun since.
        """
        fence.check()
        if self.path.exists() and not self._is_published():
            if self.final.exists() and not replace:
                raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
            if self.final.exists():
                write_whole(self.folder / IDENTITY, str(self.path.stat().st_ino).encode())
            move_into_place(self.path, self.final, self.folder / "replaced")
        # Before the note that it was replaced: without that, what is left of it after a kill would be published again.
        if self.path.is_file():
            self.path.unlink()
        shutil.rmtree(self.path, ignore_errors=True)
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


COPIES_AT_ONCE = 64


@dataclass(frozen=True)
class StagedUrl:
    """A staged Zarr array or group in an object store."""

    final: str
    """Final URL."""
    job: str
    """Identifies the job, the same in every run."""
    node: Revision | None = None
    """As in `Staged`."""

    completing: ClassVar[str] = "/zarr.json"
    """The object below the URL that completes the output: the metadata of an array or group."""

    @property
    def path(self) -> str:
        """URL at which the output is written."""
        parent, _, name = self.final.rstrip("/").rpartition("/")
        return f"{parent}/.{name}.job-{self.job[:16]}/{name}"

    def resume(self) -> None:
        """Remove the staged objects of other jobs, which can then no longer finish."""
        self._remove(but=self.job[:16])

    def publish(self, replace: bool, fence: Fence) -> None:
        """Copy the output to its final URL, unless an interrupted attempt has done so.

        Raises a FileExistsError if something exists there that must not be replaced; a BlockingIOError if
        another attempt has begun since, or another job publishes to the same URL.
        """
        fence.check()
        fs, staged = self._store(self.path)
        if fs.exists(staged + self.completing):
            claim = {"job": self.job, "attempt": fence.attempt.id}
            self._claim(replace, claim)
            self._clear()
            self._copy(claim, fence)
            self._commit(claim)
            fs.rm_file(staged + self.completing)  # a partly removed output must not be published again
        self._remove()

    def give_up(self) -> None:
        """Remove the staged objects of all attempts."""
        self._remove()

    def leave(self) -> None:
        """Do nothing, as the attempt that has taken over writes to the same objects."""

    def _claim(self, replace: bool, claim: dict[str, str]) -> None:
        """Claim the final URL, unless something exists there that must not be replaced."""
        fs, final = self._store(self.final)
        if fs.exists(final + self.completing) and not replace and self._claimed().get("job") != self.job:
            raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
        fs.pipe_file(self._mark(), json.dumps(claim).encode())

    def _clear(self) -> None:
        """Remove the existing output, its metadata first so that it is no longer read."""
        fs, final = self._store(self.final)
        if fs.exists(final + self.completing):
            fs.rm_file(final + self.completing)
        if fs.exists(final):
            remove_below(fs, final)

    def _copy(self, claim: dict[str, str], fence: Fence) -> None:
        fs, staged = self._store(self.path)
        names = [name.removeprefix(staged) for name in fs.find(staged) if name != staged + self.completing]
        final = self._store(self.final)[1]
        for i in range(0, len(names), COPIES_AT_ONCE):
            fence.check()
            self._check(claim)
            some = names[i : i + COPIES_AT_ONCE]
            fs.copy([staged + name for name in some], [final + name for name in some])

    def _commit(self, claim: dict[str, str]) -> None:
        fs, staged = self._store(self.path)
        self._check(claim)
        content = fs.cat_file(staged + self.completing)
        try:
            fs.pipe_file(self._store(self.final)[1] + self.completing, content, mode="create")
        except FileExistsError as error:
            raise self._lost() from error

    def _check(self, claim: dict[str, str]) -> None:
        if self._claimed() != claim:
            raise self._lost()

    def _lost(self) -> BlockingIOError:
        return BlockingIOError(f"{self.final} is being published by another run: wait until it has ended")

    def _claimed(self) -> dict[str, str]:
        fs = self._store(self.final)[0]
        try:
            claim: dict[str, str] = json.loads(fs.cat_file(self._mark()))
        except FileNotFoundError:
            return {}
        return claim

    def _mark(self) -> str:
        """URL of the publishing attempt's number, shared by all jobs."""
        parent, _, name = self._store(self.final)[1].rpartition("/")
        return f"{parent}/.{name}.publishing"

    def _remove(self, but: str | None = None) -> None:
        """Remove the staged objects for this final URL, of all jobs or of all but one."""
        fs, final = self._store(self.final)
        parent, _, name = final.rpartition("/")
        for folder in fs.glob(glob.escape(f"{parent}/.{name}.job-") + "*"):
            if but is None or not folder.rstrip("/").endswith(but):
                with suppress(FileNotFoundError):  # another attempt has removed it in the meantime
                    remove_below(fs, folder)
        if but is None and fs.exists(self._mark()):
            fs.rm_file(self._mark())

    @staticmethod
    def _store(url: str) -> tuple[Any, str]:
        """Return the file system of a URL, without a cache, and the path there."""
        fs, name = filesystem(url)
        fs.invalidate_cache()
        return fs, name.rstrip("/")


@dataclass(frozen=True)
class StagedFile(StagedUrl):
    """A staged file in an object store, which replaces an object in one step."""

    completing: ClassVar[str] = ""

    def _clear(self) -> None:
        """Do nothing, as the old file stays until the new one replaces it."""

    def _commit(self, claim: dict[str, str]) -> None:
        fs, staged = self._store(self.path)
        self._check(claim)
        fs.cp_file(staged, self._store(self.final)[1])


def publish_nodes(nodes: Mapping[Staged | StagedUrl, bool], about: Mapping[str, Any], fence: Fence) -> None:
    """Commit staged nodes, which may be replaced or not, to each of their repositories, unless that has been done.

    The attempt in `about` tells whether it has.
    """
    by_branch: dict[commits.Branch, dict[str, commits.Staged]] = {}
    for one, replace in nodes.items():
        assert one.node is not None
        staged = commits.Staged(str(one.path), replace)
        by_branch.setdefault(commits.Branch(*one.node[:2]), {})[one.node.path] = staged
    for branch, staged_nodes in by_branch.items():
        fence.check()
        if commits.committed(branch, about["attempt"]) is None:
            commits.commit(branch, staged_nodes, about, fence.check)
