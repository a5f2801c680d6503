"""Metrics and manifest of a job, for programs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._locations import all_redacted, redacted, stored
from .._typing import Integers
from ..io.journal import Pass
from ..io.staging import write_file
from ..workflows.facts import versions
from .job import Job
from .locks import now
from .outputs import JobOutputs, checksum_of
from .state import FORMAT


def metrics_of(
    estimator: Any, rows: Any, passes: Sequence[Pass], n_after: int, counts: Integers | None, n_without: int = 0
) -> dict[str, Any]:
    """Return the metrics of a fit, as if it had not been interrupted.

    `n_after` passes followed the fit; `n_without` rows are pixels without data, which do not count; without `counts` of
    the labels, the sizes of clusters come from the model. ``"bytes_read"`` counts the size of the input in memory once
    for every pass.
    """
    noise = int(estimator.noise)
    sizes = estimator.state_.sizes if counts is None else counts[noise:]
    outside = {"n_in_no_cluster": None if counts is None else int(counts[0])} if noise else {}
    n_passes = estimator.n_passes_ + n_after
    return {
        "n_rows": int(rows.shape[0]) - n_without,
        "n_without_data": n_without,
        "n_columns": int(rows.shape[1]),
        "n_clusters": int(estimator.n_clusters_),
        "cluster_sizes": None if sizes is None else sizes.tolist(),
        **outside,
        "passes": n_passes,
        "bytes_read": n_passes * int(rows.nbytes),
        "seconds": sum(made.seconds for made in passes),
        "each_pass": [vars(made) for made in passes],
    }


def manifest_of(
    job: Job,
    about: Mapping[str, Any],
    rows: Any,
    metrics: Mapping[str, Any],
    attempts: Sequence[Mapping[str, Any]],
    outputs: JobOutputs,
    growing: JobOutputs,
) -> dict[str, Any]:
    """Return the manifest of a job: its input, software, and checksums of its staged outputs."""
    parameters = job.estimator().get_params(deep=False)
    return {
        "format": FORMAT,
        "job": {"path": str(job.path), "sha256": digest_of(job.path), **about["job"]},
        "input": {**about["input"], "chunks": list(rows.chunksize)},
        "parameters": json.loads(json.dumps(parameters, default=str)),
        "versions": versions(),
        "n_rows": metrics["n_rows"],
        "n_without_data": metrics["n_without_data"],
        "n_clusters": metrics["n_clusters"],
        "passes": metrics["passes"],
        "seconds": metrics["seconds"],
        "attempts": list(attempts),
        "outputs": outputs_made(outputs, growing),
        "finished": now(),
    }


def outputs_made(outputs: JobOutputs, growing: JobOutputs) -> dict[str, dict[str, str]]:
    """Return the final path of every output but the manifest, and the checksum of what is staged for it."""
    return {
        key: {"path": stored(path), "checksum": checksum_of(getattr(growing, key))}
        for key, path in outputs.places().items()
        if key != "manifest"
    }


def digest_of(path: Path) -> str:
    """Return a digest of a job file from which its credentials cannot be guessed."""
    return hashlib.sha256(redacted(path.read_bytes().decode()).encode()).hexdigest()


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Write a JSON file."""
    write_file(path, json.dumps(all_redacted(value), indent=1).encode(), overwrite=True)
