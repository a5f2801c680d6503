"""Job files: their tables and keys, and what can be checked before the estimators are imported, which takes seconds."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._fields import (
    Field,
    JobError,
    check_keys,
    checked_kind,
    checked_table,
    choice,
    either,
    flag,
    paths_of,
    positive,
    share,
    text,
    whole,
)
from .._locations import ending_of, names_scenes
from ..clusters.kinds import cluster_settings
from ..columns import KINDS, PIXEL_KINDS
from ..workflows.output_kinds import OUTPUTS, names_each, outputs_of, wanted

Fields = Mapping[str, Field]


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(name) in (str, int) for name in value)


def _are_columns_with_kinds(value: Any) -> bool:
    if not isinstance(value, dict):
        return _are_columns(value)
    if not value or not {*value} <= {"use", *KINDS} or not _are_columns(value.get("use", [0])):
        return False
    orders = value.get("ordinal", {})
    if isinstance(orders, dict):  # levels in their order
        value = {**value, "ordinal": list(orders)}
        if not all(_are_columns(levels) for levels in orders.values()):
            return False
    return all(_are_columns(value[kind]) for kind in KINDS if value.get(kind))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def _are_paths(value: Any) -> bool:
    if isinstance(value, str):
        return names_scenes(value) and "\0" not in value
    return _are_names(value) and all(path and "\0" not in path for path in value)


def _pattern(name: str, required: bool = False) -> Field:
    """Return the field of a path that differs for every scene or version."""
    return Field(
        f"a path or URL with {{{name}}} in the last part only",
        lambda value: isinstance(value, str) and names_each(value, name) and "\0" not in value,
        required=required, is_path=True,
    )  # fmt: skip


PATH, PLACE = (text("a path or URL", required, is_path=True) for required in (True, False))

MISSING = choice("error", "fill", default="error")

COLUMN = Field("the name of a column, or its number from 0", lambda value: type(value) in (str, int))

ROWS = {
    "path": PATH,
    "labels": PLACE,
    "weight_column": COLUMN,
    "groups": COLUMN,
    "id_column": COLUMN,
    "text_column": COLUMN,
    "previous": PLACE,
    "ids": flag(),
    "columns": Field(
        "an array of names, or of numbers from 0, or a table of such arrays with the keys use, continuous, ordinal and "
        "categorical",
        _are_columns_with_kinds,
    ),
    "missing_chunks": MISSING,
}

IMAGE = {
    "path": PATH,
    "axes": text("a letter for every axis, as 'yxc'"),
    "index": Field(
        "a table of indices from 0 by axis, as {t = 0}",
        lambda value: isinstance(value, dict) and all(type(place) is int and place >= 0 for place in value.values()),
    ),
    "window": Field("an odd integer of 3 or more", lambda value: type(value) is int and value >= 3 and value % 2 == 1),
    "coordinates": positive(),
    "sample": whole(2),
    "features": Field(
        f"an array of some of {', '.join(PIXEL_KINDS)}",
        lambda value: isinstance(value, list) and all(kind in PIXEL_KINDS for kind in value),
        default=[],
    ),
    "missing_chunks": MISSING,
    "nodata": Field("a number or 'none'", lambda value: value == "none" or type(value) in (int, float)),
    "mask": PLACE,
    "sieve": whole(2),
    "bands": Field("an array of names", _are_names),
    "reproject": text("a coordinate system, as EPSG:32633"),
    "dequantise": Field(
        "'declared', 'alphaearth' or 'tessera'", lambda value: value in ("declared", "alphaearth", "tessera")
    ),
    "dependence": Field(
        "'auto', 'none', or the lines of a tile as an integer from 1",
        lambda value: value in ("auto", "none") or (type(value) is int and value > 0),
    ),
}

SCENES = {
    "path": Field(
        "a path or URL, with asterisks or of STAC items, or an array of paths or URLs",
        _are_paths,
        required=True,
        is_path=True,
    ),
    **{key: field for key, field in IMAGE.items() if key not in ("path", "coordinates")},
    "mask": _pattern("scene"),
    "ids": flag(),
}
"""Keys of ``[input]`` for scenes."""

NEEDED = {"sieve": ("labels", "connected", "regions"), "ids": ("labels",)}
"""Outputs of which keys of ``[input]`` need one to have an effect."""


def _outputs(input_kind: str) -> Fields:
    """Return the keys of ``[output]`` of a kind of input."""
    if input_kind != "scenes":
        return dict.fromkeys(outputs_of(input_kind), PLACE)
    return {
        name: _pattern(kind.per, required=name in ("labels", "model")) if kind.per else PLACE
        for name, kind in outputs_of(input_kind).items()
    }


OUTPUT = _outputs("rows")

FIELDS: dict[str, tuple[Fields, Fields]] = {
    "rows": (ROWS, OUTPUT),
    "image": (IMAGE, _outputs("image")),
    "scenes": (SCENES, _outputs("scenes")),
}
"""The keys of ``[input]`` beside ``kind``, and of ``[output]``, by the values of ``input.kind``, the default first."""

BESIDE = tuple(dict.fromkeys(key for fields, _ in FIELDS.values() for key in paths_of(fields) if key != "path"))
"""Keys of ``[input]`` with paths of what belongs to the input."""

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""Endings of file names that belong to images only."""


