"""The journal of a job in a folder, which stores the results of its passes."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from ..chunks import is_dask
from . import codec

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pass:
    """A pass over the data that a job made."""

    statistic: str
    seconds: float
    n_rows: int
    n_bytes: int
    """Bytes of the rows in memory."""
    replayed: bool = False
    """Whether the pass was made in an earlier run of the job."""


@dataclass
class FolderJournal:
    """Store every result of a pass in a file, whose name depends on all results before it.

    `name` identifies the job: a digest of its input and its parameters. The stored value is also the one returned the
    first time, so that interrupted and uninterrupted jobs get the same values. A statistic that is not `journalled` is
    computed each time; of any other, parameters and values must be storable, see `codec.store`, or there is a
    TypeError.
    """

    folder: Path
    name: str
    passes: list[Pass] = field(default_factory=list, init=False)
    _key: str = field(init=False)
    _n_kept: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._key = self.name

    def recall(self, statistic: Any, arrays: Sequence[Any], compute: Callable[[], Any]) -> Any:
        """Return the stored value of the next pass, or compute and store it."""
        # Each name once, as a pass may serve a hundred trees and file names have at most 255 characters.
        parts = getattr(statistic, "parts", (statistic,))
        name = "+".join(dict.fromkeys(type(part).__name__ for part in parts))
        about = (name, len(arrays[0]), sum(int(a.nbytes) for a in arrays))
        if not statistic.journalled:
            return self._timed(about, compute)[0]
        self._key = codec.digest(self._key, statistic, [_looks(array) for array in arrays])
        self._n_kept += 1
        kept = self.folder / f"{self._n_kept:03d}-{name}-{self._key[:16]}.npz"
        value = self._kept(kept, about)
        if value is None:
            codec.store(kept, self._timed(about, compute))
            value, _ = codec.load(kept)
        return value

    def _kept(self, file: Path, about: tuple[str, int, int]) -> Any:
        try:
            value, seconds = codec.load(file)
        except FileNotFoundError:
            return None
        except codec.OtherFormatError:
            raise
        except ValueError as error:
            logger.warning("%s: the pass is made again", error)
            return None
        self.passes.append(Pass(about[0], seconds, *about[1:], replayed=True))
        logger.info("pass %s over the data was made before: %s", len(self.passes), about[0])
        return value

    def _timed(self, about: tuple[str, int, int], compute: Callable[[], Any]) -> tuple[Any, float]:
        started = perf_counter()
        value = compute()
        seconds = perf_counter() - started
        self.passes.append(Pass(about[0], seconds, *about[1:]))
        return value, seconds


def _looks(array: Any) -> list[Any]:
    """Return the identity of an array, including its chunks, on which the last bits of sums depend."""
    chunks = [list(sizes) for sizes in array.chunks] if is_dask(array) else None
    return [list(array.shape), array.dtype.str, chunks]
