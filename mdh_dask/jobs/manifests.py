"""Metrics, manifests and reports of jobs and nights."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._locations import all_redacted, name_of, redacted, stored
from .._typing import Integers
from .._words import full_count
from ..estimators.groups import compared
from ..images import Image
from ..images.overview import SegmentSummary
from ..io.codec import Pass
from ..io.staging import write_file
from ..report import SceneTable, Sizes, write_report
from ..workflows.facts import numbers_of, versions
from .job import Job
from .night_scenes import Ledger
from .notify import OF_MANIFEST
from .outputs import JobOutputs, checksum_of
from .state import FINISHED, FORMAT, Work, now, wanted_of


def metrics_of(
    estimator: Any, rows: Any, passes: Sequence[Pass], n_after: int, counts: Integers | None, n_without: int = 0
) -> dict[str, Any]:
    """Return the metrics of a fit, as if it had not been interrupted.

    `n_after` passes followed the fit; `n_without` rows are pixels without data, which do not count; without `counts` of
    the labels, the sizes of clusters come from the model. ``"bytes_read"`` counts the size of the input in memory once
    for every pass.
    """
    n_passes, history = estimator.n_passes_ + n_after, estimator.history_
    changes = history.changes() if history.night else {}
    return numbers_of(estimator, counts) | {
        "n_rows": int(rows.shape[0]) - n_without,
        "n_without_data": n_without,
        "n_columns": int(rows.shape[1]),
        "ids": estimator.ids_.tolist(),
        **{f"n_{kind}": n for kind, n in changes.items()},
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
    staged: JobOutputs,
) -> dict[str, Any]:
    """Return the manifest of a job: its input, software, and checksums of its staged outputs."""
    parameters = job.estimator().get_params(deep=False)
    return {
        "format": FORMAT,
        "job": {"path": str(job.path), "sha256": digest_of(job.path), **about["job"]},
        "input": {**about["input"], "chunks": list(rows.chunksize)},
        "parameters": json.loads(json.dumps(parameters, default=str)),
        "versions": versions(),
        **{key: value for key, value in metrics.items() if key in OF_MANIFEST.values()},
        **{key: metrics[key] for key in ("n_groups", "tiles", "compared")},
        "attempts": list(attempts),
        "outputs": outputs_made(outputs, staged),
        "finished": now(),
    }


def commit_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the commit of a repository says of a run: its input with the snapshot of it, and all outputs."""
    found = manifest.get("input") or {}
    return {
        "job": manifest["job"]["path"],
        "input": manifest["job"]["input"]["path"],
        "input_snapshot": found.get("snapshot"),
        **{key: manifest[key] for key in ("n_clusters", "outputs", "finished")},
    }


def outputs_made(outputs: JobOutputs, staged: JobOutputs) -> dict[str, dict[str, str]]:
    """Return the final path of every output but the manifest, and the checksum of what is staged for it."""
    return {
        key: {"path": stored(path), "checksum": checksum_of(getattr(staged, key))}
        for key, path in outputs.places().items()
        if key != "manifest"
    }


def digest_of(path: Path) -> str:
    """Return a digest of a job file from which its credentials cannot be guessed."""
    return hashlib.sha256(redacted(path.read_bytes().decode()).encode()).hexdigest()


def write_json(path: str | None, value: Mapping[str, Any]) -> None:
    """Write a JSON file, if it has a path."""
    if path is not None:
        write_file(path, json.dumps(all_redacted(value), indent=1).encode(), overwrite=True)


COLUMNS = ("scene", "night", "model", "pixels", "without data", "coordinates", "drift", "largest segments")


def write_night(
    job: Job, ledger: Ledger, work: Work, made: tuple[JobOutputs, JobOutputs], model: Any, where: str,
    damaged: Mapping[str, str],
) -> dict[str, Any]:  # fmt: skip
    """Write the report, the metrics and the manifest that have a path; return the manifest.

    `made` are the outputs at their final and at their staging paths; `damaged` says of scenes that could not be used
    what is wrong with each.
    """
    metrics, (_, staged) = metrics_of_night(ledger, damaged), made
    before = work.manifest(FINISHED)
    write_json(staged.metrics, metrics)
    manifest = {
        "format": FORMAT,
        "job": {"path": str(job.path), "sha256": digest_of(job.path), **wanted_of(job)},
        "versions": versions(),
        **{key: value for key, value in metrics.items() if key != "each_scene"},
        "compared": compared(model[1]),
        "attempts": work.attempts(),
        "attempts_before": 0 if before is None else len(before["attempts"]),
        "models": [{**one, "model": stored(str(one["model"]))} for one in ledger.versions],
        "scenes": ledger.scenes,
        "drifts": ledger.drifts,
        "finished": now(),
        "summary": summary_of(metrics),
    }
    if staged.report is not None:
        facts = {
            "Scenes": manifest["summary"],
            **{f"Left out: {name}": why for name, why in metrics["damaged"].items()},
            "Model": f"version {metrics['model_version']} of {len(ledger.versions)}, {stored(str(model[0]))}",
            "Method": type(model[1]).__name__,
            **compared(model[1]),
            "Ran on": where,
            "Versions": versions(),
        }
        write_report(
            staged.report, model[1].state_.tree, title=f"Night {metrics['night']} of {name_of(str(job.path))}",
            facts=facts, scenes=_table(ledger, damaged), sizes=_sizes(ledger, model[1]), overwrite=True,
            history=model[1].history_, merges=model[1].merges_,
            feature_map=model[1].state_.feature_map,
        )  # fmt: skip
    manifest["outputs"] = outputs_made(*made)
    write_json(staged.manifest, manifest)
    return manifest


