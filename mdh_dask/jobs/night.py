"""A night of a job on scenes: new scenes are compared with the latest model, which labels them or is replaced.

Every step is done when the ledger says so, and each can be done again: a night that was killed does what is left.
"""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from .._errors import ContentsError
from .._fields import JobError
from .._journal import traced, use_journal
from .._locations import stored
from .._state import ComparedState
from .._words import full_count
from ..chunks import announced
from ..estimators.drift import drift
from ..estimators.groups import Parts
from ..estimators.history import continued, has_columns
from ..estimators.models import load_model
from ..images import Image
from ..images.rows import all_rows, pixel_rows
from ..images.scenes import rows_of
from ..images.tiles import parts_by_tiles
from ..images.validity import NoDataError
from ..io import codec
from ..io.codec import FolderJournal
from ..summaries.drift import novelty_of
from ..workflows.facts import Estimate, telling_of_memory
from ..workflows.pixels import describe, labelled
from ..workflows.scenes import fit_scenes
from ._run import Run
from .manifests import crs_of, moved, sizes_of, write_night
from .night_scenes import LEDGER, Damaged, Ledger, NightImages, checked_outputs, new_scenes
from .outputs import JobOutputs, checksum_of
from .state import FINISHED, PASSES, code_digest, now, wanted_of

logger = logging.getLogger(__name__)


