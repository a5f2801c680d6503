"""Outputs that grow behind hidden URLs beside their own, until all of them are complete.

Object stores cannot rename: what is complete is copied within the store, its metadata last. It grows under the name of
the job, so that attempts at one job write the same bytes to the same objects, and attempts at different ones, as after
a change of the input, nothing in common. Before objects are copied an attempt writes its number beside the output, and
looks after every few whether that is still there: if not, another attempt publishes, and this one ends. The metadata
are then put on the condition that there are none, so that of two attempts that met even so only one succeeds.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ..io.files import write_file
from ..io.remote import filesystem
from .locks import Fence

COPIES_AT_ONCE = 64


@dataclass(frozen=True)
class StagedUrl:
    """A Zarr array or group on its way to an object store.

    Parameters
    ----------
    final : str
        The URL where it will be.
    job : str
        Tells the job from all others, the same each time that it runs.
    """

    final: str
    job: str

    completing: ClassVar[str] = "/zarr.json"
    """The object, below the URL, that makes the output complete: the metadata of an array or group."""

    @property
    def path(self) -> str:
        """The URL where the output grows."""
        parent, _, name = self.final.rstrip("/").rpartition("/")
        return f"{parent}/.{name}.job-{self.job[:16]}/{name}"

    def take_over(self) -> None:
        """Remove what other jobs have left, which can then no longer finish."""
        self._remove(but=self.job[:16])

    def publish(self, replace: bool, fence: Fence) -> None:
        """Copy the output to its place; nothing is done if an attempt that was interrupted has done so.

        Raises
        ------
        FileExistsError
            If something is there that is not to be replaced.
        BlockingIOError
            If another attempt has begun since, or another job publishes to the same place.
        """
        fence.check()
        fs, growing = self._store(self.path)
        if fs.exists(growing + self.completing):
            claim = {"job": self.job, "attempt": fence.attempt.id}
            self._claim(replace, claim)
            self._clear()
            self._copy(claim, fence)
            self._commit(claim)
            fs.rm_file(growing + self.completing)  # what is removed in part must not be published again
        self._remove()

    def give_up(self) -> None:
        """Remove what all attempts have left."""
        self._remove()

    def _claim(self, replace: bool, claim: dict[str, str]) -> None:
        """Claim the place, unless something is there that is to stay."""
        fs, final = self._store(self.final)
        if fs.exists(final + self.completing) and not replace and self._claimed().get("job") != self.job:
            raise FileExistsError(f"{self.final} appeared while it was being written: move it elsewhere")
        fs.pipe_file(self._mark(), json.dumps(claim).encode())

    def _clear(self) -> None:
        """Remove what is there: its metadata first, that it is not read any more."""
        fs, final = self._store(self.final)
        if fs.exists(final + self.completing):
            fs.rm_file(final + self.completing)
        if fs.exists(final):
            fs.rm(final, recursive=True)

    def _copy(self, claim: dict[str, str], fence: Fence) -> None:
        fs, growing = self._store(self.path)
        names = [name.removeprefix(growing) for name in fs.find(growing) if name != growing + self.completing]
        final = self._store(self.final)[1]
        for i in range(0, len(names), COPIES_AT_ONCE):
            fence.check()
            self._check(claim)
            some = names[i : i + COPIES_AT_ONCE]
            fs.copy([growing + name for name in some], [final + name for name in some])

    def _commit(self, claim: dict[str, str]) -> None:
        fs, growing = self._store(self.path)
        self._check(claim)
        content = fs.cat_file(growing + self.completing)
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
        """Where the attempt that publishes writes its number: beside what all jobs let grow."""
        parent, _, name = self._store(self.final)[1].rpartition("/")
        return f"{parent}/.{name}.publishing"

    def _remove(self, but: str | None = None) -> None:
        """Remove what grows for this place, for all jobs or for all but one."""
        fs, final = self._store(self.final)
        parent, _, name = final.rpartition("/")
        for folder in fs.glob(f"{parent}/.{name}.job-*"):
            if but is None or not folder.rstrip("/").endswith(but):
                with suppress(FileNotFoundError):  # another attempt has removed it meanwhile
                    fs.rm(folder, recursive=True)
        if but is None and fs.exists(self._mark()):
            fs.rm_file(self._mark())

    @staticmethod
    def _store(url: str) -> tuple[Any, str]:
        """Return the file system of a URL, which remembers nothing, and its name there."""
        fs, name = filesystem(url)
        fs.invalidate_cache()
        return fs, name.rstrip("/")


@dataclass(frozen=True)
class StagedFile(StagedUrl):
    """A file on its way to an object store, which replaces an object in one step."""

    completing: ClassVar[str] = ""

    def _clear(self) -> None:
        """Leave what is there: it stays until the new file takes its place."""

    def _commit(self, claim: dict[str, str]) -> None:
        fs, growing = self._store(self.path)
        self._check(claim)
        write_file(self.final, fs.cat_file(growing), overwrite=True)