def _sizes(ledger: Ledger, model: Any) -> Sizes:
    """Return the sizes of the latest model's clusters in all scenes that it has labelled."""
    assert ledger.current is not None
    noise, version = int(model.noise), ledger.current["version"]
    own = (about["sizes"] for about in ledger.scenes.values() if about["version"] == version and about["sizes"])
    total = [sum(counts) for counts in zip([0] * (int(model.n_clusters_) + noise), *own)]
    return Sizes(total, -noise, int(model.n_features_in_))


def metrics_of_night(ledger: Ledger, damaged: Mapping[str, str]) -> dict[str, Any]:
    """Return the numbers of the night to tell of."""
    night, current = ledger.reported_night, ledger.current
    assert current is not None
    done = ledger.of_night(night)
    labelled = {name: about for name, about in done.items() if about["outputs"]}
    drifted = [name for name, found in ledger.drifts.items() if found["night"] == night and found["found"]]
    without = [name for name, found in ledger.drifts.items() if name in labelled and "not_compared" in found]
    refitted = [one for one in ledger.versions if one["night"] == night]
    return {
        "night": night,
        "n_scenes": len(ledger.scenes),
        "n_labelled": len(labelled),
        "n_scenes_without_data": len(done) - len(labelled),
        "n_drifted": len(drifted),
        "n_not_compared": len(without),
        "n_damaged": len(damaged),
        "labelled": sorted(labelled),
        "drifted": sorted(drifted),
        "not_compared": sorted(without),
        "damaged": dict(damaged),
        "refitted": [one["version"] for one in refitted],
        "model_version": current["version"],
        "n_clusters": current["n_clusters"],
        "ids": current["ids"],
        **{f"n_{kind}": sum(one["changes"][kind] for one in refitted) for kind in current["changes"]},
        "n_rows": sum(about["n_rows"] for about in labelled.values()),
        "n_without_data": sum(about["n_without"] for about in labelled.values()),
        "passes": sum(one["passes"] for one in refitted) + len(labelled),
        "seconds": sum(one["seconds"] for one in [*refitted, *labelled.values()]),
        "each_scene": done,
    }


def summary_of(metrics: Mapping[str, Any]) -> str:
    """Return a line on a night."""
    labelled = full_count(metrics["n_labelled"], "scene")
    sentences = [f"night {metrics['night']}: {labelled} labelled by version {metrics['model_version']}"]
    if metrics["refitted"]:
        sentences.append(f"which was fitted now and has {full_count(metrics['n_clusters'], 'segment')}")
    if metrics["drifted"]:
        sentences.append(f"{metrics['n_drifted']} with drift ({', '.join(metrics['drifted'][:5])})")
    if metrics["n_not_compared"]:
        sentences.append(f"{metrics['n_not_compared']} not compared, as the model has no tree")
    if metrics["n_scenes_without_data"]:
        sentences.append(f"{metrics['n_scenes_without_data']} without data")
    if metrics["n_damaged"]:
        sentences.append(f"{metrics['n_damaged']} could not be used ({', '.join([*metrics['damaged']][:5])})")
    return ", ".join([*sentences, f"{full_count(metrics['n_scenes'], 'scene')} in all"])


def _table(ledger: Ledger, damaged: Iterable[str]) -> SceneTable:
    rows = [(name, *"-----", "could not be used", "-") for name in sorted(damaged)]
    for name, about in sorted(ledger.scenes.items(), key=lambda item: (-item[1]["night"], item[0])):
        found, sizes = ledger.drifts.get(name), about["sizes"]
        total = max(sum(sizes), 1)
        largest, lowest = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:3], about.get("lowest", 0)
        shape = about.get("shape")
        n_pixels = shape[0] * shape[1] if shape else 0
        rows.append((
            name, str(about["night"]), str(about["version"]),
            f"{shape[1]:,} x {shape[0]:,}" if shape else "-",
            f"{about['n_without'] / n_pixels:.1%}" if n_pixels else "all",
            about.get("crs") or "-",
            _drift_in_words(found, about.get("moved")),
            ", ".join(f"{i + lowest}: {sizes[i] / total:.0%}" for i in largest if sizes[i]),
        ))  # fmt: skip
    return SceneTable(COLUMNS, rows)


def sizes_of(seen: SegmentSummary, estimator: Any, outputs: JobOutputs) -> Integers:
    """Return the pixels of each label, of those in no segment first; what was seen may be of ids."""
    if not outputs.ids:
        return seen.sizes
    noise = int(estimator.noise)
    return seen.sizes[np.append(np.arange(noise), noise + estimator.ids_)]


def moved(model: Any, sizes: Integers, before: Sequence[int]) -> float | None:
    """Return the share of a scene's rows in other clusters than those of the fit, or of the scenes before; or None."""
    noise = int(model.noise)
    known = np.asarray(before[noise:]) if model.state_.sizes is None else model.state_.sizes
    own = sizes[noise:]
    if not own.any() or not known.any():
        return None
    return float(np.abs(own / own.sum() - known / known.sum()).sum() / 2)


def _drift_in_words(found: Mapping[str, Any] | None, moved: float | None) -> str:
    if found is None:
        return "-"
    if "not_compared" not in found:
        return "; ".join(found["alarms"]) or "none"
    shares = "" if moved is None else f"; {moved:.0%} of the pixels are in other segments than those of the model"
    return f"not compared: {found['not_compared']}{shares}"


def crs_of(image: Image) -> str | None:
    """Return the coordinate system of an image, None if it is unknown."""
    if "proj:code" in image.georeference:
        return str(image.georeference["proj:code"])
    return None if not image.georeference else "its own"
