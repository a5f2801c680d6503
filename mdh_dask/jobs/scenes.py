"""Scenes as the input of jobs, and the outputs of each."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import dask.array as da
from fsspec.utils import glob_translate  # type: ignore[import-untyped, unused-ignore]

from .._cached import cached_property
from .._errors import ContentsError, SettingError
from .._locations import redacted
from .._words import full_count
from ..images import Image
from ..images.maps import is_map, place_of
from ..images.scenes import Scene, find_scenes, matched, open_scene, rows_of
from ..io import codec
from ..io.paths import fingerprint
from ..workflows.estimates import Estimate, estimate
from ..workflows.output_kinds import OUTPUTS
from ..workflows.outputs import pure_path
from ..workflows.pixels import PixelOptions, columns_of
from ..workflows.reading import Reading
from .inputs import options_of, reading_of
from .outputs import JobOutputs


@dataclass(frozen=True)
class SceneOutputs(JobOutputs):
    """The outputs of a job on scenes: paths with ``{scene}``, of models with ``{version}``, and files of a night."""

    def check(self, *inputs: str) -> None:
        """Raise an error if an output cannot be written, or would be taken for a scene."""
        super().check(*(one for one in inputs if "*" not in one))
        for place in self.places().values():
            if found := next((one for one in inputs if "*" in one and _is_found(place, one)), None):
                raise SettingError(f"{place} would be taken for a scene of {found} the next night: name another place")
            if place != self.model and self.is_of_model(place):
                raise SettingError(f"{place} would be replaced by a version of {self.model}: name another place")

    def replaceable(self) -> list[str]:
        """Return the stored paths of outputs that may be replaced: of the night, of scenes and of the model."""
        return [*self.own]

    def of_scene(self, scene: str) -> JobOutputs:
        """Return the outputs of a scene."""
        return self._only({key: place.replace("{scene}", scene) for key, place in self._given_per("scene")})

    def check_place(self, scene: str, image: Image) -> None:
        """Raise an error if labels of a scene lie where it does, and its coordinates cannot be read."""
        if any(map(is_map, self.of_scene(scene).places().values())):
            place_of(image)

    def of_model(self, version: int) -> JobOutputs:
        """Return the model of a version as an output."""
        return self._only({key: place.replace("{version}", str(version)) for key, place in self._given_per("version")})

    def is_of_model(self, place: str) -> bool:
        """Return whether a place is that of some version of the model, or inside it."""
        versions = re.escape(str(pure_path(self.model or ""))).replace(re.escape("{version}"), r"[1-9]\d*")
        pure = pure_path(place)
        return any(re.fullmatch(versions, str(one)) for one in (pure, *pure.parents))

    def of_night(self) -> JobOutputs:
        """Return the outputs of a night."""
        return self._only(dict(self._given_per("")))

    def _given_per(self, what: str) -> list[tuple[str, str]]:
        return [(name, place) for name, place in self.places().items() if OUTPUTS[name].per == what]

    def _only(self, places: Mapping[str, str]) -> JobOutputs:
        given: dict[str, Any] = {**places, "overwrite": self.overwrite, "own": self.own, "of_image": True}
        return JobOutputs(**given)


@dataclass(frozen=True)
class ScenesInput:
    """Scenes as an input.

    Parameters
    ----------
    path : str
        How the scenes were given, for messages.
    scenes : mapping of str to Scene
    reading : Reading
    options : PixelOptions
    """

    path: str
    scenes: Mapping[str, Scene]
    reading: Reading
    options: PixelOptions
    digests: dict[str, str] = field(default_factory=dict, repr=False)

    def digest(self, name: str) -> str:
        """Return a digest of a scene that changes with its files."""
        if name not in self.digests:
            self.digests[name] = _digest(self.scenes[name])
        return self.digests[name]

    def check_unchanged(self, name: str) -> None:
        """Raise an error if a scene has been written again since it was opened."""
        if _digest(self.scenes[name]) != self.digest(name):
            raise ContentsError("it was written again while it was read, so that outputs of both would be mixed")

    def image(self, name: str) -> Image:
        """Open a scene; see `open_scene` for the errors, and `Features.check` for those of its columns."""
        image = open_scene(self.scenes[name], self.reading.image, self.options.bands)
        columns_of(self.options).check_image(image)
        return image

    @cached_property
    def all_images(self) -> dict[str, Image]:
        """All scenes, open."""
        return matched({name: self.image(name) for name in self.scenes})

    @property
    def rows(self) -> da.Array:
        """Return a row for each pixel of all scenes, with data or not."""
        return rows_of(self.all_images.values(), columns_of(self.options), counted=False)

    @property
    def array(self) -> Any:
        """Return the rows."""
        return self.rows

    def describe(self) -> str:
        """Return the number of scenes and of their pixels, and the columns of rows."""
        image, rows = next(iter(self.all_images.values())), self.rows
        bands = f"{image.shape[2]} {image.dtype} bands" + (f" ({', '.join(image.bands)})" if image.bands else "")
        scenes = full_count(len(self.scenes), "scene")
        return f"{scenes}, {len(rows):,} pixels of {bands}, rows of {rows.shape[1]} columns"

    def n_passes_after(self, outputs: Any) -> int:
        """Return the number of passes after the tree has grown: one that labels."""
        return 1

    def estimate(self, estimator: Any, outputs: Any) -> Estimate:
        """Return the estimate for fitting a model to all scenes and labelling them."""
        need = estimate(self.rows, estimator, labels=True).on_pixels(self.options.sample is not None, False, 1)
        holes = any(image.validity is not None for image in self.all_images.values())
        return need.more(holes + (self.options.dependence is not None))


def open_scenes_input(given: Mapping[str, Any]) -> ScenesInput:
    """Find the scenes that the values of ``[input]`` name; they are opened later."""
    options = options_of(given)
    found = find_scenes(given["path"], options.bands, given["mask"])
    shown = given["path"] if isinstance(given["path"], str) else f"{len(found)} scenes"
    return ScenesInput(shown, {scene.name: scene for scene in found}, reading_of(given), options)


def _digest(scene: Scene) -> str:
    # No token of a URL: it may be another one every night, and nobody shall guess it from the digest.
    files = [(redacted(path), bands, _fingerprint(path)) for path, bands in scene.files]
    if scene.mask is not None:
        files.append((redacted(scene.mask), (), _fingerprint(scene.mask)))
    return codec.digest(*files, *filter(None, [redacted(scene.fault)]))[:32]


def _fingerprint(path: str) -> dict[str, Any] | None:
    """Return the fingerprint of a file, None for one that is missing on a server that cannot list its files."""
    try:
        return fingerprint(path)
    except FileNotFoundError:
        return None


def _is_found(place: str, pattern: str) -> bool:
    """Return whether a pattern names a place, or a folder around it."""
    wanted = re.compile(glob_translate(pattern))
    return any(wanted.match(place[: end.start()]) for end in re.finditer("/|$", place))


def own(outputs: SceneOutputs, places: Iterable[str]) -> SceneOutputs:
    """Return the outputs with further places that may be replaced."""
    return replace(outputs, own=tuple(dict.fromkeys([*outputs.own, *places])))
