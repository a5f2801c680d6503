"""Outputs staged at hidden URLs beside their final URLs until all of them are complete.

Object stores cannot rename, so complete outputs are copied within the store, their metadata last. They are staged
under the name of the job: attempts at one job write the same bytes to the same objects, and attempts at different
jobs, as after a change of the input, share nothing. Before copying, an attempt writes its number beside the output,
and checks regularly that it is unchanged; if not, another attempt publishes, and this one ends. The metadata
are then put on the condition that they do not exist, so that only one of two simultaneous attempts succeeds.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from ..io.paths import filesystem
from ..io.staging import write_file
from .locks import Fence

COPIES_AT_ONCE = 64


@dataclass(frozen=True)
class StagedUrl:
    """A staged Zarr array or group in an object store.

    Parameters
    ----------
    final : str
        Final URL.
    job : str
        Identifies the job, the same in every run.
    """

    final: str
    job: str

    completing: ClassVar[str] = "/zarr.json"
    """The object below the URL that completes the output: the metadata of an array or group."""

    @property
    def path(self) -> str:
        """URL at which the output is written."""
        parent, _, name = self.final.rstrip("/").rpartition("/")
        return f"{parent}/.{name}.job-{self.job[:16]}/{name}"

    def take_over(self) -> None:
        """Remove the staged objects of other jobs, which can then no longer finish."""
        self._remove(but=self.job[:16])

    def publish(self, replace: bool, fence: Fence) -> None:
        """Copy the output to its final URL, unless an interrupted attempt has done so.

        Raises
        ------
        FileExistsError
            If something exists there that must not be replaced.
        BlockingIOError
            If another attempt has begun since, or another job publishes to the same URL.
        """
        fence.check()
        fs, growing = self._store(self.path)
        if fs.exists(growing + self.completing):
            claim = {"job": self.job, "attempt": fence.attempt.id}
            self._claim(replace, claim)
            self._clear()
            self._copy(claim, fence)
            self._commit(claim)
            fs.rm_file(growing + self.completing)  # a partly removed output must not be published again
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
        """URL of the publishing attempt's number, shared by all jobs."""
        parent, _, name = self._store(self.final)[1].rpartition("/")
        return f"{parent}/.{name}.publishing"

    def _remove(self, but: str | None = None) -> None:
        """Remove the staged objects for this final URL, of all jobs or of all but one."""
        fs, final = self._store(self.final)
        parent, _, name = final.rpartition("/")
        for folder in fs.glob(f"{parent}/.{name}.job-*"):
            if but is None or not folder.rstrip("/").endswith(but):
                with suppress(FileNotFoundError):  # another attempt has removed it in the meantime
                    fs.rm(folder, recursive=True)
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
        fs, growing = self._store(self.path)
        self._check(claim)
        write_file(self.final, fs.cat_file(growing), overwrite=True)
