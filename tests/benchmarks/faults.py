"""Whether a job that is killed at random moments, with its workers and its scheduler, ends with the same outputs."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from .shared import Table, store_mixture, verdict

SHORT: dict[str, Any] = {"n_rows": 200_000, "n_kills": 3}

N_WORKERS = 2

KINDS = ("process", "worker", "scheduler")
"""What is killed, in turn."""

JOB = """
[input]
path = "{rows}"
[method]
name = "divisive"
projection = "pca"
sample_size = 1000
refine = true
[method.feature_map]
kernel = "quadratic"
n_landmarks = 100
n_components = 10
[cluster]
kind = "scheduler-file"
file = "{scheduler}"
timeout = 20
[output]
labels = "labels.zarr"
model = "model.zarr"
report = "report.html"
metrics = "metrics.json"
"""

MOST_RUNS = 5

PATIENCE = 600.0


def run(n_rows: int = 1_000_000, n_kills: int = 20, seed: int = 0) -> Iterator[Table]:
    """Run a job undisturbed, then again and again with a kill at a random moment, each until it is finished."""
    rng = random.Random(seed)
    lines = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        store_mixture(folder / "rows.zarr", n_rows, 10)
        os.environ["DASK_MDH_DASK__BLOCK_SIZE"] = str(n_rows)  # about 40 blocks
        with Cluster(folder) as cluster:
            compile_loops(folder, cluster)
            started = time.perf_counter()
            expected = Job(folder, "undisturbed").finish(cluster)
            seconds = time.perf_counter() - started
            for i in range(n_kills):
                kind = KINDS[i % len(KINDS)]
                job = Job(folder, f"disturbed-{i}")
                moment = rng.uniform(0, seconds)
                stage = job.disturb(cluster, kind, moment)
                same = job.finish(cluster) == expected
                lines.append((kind, moment, stage, job.runs, job.replayed(), verdict(same), tuple(job.codes)))
                shutil.rmtree(job.folder)
    columns = ("killed", "after s", "stage", "runs", "passes replayed", "same bits", "exit codes")
    yield Table(f"{n_rows} rows; undisturbed {seconds:.3g} s", columns, lines)
    counts = Counter(kind for kind, *_, same, _ in lines if same == verdict(True))
    totals = Counter(kind for kind, *_ in lines)
    summary = [(kind, totals[kind], counts[kind], verdict(counts[kind] == totals[kind])) for kind in totals]
    yield Table("Resumed to the same bits", ("killed", "times", "same", "verdict"), summary)


def compile_loops(folder: Path, cluster: "Cluster") -> None:
    """Run the job once, so that its undisturbed time is that of a run with compiled loops."""
    Job(folder, "warm").finish(cluster)


def _start(*command: object, **options: Any) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, *map(str, command)], start_new_session=True, **options)


class Cluster:
    """A scheduler and `N_WORKERS` workers in processes of their own, which are started again where they were killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.scheduler: subprocess.Popen | None = None
        self.workers: list[subprocess.Popen] = []
        self.log = open(folder / "cluster.log", "wb")  # noqa: SIM115

    def __enter__(self) -> "Cluster":
        self.mend()
        return self

    def __exit__(self, *error: object) -> None:
        for process in (*self.workers, self.scheduler):
            self.kill(process)
        self.log.close()

    def mend(self) -> None:
        """Start whatever does not run; workers whose scheduler has gone are replaced with it."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            for worker in self.workers:
                self.kill(worker)
            self.file.unlink(missing_ok=True)
            command = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard")
            self.scheduler = _start(*command, "--scheduler-file", self.file, stdout=self.log, stderr=self.log)
            while not self.file.exists():
                time.sleep(0.05)
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < N_WORKERS:
            command = ("-m", "distributed.cli.dask_worker", "--nthreads", 1, "--no-nanny", "--no-dashboard")
            where = ("--scheduler-file", self.file, "--local-directory", self.folder)
            self.workers.append(_start(*command, *where, stdout=self.log, stderr=self.log))

    @staticmethod
    def kill(process: subprocess.Popen | None) -> None:
        """Kill a process with SIGKILL."""
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGKILL)
        if process is not None:
            process.wait()


class Job:
    """A job in a folder of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        text = JOB.format(rows=folder / "rows.zarr", scheduler=folder / "scheduler.json")
        (self.folder / "job.toml").write_text(text)
        self.runs, self.codes = 0, []

    def start(self) -> subprocess.Popen:
        """Start a run, which logs to a file."""
        self.runs += 1
        log = open(self.folder / f"log-{self.runs}.txt", "wb")  # noqa: SIM115
        program = "from mdh_dask.cli import main; main()"
        with log:
            return _start("-c", program, "run", self.folder / "job.toml", stdout=log, stderr=log)

    def disturb(self, cluster: Cluster, kind: str, moment: float) -> str:
        """Start a run and kill something after some seconds; return how far the job had come."""
        process = self.start()
        time.sleep(moment)
        stage = self.stage()
        cluster.kill({"process": process, "worker": cluster.workers[0], "scheduler": cluster.scheduler}[kind])
        cluster.mend()
        self.codes.append(_wait(process))
        return stage

    def finish(self, cluster: Cluster) -> dict[str, bytes | str]:
        """Run the job until it is finished; return its outputs."""
        while not self.codes or self.codes[-1] != 0:
            if self.runs >= MOST_RUNS:
                last = (self.folder / f"log-{self.runs}.txt").read_text()[-2000:]
                raise RuntimeError(f"expected the job to finish in {MOST_RUNS} runs; got codes {self.codes}: {last}")
            cluster.mend()
            self.codes.append(_wait(self.start()))
        return outputs(self.folder)

    def stage(self) -> str:
        """Return how far the job has come."""
        if (self.folder / "job.work" / "manifest.json").exists():
            return "finished"
        if (self.folder / "job.work" / "ready.json").exists():
            return "publishing"
        if written := len(list(self.folder.glob(".labels.zarr.attempt-*/labels.zarr/mdh_dask_written/*"))):
            return f"{written} blocks of labels"
        return f"{len(list(self.folder.glob('job.work/passes/0*')))} passes kept"

    def replayed(self) -> int:
        """Return the passes that the last run did not have to make."""
        each = json.loads((self.folder / "metrics.json").read_text())["each_pass"]
        return sum(made["replayed"] for made in each)


def _wait(process: subprocess.Popen) -> int:
    try:
        return process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        process.kill()
        process.wait()
        raise


def outputs(folder: Path) -> dict[str, bytes | str]:
    """Return every byte of labels and model, and the report without times, by their names."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.glob("*.zarr/**/*")):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    found["report.html"] = re.sub(r"[\d.]+ s\b|tcp://[\d.:]+", "", (folder / "report.html").read_text())
    return found