@dataclass
class ScheduledRun(Run):
    """One night of a job on scenes: a step for every model and scene, and one for the files of the night."""

    ledger: Ledger = field(init=False)
    new: list[str] = field(init=False)
    """Scenes that are not done, or have changed since."""
    damaged: Damaged = field(default_factory=Damaged)
    """Scenes that could not be used in this run."""
    models: dict[int, Any] = field(default_factory=dict)
    """Models that were loaded."""
    images: NightImages = field(init=False)

    def check(self) -> None:
        """Do nothing, as what is checked depends on the scenes; see `checked_outputs`."""

    def about(self) -> dict[str, Any]:
        """Return what must not change from night to night; scenes may, and so may the version of this package."""
        wanted = wanted_of(self.job)
        if isinstance(wanted["input"]["path"], list):
            wanted["input"]["path"] = "several scenes"
        return dict(json.loads(json.dumps({"job": wanted, "input": {}, "versions": {}})))

    def nothing_to_do(self, anew: bool) -> str | None:
        """Return how many scenes are done if none is new; otherwise check the outputs and return None."""
        known = self._load(anew)
        if not self.new and not self.ledger.of_night() and not known and self.ledger.current is not None:
            nights = full_count(self.ledger.night - 1, "night")
            return f"no new scene: {len(self.ledger.scenes)} done in {nights}, nothing to do"
        self.damaged = Damaged(self._refused(anew), known)
        self.images = NightImages(self.opened, self.outputs, self.damaged, self.progress)
        return None

    def _load(self, anew: bool) -> set[str]:
        """Load the ledger; return the scenes that the files of the last night call damaged."""
        self.ledger = Ledger(self.job.work / LEDGER) if anew else Ledger.load(self.job.work)
        self.new = new_scenes(self.opened, self.ledger)
        return set() if anew else {*((self.work.manifest(FINISHED) or {}).get("damaged") or {})}

    def _refused(self, anew: bool = False) -> dict[str, str]:
        """Check the outputs, and return why new scenes cannot have some."""
        mine = self.outputs
        with suppress(JobError) if anew else nullcontext():  # work that is damaged is given up
            mine = mine.owning(self.work.replaces())
        self.outputs, refused = checked_outputs(self.job, mine, self.opened, self.ledger, self.new)
        return refused

    def is_ready(self) -> bool:
        """Return False, as files of the night that are ready may lack scenes that have come since."""
        return False

    def begin(self, about: dict[str, Any], anew: bool) -> None:
        if anew:
            self.ledger.write()  # first, so that a kill does not leave the old ledger with a job that has begun anew
        super().begin(about, anew)

    def make(self, about: dict[str, Any]) -> dict[str, Any]:
        """Compare, fit and label, stage the files of the night, and return the manifest."""
        with self.job.start_cluster() as where:
            if self.ledger.current is None:
                self._fit()
            while self._has_drifted():  # scenes may have come after a fit was killed, which goes on without
                self._fit()
            for name in new_scenes(self.opened, self.ledger):
                if name not in self.damaged.why:
                    with self.damaged.noted(name), traced("label scene", scene=name):
                        self._label(name)
        outputs, name = self.last(about)
        about_model = (self._place(self._version()), self._model(self._version()))
        with outputs.resumed(name, self.fence) as staged:
            made = (outputs, staged)
            return write_night(self.job, self.ledger, self.work, made, about_model, where, self.damaged.why)

    def last(self, about: dict[str, Any]) -> tuple[JobOutputs, str]:
        """Return the files of the night, and a name of it."""
        return self.outputs.of_night(), self._name("night", self.ledger.night)

    def end(self) -> None:
        """End the night in the ledger, last: a run that is killed before is reported by the next.

        Raises a ContentsError if the new scenes of the night are all damaged.
        """
        n_done = len(self.ledger.of_night())
        self.ledger.night += bool(n_done)
        self.ledger.write()
        self.damaged.end(n_done)

    def stage(self, about: dict[str, Any]) -> str:
        """Return the number of the night, and of its new scenes and of those that cannot be labelled."""
        self._load(bool(self.work.changes(about)))
        refused = self._refused()
        for name, image in self.opened.all_images.items():
            self.outputs.check_place(name, image)
        stage = f"night {self.ledger.night}, {len(self.new)} of {len(self.opened.scenes)} scenes are new"
        return stage + (f", {len(refused)} refused: {'; '.join(refused.values())}" if refused else "")

    def passes(self, need: Estimate) -> str:
        """Return the passes of a model of all scenes, and of a night."""
        return f"{need.passes()} for a model of all scenes; otherwise up to 4 of every new one: counts, drift, labels"

    def _has_drifted(self) -> bool:
        """Compare new scenes with the latest model unless it was fitted to them; return whether to fit another."""
        current, version = self.ledger.versions[-1], self._version()
        self._model(version)  # an error of the model is none of a scene
        found = False
        for name in self.damaged.left(dict.fromkeys(self.new)):
            digest = self.opened.digest(name)
            if current["scenes"].get(name) == digest:
                continue
            compared = self.ledger.drift_of(name, digest, version)
            if compared is None:
                with self.damaged.noted(name):
                    about = {"digest": digest, "version": version, "night": self.ledger.night}
                    compared = about | self._compared(name, version)
                    self.ledger.add("drifts", name, compared)
            found = found or (compared is not None and bool(compared["found"]))
        return found and self.job.run["on_drift"] == "refit"

    def _compared(self, name: str, version: int) -> dict[str, Any]:
        """Return how many rows of a scene lie where a model has none; nothing without splits or data."""
        model, image = self._model(version), self._image(name, version)
        if image is None or not isinstance(model.state_, ComparedState):
            why = "no data" if image is None else f"{type(model).__name__} has no tree"
            logger.info("scene %s: not compared, %s", name, why)
            return {"found": False, "novel": None, "alarms": [], "not_compared": why}
        rows, tiles, parts = pixel_rows(image, model.pixel_columns_.features), model.pixel_columns_.tiles, None
        if tiles is not None:  # tiles of the new scene depend on each other as far as those of the model do
            parts = Parts(parts_by_tiles(image, tiles.side), max(len(rows) // tiles.side**2, 1))
        with telling_of_memory(rows, model):
            new = novelty_of(drift(model, rows, groups=parts, progress=announced(f"comparing {name}", self.progress)))
        found = new.bound > self.job.run["drift_threshold"]
        alarms = [f"split {new.node}: {new.share:.0%} of all rows lie where the model has none"] if found else []
        logger.info("scene %s: %s", name, "; ".join(alarms) or "no drift")
        return {"found": found, "novel": new.share, "alarms": alarms}

    def _fit(self) -> None:
        """Fit the next version of the model to all scenes that are there, or to those with which that was begun."""
        version, begun = len(self.ledger.versions) + 1, self._begun()
        self._own(self.outputs.of_model(version))
        images = self.images.alike(begun)
        while True:
            begun = self.damaged.left(begun)
            self.ledger.pending = {"version": version, "scenes": begun}
            self.ledger.write()
            try:
                found = self._fitted(version, begun, images)
                break
            except ValueError as error:  # of the data: with those that come later, or without some, it may succeed
                self.fence.check()
                if isinstance(error, ContentsError):
                    self.damaged.read(self.damaged.left(images), self.progress)
                if self.damaged.left(begun) == begun:
                    self.ledger.pending = {}
                    self.ledger.write()
                    raise
        self.ledger.versions.append({"version": version, "scenes": begun, "night": self.ledger.night, **found})
        self.ledger.pending = {}
        self.ledger.write()
        n_scenes = full_count(len(begun), "scene")
        logger.info("version %s of the model, fitted to %s, in %s", version, n_scenes, found["model"])

    def _own(self, model: JobOutputs) -> None:
        """Check the place of a model, and record that the job may replace it, unless it is known: the next one is."""
        if not {*map(stored, model.given())} <= {*self.outputs.own}:
            model.check()
            self.outputs = self.outputs.owning(map(stored, model.given()))
            self.work.owns(self.outputs.own)

    def _fitted(self, version: int, begun: Mapping[str, str], images: Mapping[str, Image]) -> dict[str, Any]:
        """Publish a model of some scenes, and return what the ledger says of it."""
        images = self.damaged.left(images)
        if not images:
            self.damaged.check()
            raise NoDataError(f"expected pixels with data in {self.opened.path}; got none in {len(begun)} scenes")
        outputs, name = self.outputs.of_model(version), self._name("model", version, begun)
        journal, estimator = FolderJournal(self.job.work / PASSES, name), self.job.estimator(self.progress)
        with self._published(outputs, name, {"version": version, "scenes": begun}) as staged, use_journal(journal):
            fit_scenes(images, estimator, self.opened.options)
            features: Any = estimator.pixel_columns_
            own = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
            if version > 1 and has_columns(before := self._model(version - 1), *own):
                estimator = continued(estimator, before, rows_of(images.values(), features.features))
            estimator.save(str(staged.model), overwrite=True)
        return {
            "model": outputs.model, "made": now(),
            "n_rows": sum(image.order.n_rows - image.n_without for image in images.values()),
            "n_clusters": int(estimator.n_clusters_), "passes": int(estimator.n_passes_),
            "seconds": sum(made.seconds for made in journal.passes), "ids": estimator.ids_.tolist(),
            "changes": estimator.history_.changes(),
        }  # fmt: skip

    def _begun(self) -> dict[str, str]:
        """Return the digests of the scenes of a fit that was begun, if these are still there; otherwise of all."""
        digests = {name: self.opened.digest(name) for name in self.opened.scenes}
        begun = self.ledger.pending.get("scenes")
        goes_on = isinstance(begun, dict) and begun and begun.items() <= digests.items()
        return self.damaged.left(begun if goes_on else digests)  # type: ignore[arg-type]

    def _label(self, name: str) -> None:
        """Label a scene by the latest model."""
        started, version, digest = perf_counter(), self._version(), self.opened.digest(name)
        about: dict[str, Any] = {"digest": digest, "version": version, "night": self.ledger.night}
        image, model, outputs = self._image(name, version), self._model(version), self.outputs.of_scene(name)
        if image is None:
            kept = self.ledger.scenes.get(name, {}).get("outputs")
            older = "; those of what it held before stay" if kept else ""
            logger.warning("scene %s holds no data: it gets no labels%s", name, older)
            found: dict[str, Any] = {"n_rows": 0, "n_without": 0, "sizes": [], "seconds": 0.0, "outputs": {}}
        else:
            # By its checksum, as another version 1 may follow a restart.
            job, sieve = self._name(name, digest, checksum_of(self._place(version))), self.opened.options.sieve
            origin = {"scene": name, "model": stored(self._place(version)), "model_version": version}
            journal = FolderJournal(self.job.work / PASSES / "labels", job)
            memory = telling_of_memory(all_rows(image, model.pixel_columns_.features), model)
            with self._published(outputs, job, origin) as staged, use_journal(journal), memory:
                seen = labelled(image, model, staged, self.progress, job, sieve=sieve, about=origin)
                describe(seen, image, model, staged, name)
                self.opened.check_unchanged(name)
            sizes = sizes_of(seen, model, outputs)
            found = {
                "shape": list(image.shape), "crs": crs_of(image), "snapshot": image.snapshot or None,
                "n_rows": int(sizes.sum()), "n_without": seen.n_without or 0,
                "sizes": sizes.tolist(), "lowest": -int(model.noise),
                "transform": image.georeference.get("spatial:transform"),
                "moved": moved(model, sizes, self.ledger.sizes_before(version)),
                "seconds": perf_counter() - started,
                "outputs": {key: stored(path) for key, path in outputs.places().items()},
            }  # fmt: skip
        self.ledger.add("scenes", name, about | found)
        if image is not None:
            snapshot = f", at snapshot {image.snapshot}" if image.snapshot else ""
            logger.info("scene %s labelled by version %s of the model%s", name, version, snapshot)

    def _version(self) -> int:
        return int(self.ledger.versions[-1]["version"])

    def _place(self, version: int) -> str:
        return str(self.outputs.of_model(version).model)

    def _model(self, version: int) -> Any:
        if version not in self.models:
            self.models[version] = load_model(self._place(version))
        return self.models[version]

    def _image(self, name: str, version: int) -> Image | None:
        """Return a scene with the bands of a model, counted; None if it holds no data."""
        return self.images.one(name, self._model(version).pixel_columns_, self._place(version))

    @contextmanager
    def _published(self, outputs: JobOutputs, name: str, about: Mapping[str, Any]) -> Iterator[JobOutputs]:
        """Yield the outputs of a step at their staging paths, and publish them; a commit says what is `about` them."""
        with outputs.resumed(name, self.fence) as staged:
            try:
                yield staged
            except ValueError:  # of the data, with which nothing will go on
                self.fence.check()
                for one in outputs.staged("", name).values():
                    one.give_up()
                raise
        outputs.publish(self.fence.attempt.id, name, self.fence, about)

    def _name(self, *about: Any) -> str:
        """Return a name for a step that differs for other scenes, methods and versions of this package."""
        wanted = wanted_of(self.job)
        return codec.digest(wanted["input"], wanted["method"], code_digest(), *about)[:32]
