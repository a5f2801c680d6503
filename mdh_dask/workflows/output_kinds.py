"""The one table of outputs; it imports nothing large, as job files are checked by it first."""

from typing import Literal, NamedTuple

from .._fields import either


class OutputKind(NamedTuple):
    """A kind of output."""

    form: Literal["file", "array", "labels", "model"]
    """A file, or a Zarr array or group; labels of images may also be maps."""
    example: str = ""
    """A name for a file, for errors."""
    package: tuple[str, str] | None = None
    """The package that it needs and the extra that installs it."""
    of: tuple[str, ...] = ("rows", "image", "scenes")
    """The kinds of input that have it."""
    per: str = ""
    """Of what a job on scenes has one: the night (""), a scene, or a version of the model."""
    describes: bool = False
    """Whether it only describes a run or other outputs, and alone would keep nothing."""


IMAGES = ("image", "scenes")

OUTPUTS = {
    "labels": OutputKind("labels", per="scene"),
    "confidence": OutputKind("array", of=("rows",), describes=True),
    "model": OutputKind("model", per="version"),
    "preview": OutputKind("file", "preview.png", ("PIL", "images"), IMAGES, per="scene"),
    "connected": OutputKind("labels", of=IMAGES, per="scene"),
    "regions": OutputKind("file", "regions.parquet", ("pyarrow", "parquet"), IMAGES, per="scene"),
    "item": OutputKind("file", "labels.json", ("rasterio", "maps"), IMAGES, per="scene", describes=True),
    "report": OutputKind("file", "report.html", ("jinja2", "report")),
    "metrics": OutputKind("file", "metrics.json", describes=True),
    "manifest": OutputKind("file", "manifest.json", describes=True),
}
"""Outputs by their names, in the order in which jobs publish them: the manifest, which names the others, is the last.

Those in repositories are committed before the first.
"""


def names_each(place: str, what: str) -> bool:
    """Return whether a path or URL differs for every scene or version: by ``{scene}``, in its last part only."""
    folder, _, last = place.rpartition("/")
    return f"{{{what}}}" in last and f"{{{what}}}" not in folder


def outputs_of(input_kind: str) -> dict[str, OutputKind]:
    """Return the outputs that a kind of input can have."""
    return {name: kind for name, kind in OUTPUTS.items() if input_kind in kind.of}


def wanted(input_kind: str) -> str:
    """Return the outputs of which at least one is needed, as a list for a sentence."""
    return either(name for name, kind in outputs_of(input_kind).items() if not kind.describes)