def checked_input(given: Any, output: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of ``[input]`` and ``[output]``, whose keys depend on the kind of the input."""
    values = checked_kind("input", given, {kind: fields for kind, (fields, _) in FIELDS.items()})
    kind, path = values["kind"], values["path"]
    if kind == "image" and names_scenes(path):
        raise JobError(f"input.path names several images, {path}: say so with kind = 'scenes' in [input]")
    if kind == "rows" and ending_of(path) in PICTURES:
        raise JobError(f"input.path is an image, {path}: say so with kind = 'image' in [input]")
    fields = FIELDS[kind][1]
    if isinstance(output, dict):
        check_keys(f"[output] of input.kind = {kind!r}", output, fields)
    outputs = checked_table("output", output, fields)
    if not any(outputs[key] for key in fields if not OUTPUTS[key].describes):
        raise JobError(f"[output] must name {wanted(kind)}; got none of them: nothing would be kept")
    for key, some in NEEDED.items():
        if values.get(key) and not any(map(outputs.get, some)):
            raise JobError(f"[output] must name {either(some)} with input.{key}; got none: leave it out")
    return values, outputs


SECTIONS = ("input", "method", "cluster", "output", "run")

RUN_OF_SCENES = {"on_drift": choice("label", "refit", default="label"), "drift_threshold": share(0.1)}
"""Keys of ``[run]`` that only jobs on scenes have."""

RUN = {
    "work": text("the path of a folder", is_path=True),
    "on_change": choice("error", "restart", default="error"),
    "overwrite": flag(default=False),
    "log_json": flag(default=False),
    "openmetrics": PLACE,
    "name": text("a name for monitors"),
}


LARGEST = 2**20
"""Bytes of a job file, far more than any has."""


def load_job(path: Path) -> dict[str, Any]:
    """Return the unchecked content of a job file; see `mdh_dask.jobs.job.read_job`."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise JobError(
            f"{path} is a pipe, a socket or a device, which may never end: write the job file to a file first"
        )
    if path.is_file() and (size := path.stat().st_size) > LARGEST:
        raise JobError(f"{path}: expected a job file of at most {LARGEST:,} bytes; got {size:,}: check the path")
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no job file {path}; check the path") from None
    except IsADirectoryError:
        raise FileNotFoundError(f"{path} is a folder; give the path of a job file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise JobError(f"{path} is not TOML: {error}") from error


def wants_json(content: dict[str, Any]) -> bool:
    """Return whether unchecked content asks for a JSON log, so that errors of the job file are JSON, too."""
    run = content.get("run")
    return isinstance(run, dict) and run.get("log_json") is True


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Name the job file in its errors."""
    try:
        yield
    except JobError as error:
        raise JobError(f"{path}: {error}") from error


def checked_tables(content: dict[str, Any], cluster: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return the checked values of all tables but the method by their names, with `cluster` for that if it is given."""
    check_keys("a job file", content, SECTIONS)
    where = cluster_settings(content.get("cluster", {}) if cluster is None else cluster)
    given, output = checked_input(content.get("input", {}), content.get("output", {}))
    run = checked_table("run", content.get("run", {}), RUN | (RUN_OF_SCENES if given["kind"] == "scenes" else {}))
    return {"cluster": where, "input": given, "output": output, "run": run}
