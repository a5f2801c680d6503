"""Clusters whose client, scheduler and workers are processes of their own, so that each can be watched."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from distributed import Client
from distributed.deploy import SubprocessCluster


@contextmanager
def apart(n_workers: int) -> Iterator[tuple[Client, dict[str, int]]]:
    """Start a scheduler and workers of one thread each; give the client and the number of every process by its part."""
    with (
        SubprocessCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            worker_class="distributed.Worker",
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": ":0"},
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        workers = sorted(client.run(os.getpid).values())
        scheduler = client.run_on_scheduler(os.getpid)
        yield client, {"scheduler": scheduler} | {f"worker {i}": number for i, number in enumerate(workers)}


def cpu_seconds(parts: dict[str, int]) -> dict[str, float]:
    """Return the processor time of the client, which is this process, the scheduler and all workers."""
    times = {part: sum(psutil.Process(number).cpu_times()[:2]) for part, number in parts.items()}
    workers = sum(seconds for part, seconds in times.items() if part.startswith("worker"))
    return {"client": sum(psutil.Process().cpu_times()[:2]), "scheduler": times["scheduler"], "workers": workers}
