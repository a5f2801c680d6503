"""The tables ``[input]`` and ``[output]`` of a job file: their keys by the kind of the input."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from .._fields import Field, JobError, check_keys, checked_kind, checked_table, choice, positive, text, whole
from .._locations import name_of, names_scenes
from ..columns import KINDS, PIXEL_KINDS

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


def _are_indices(value: Any) -> bool:
    return isinstance(value, dict) and all(type(place) is int and place >= 0 for place in value.values())


def _is_nodata(value: Any) -> bool:
    return value == "none" or type(value) in (int, float)


def _is_window(value: Any) -> bool:
    return type(value) is int and value >= 3 and value % 2 == 1


def _are_pixel_kinds(value: Any) -> bool:
    return isinstance(value, list) and all(kind in PIXEL_KINDS for kind in value)


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
        lambda value: isinstance(value, str) and _is_in_last(value, f"{{{name}}}") and "\0" not in value,
        required=required,
    )


def _is_in_last(place: str, pattern: str) -> bool:
    folder, _, name = place.rpartition("/")
    return pattern in name and pattern not in folder


PATH, MISSING = text("a path or URL", required=True), choice("error", "fill", default="error")

ROWS = {
    "path": PATH,
    "labels": text("a path or URL"),
    "weights": text("a path or URL"),
    "weight_column": Field("the name of a column, or its number from 0", lambda value: type(value) in (str, int)),
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
    "index": Field("a table of indices from 0 by axis, as {t = 0}", _are_indices),
    "window": Field("an odd integer of 3 or more", _is_window),
    "coordinates": positive(),
    "sample": whole(2),
    "features": Field(f"an array of some of {', '.join(PIXEL_KINDS)}", _are_pixel_kinds, default=[]),
    "missing_chunks": MISSING,
    "nodata": Field("a number or 'none'", _is_nodata),
    "mask": text("a path or URL"),
    "sieve": whole(2),
    "bands": Field("an array of names", _are_names),
}

SCENES = {
    "path": Field(
        "a path or URL, with asterisks or of STAC items, or an array of paths or URLs", _are_paths, required=True
    ),
    **{key: field for key, field in IMAGE.items() if key not in ("path", "coordinates")},
    "mask": _pattern("scene"),
}
"""Keys of ``[input]`` for scenes."""

PLACE = text("a path or URL")

OF_IMAGES = {"preview": PLACE, "connected": PLACE, "regions": PLACE}

OUTPUT = {
    "labels": PLACE,
    "model": PLACE,
    "report": PLACE,
    "metrics": PLACE,
    "manifest": PLACE,
    "performance_report": PLACE,
}

OF_SCENES = {
    "labels": _pattern("scene", required=True),
    "preview": _pattern("scene"),
    "connected": _pattern("scene"),
    "regions": _pattern("scene"),
    "model": _pattern("version", required=True),
    "report": PLACE,
    "metrics": PLACE,
    "manifest": PLACE,
}
"""Keys of ``[output]`` for scenes."""

SIEVED = ("labels", "connected", "regions")
"""Keys of the outputs without which nothing is sieved."""

BESIDES = ("confidence", "metrics", "manifest", "performance_report")
"""Outputs that only describe a run or its labels."""

FIELDS: dict[str, tuple[Fields, Fields]] = {
    "rows": (ROWS, OUTPUT | {"confidence": PLACE}),
    "image": (IMAGE, OUTPUT | OF_IMAGES),
    "scenes": (SCENES, OF_SCENES),
}
"""The keys of ``[input]`` beside ``kind``, and of ``[output]``, by the values of ``input.kind``."""

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""Endings of file names that belong to images only."""


def checked_input(
    given: Any, output: Any, kinds: Mapping[str, tuple[Fields, Fields]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of ``[input]`` and ``[output]``, whose keys depend on the kind of the input.

    Raises
    ------
    JobError
        For the first invalid key or value.
    """
    values = checked_kind("input", given, {kind: fields for kind, (fields, _) in kinds.items()})
    kind, path = values["kind"], values["path"]
    if kind == "image" and names_scenes(path):
        raise JobError(f"input.path names several images, {path}: say so with kind = 'scenes' in [input]")
    if kind == "rows" and PurePosixPath(name_of(path)).suffix.lower() in PICTURES:
        raise JobError(f"input.path is an image, {path}: say so with kind = 'image' in [input]")
    fields = kinds[kind][1]
    if isinstance(output, dict):
        check_keys(f"[output] of input.kind = {kind!r}", output, fields)
    outputs = checked_table("output", output, fields)
    if not any(outputs[key] for key in fields if key not in BESIDES):
        *names, last = (key for key in fields if key not in BESIDES)
        raise JobError(f"[output] must name {', '.join(names)} or {last}; got none of them: nothing would be kept")
    if values.get("sieve") is not None and not any(map(outputs.get, SIEVED)):
        raise JobError("[output] must name labels, connected or regions with input.sieve; got none: leave it out")
    return values, outputs
