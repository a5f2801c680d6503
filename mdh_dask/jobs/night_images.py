"""The scenes of a night, open and counted."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..images import Image, PixelColumns
from ..images.scenes import alike, usual_of
from ..workflows.scenes import counted_scene
from .damaged import Damaged
from .scenes import SceneOutputs, ScenesInput


@dataclass
class NightImages:
    """Opens scenes and counts their pixels with data, each once.

    Parameters
    ----------
    opened : ScenesInput
    outputs : SceneOutputs
    damaged : Damaged
        Notes the scenes that cannot be used.
    progress : bool
    counted : dict of str to Image
        Scenes that were counted; None for those without data.
    """

    opened: ScenesInput
    outputs: SceneOutputs
    damaged: Damaged
    progress: bool
    counted: dict[str, Image | None] = field(default_factory=dict)

    def alike(self, names: Iterable[str]) -> dict[str, Image]:
        """Return the scenes with data and the bands that most have, counted."""
        opened: dict[str, Image] = {}
        for name in sorted(names):
            with self.damaged.noted(name):
                opened[name] = self._open(name)
        self.counted, usual = {}, usual_of(opened.values()) if opened else None
        for name, image in opened.items():
            with self.damaged.noted(name):
                assert usual is not None
                self.counted[name] = counted_scene(alike(image, usual), self.progress)
        return {name: image for name, image in self.counted.items() if image is not None}

    def one(self, name: str, columns: PixelColumns, model: str) -> Image | None:
        """Return a scene with the bands of a model, counted; None if it holds no data."""
        if name not in self.counted:
            self.counted[name] = counted_scene(columns.of(self._open(name), model), self.progress)
        return self.counted[name]

    def _open(self, name: str) -> Image:
        """Open a scene, and read its coordinates where labels need them, before any other work."""
        image = self.opened.image(name)
        self.outputs.check_place(name, image)
        return image
