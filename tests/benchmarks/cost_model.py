"""A model of the seconds that a fit and its labels take on many workers, from constants that were measured on two."""

from dataclasses import dataclass
from math import ceil, log

from mdh_dask.chunks import COMBINE_EVERY

FORMULA = (
    "driver + sum over passes of [chunks (client + scheduler) + (chunks handling + rows work) / workers "
    f"+ log{COMBINE_EVERY}(chunks) {COMBINE_EVERY} largest / bandwidth]; where the scheduler and the workers work at "
    "the same time, the longer of both counts, in place of their sum"
)


@dataclass(frozen=True)
class Costs:
    """Constants of the model.

    Parameters
    ----------
    driver : float
        Seconds on samples between the passes, whatever the number of rows.
    work : tuple of float
        Seconds of one worker for a row, for each pass.
    client, scheduler, handling : float
        Processor seconds for a chunk of which the tasks are empty: of the client, which builds the graph and sends it
        before anything begins, of the scheduler, and of the workers.
    largest : tuple of int
        Bytes of the largest result of each pass.
    row_bytes, block_bytes : float
    bandwidth : float
        Bytes that a worker receives in a second.
    """

    driver: float
    work: tuple[float, ...]
    client: float
    scheduler: float
    handling: float
    largest: tuple[int, ...]
    row_bytes: float
    block_bytes: float = 2**25
    bandwidth: float = 1e9

    def chunks(self, rows: float) -> int:
        """Return the chunks of a pass."""
        return ceil(rows * self.row_bytes / self.block_bytes)

    def parts(self, rows: float, workers: int) -> dict[str, float]:
        """Return the seconds of all passes by what takes them, and both totals."""
        chunks, passes = self.chunks(rows), len(self.work)
        combining = ceil(log(max(chunks, COMBINE_EVERY), COMBINE_EVERY)) * COMBINE_EVERY * sum(self.largest)
        client, scheduler = (passes * chunks * each for each in (self.client, self.scheduler))
        working = [(chunks * self.handling + rows * each) / workers for each in self.work]
        network = combining / self.bandwidth
        overlapping = sum(max(chunks * self.scheduler, seconds) for seconds in working)
        alone = self.driver + client + network
        return {
            "driver": self.driver,
            "client": client,
            "scheduler": scheduler,
            "workers": sum(working),
            "network": network,
            "total, at the same time": alone + overlapping,
            "total, one after the other": alone + scheduler + sum(working),
        }
