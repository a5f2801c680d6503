"""Jobs on many scenes: one model, labels of each, night after night."""

import json
import os
import re
import shutil
import struct
from pathlib import Path

import dask
import fsspec
import numpy as np
import pytest
import rasterio
import zarr
from disturbed import contents
from helpers import at_night, job_text
from helpers import run as command
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from mdh_dask import PCATree, load_model
from mdh_dask._errors import SettingError
from mdh_dask._fields import JobError
from mdh_dask._words import full_count
from mdh_dask.cli import exits
from mdh_dask.images import Features, open_image, pixel_rows
from mdh_dask.images.scenes import Scene, find_scenes, matched, rows_of
from mdh_dask.images.stac import SceneFile
from mdh_dask.jobs import check, run
from mdh_dask.jobs import night as night_module
from mdh_dask.jobs.inputs import ScenesInput
from mdh_dask.jobs.night_scenes import Damaged, Ledger
from mdh_dask.workflows import predict, segment
from mdh_dask.workflows.reading import PixelOptions

BANDS = ("red", "green", "nir")

GROUND = np.array([[40, 60, 30], [90, 200, 120], [200, 90, 220]])


def scene(path, seed, height=30, width=40, shift=0, bands=BANDS, holes=0, zone=21, kinds=3, named=True):
    """Write a GeoTIFF of three kinds of ground, with named bands, no data as 0, and a place of its own."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(height * width) % kinds).reshape(height, width)
    pixels = (GROUND[kind] + shift + rng.normal(scale=5, size=(height, width, 3))).clip(1, 254).astype("u1")
    pixels[:holes] = 0
    about = {"driver": "GTiff", "height": height, "width": width, "count": len(bands), "dtype": "uint8", "nodata": 0}
    place = {"crs": f"EPSG:327{zone}", "transform": rasterio.Affine(30, 0, 5e5 + seed, 0, -30, 7e6)}
    with rasterio.open(path, "w", **about, **place) as file:
        # First the names: after pixels that are already on disk, the directory would move to the end of the file.
        file.descriptions = bands if named else [None] * len(bands)
        for i, band in enumerate(bands):
            file.write(pixels[..., BANDS.index(band)], i + 1)
    return kind


JOB = job_text(
    input={"kind": "scenes", "path": "scenes/*.tif"},
    method={"name": "pca"},
    output={
        "labels": "out/{scene}.tif",
        "model": "out/model-{version}.zarr",
        "report": "out/night.html",
        "metrics": "out/metrics.json",
        "manifest": "out/manifest.json",
    },
    run={"openmetrics": "job.prom", "on_drift": "refit"},
)


def new_job(folder, text=JOB):
    for name in ("scenes", "out"):
        (folder / name).mkdir()
    (folder / "job.toml").write_text(text)
    return folder / "job.toml"


def metrics(job):
    return json.loads((job.parent / "out/metrics.json").read_text())


def labels_of(job, name):
    with rasterio.open(job.parent / f"out/{name}.tif") as file:
        return file.read(1), file.tags(), file.crs, file.transform


NIGHTS = ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10], [11, 12, 13, 14, 15], [16, 17, 18, 19])
"""Scenes that come in each of five nights."""

DRIFTING = {9: 55, 17: -30}
"""How much brighter two of them are than all before."""


def bring(job, number):
    size = {"height": 24 + number, "width": 41 - number % 7, "zone": 21 + number % 3}
    bands = BANDS if number % 2 else BANDS[::-1]
    return scene(job.parent / f"scenes/s{number:02d}.tif", number, **size, shift=DRIFTING.get(number, 0), bands=bands)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A job on twenty scenes over five nights; the line and the metrics of every night."""
    job, found = new_job(tmp_path_factory.mktemp("nights")), {}
    for night, numbers in enumerate(NIGHTS, 1):
        for number in numbers:
            bring(job, number)
        found[night] = run(job), metrics(job)
    return job, found


@pytest.mark.slow
def test_twenty_scenes_of_five_nights_are_labelled_and_refitted_where_two_drift(nights):
    job, found = nights
    versions = {1: 1, 2: 1, 3: 2, 4: 2, 5: 3}
    for night, numbers in enumerate(NIGHTS, 1):
        line, told = found[night]
        drifted = [f"s{number:02d}" for number in numbers if number in DRIFTING]
        assert told["labelled"] == [f"s{number:02d}" for number in numbers]
        assert told["drifted"] == drifted
        model = load_model(job.parent / f"out/model-{versions[night]}.zarr")
        assert (told["night"], told["model_version"], told["n_clusters"]) == (night, versions[night], model.n_clusters_)
        assert told["refitted"] == ([versions[night]] if drifted or night == 1 else [])
        labelled = full_count(len(numbers), "scene")
        assert line.startswith(f"night {night}: {labelled} labelled by version {versions[night]}")
    folder = job.parent
    assert sorted(path.name for path in folder.glob("out/model-*")) == [f"model-{i}.zarr" for i in (1, 2, 3)]
    manifest = json.loads((folder / "out/manifest.json").read_text())
    assert [len(one["scenes"]) for one in manifest["models"]] == [4, 11, 20]
    assert len(manifest["scenes"]) == 20
    ids = [one["ids"] for one in manifest["models"]]
    assert set(ids[0]) & set(ids[1]) & set(ids[2])
    assert len(ids[2]) == manifest["n_clusters"]
    for night, numbers in enumerate(NIGHTS, 1):
        for number in numbers:
            _, tags, crs, transform = labels_of(job, f"s{number:02d}")
            assert (tags["MODEL_VERSION"], tags["SCENE"]) == (str(versions[night]), f"s{number:02d}")
            with rasterio.open(folder / f"scenes/s{number:02d}.tif") as file:
                assert (crs, transform) == (file.crs, file.transform)


@pytest.mark.slow
def test_the_report_has_a_table_of_the_scenes_and_monitors_are_told(nights):
    job, _ = nights
    page = (job.parent / "out/night.html").read_text()
    assert page.count('<th scope="row">s') == 20
    assert "EPSG:32722" in page
    assert [gauge(job, name) for name in ("exit_code", "scenes", "model_version")] == [0, 20, 3]
    changed = load_model(job.parent / "out/model-3.zarr").history_.changes()
    assert {kind: gauge(job, f"clusters_{kind}") for kind in changed} == changed
    assert "Versions 1 to 3 of the model, from left to right" in " ".join(page.split())


def test_labels_are_those_of_one_table_of_all_pixels(tmp_path):
    job, rows = new_job(tmp_path), []
    for number, holes in enumerate((3, 0, 30)):
        scene(tmp_path / f"scenes/{number}.tif", number, height=30 + number, holes=holes)
        with rasterio.open(tmp_path / f"scenes/{number}.tif") as file:
            pixels = file.read().transpose(1, 2, 0)
        there = (pixels != 0).all(axis=2)
        rows.append((pixels[there], there))
    run(job)
    model = load_model(tmp_path / "out/model-1.zarr")
    expected = PCATree().fit(np.concatenate([pixels for pixels, _ in rows]))
    assert model.n_clusters_ == expected.n_clusters_ == 3
    for number, (pixels, there) in enumerate(rows):
        labels = labels_of(job, str(number))[0]
        np.testing.assert_array_equal(labels[there], expected.predict(pixels))
        assert (labels[~there] == 255).all()


@pytest.mark.slow
def test_labels_of_nights_are_ids_on_request_and_sizes_stay_those_of_labels(tmp_path):
    job = new_job(tmp_path, JOB.replace("[method]", "ids = true\n[method]"))
    for night, shift in enumerate((0, 55), 1):
        scene(tmp_path / f"scenes/{night}.tif", night, shift=shift)
        run(job)
        model = load_model(tmp_path / f"out/model-{night}.zarr")
        rows = pixel_rows(open_image(tmp_path / f"scenes/{night}.tif")).compute()
        np.testing.assert_array_equal(labels_of(job, str(night))[0].ravel(), model.ids_[model.predict(rows)])
    assert model.history_.night == 1
    assert model.ids_.tolist() != sorted(range(model.n_clusters_))
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["models"][-1]["ids"] == model.ids_.tolist()
    assert manifest["scenes"]["2"]["sizes"] == np.bincount(model.predict(rows), minlength=model.n_clusters_).tolist()


@pytest.mark.slow
def test_scenes_of_a_night_in_another_order_give_the_same_bits_and_the_same_ids(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = JOB.replace("scenes/*.tif", "items.json").replace("[method]", "ids = true\n[method]")
    job, found = new_job(tmp_path, text), []
    for number in range(4):
        scene(tmp_path / f"scenes/{number}.tif", number, height=20 + number, shift=55 * (number > 1), bands=BANDS)
    for nights in ((0, 1), (2, 3)), ((1, 0), (3, 2)):
        there = []
        for night in nights:
            there += [item(f"s{number}", {"all": {"href": f"scenes/{number}.tif"}}) for number in night]
            (tmp_path / "items.json").write_text(collection(*there))
            run(job)
        history = load_model("out/model-2.zarr").history_
        found.append((contents(tmp_path / "out"), str(history.to_records())))
        for left in ("out", "job.work"):
            shutil.rmtree(left)
        (tmp_path / "out").mkdir()
    (files, events), (again, events_again) = found
    assert events == events_again
    assert {name: files[name] == again.get(name) for name in files} == dict.fromkeys(files, True)


def test_windows_do_not_cross_from_one_scene_to_the_next(tmp_path):
    for number in range(2):
        scene(tmp_path / f"{number}.tif", number)
    images = [open_image(tmp_path / f"{number}.tif") for number in range(2)]
    features = Features(window=5)
    rows = rows_of(images, features).compute()
    np.testing.assert_array_equal(rows, np.concatenate([pixel_rows(image, features).compute() for image in images]))


def test_a_scene_without_data_gets_no_labels_and_stops_no_night(tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    scene(tmp_path / "scenes/b.tif", 1, holes=30)
    run(job)
    found = metrics(job)
    assert (found["labelled"], found["n_scenes_without_data"]) == (["a"], 1)
    assert "nothing to do" in run(job)


def gauge(job, name):
    families = text_string_to_metric_families((job.parent / "job.prom").read_text())
    return {family.name: family.samples[0].value for family in families}[f"mdh_dask_job_{name}"]


def left_out(job, *names):
    """Run a night that ends well although scenes could not be used; return what was wrong with each."""
    line, found = run(job), metrics(job)["damaged"]
    assert (f"{len(names)} could not be used (" in line, sorted(found)) == (True, [*names])
    return "; ".join(f"{name}: {why}" for name, why in sorted(found.items()))


@pytest.mark.slow
@pytest.mark.parametrize("nodata", at_night(['nodata = "none"', ""]), ids=["seen in the fit", "seen when counted"])
def test_damaged_scenes_stop_no_night_and_are_named_until_they_are_whole_or_gone(nodata, tmp_path, caplog):
    job = new_job(tmp_path, JOB.replace("[method]", f"{nodata}\n[method]"))
    places = {name: tmp_path / f"scenes/{name}.tif" for name in "abcdef"}
    scene(places["c"], 2)
    os.truncate(places["c"], places["c"].stat().st_size * 2 // 3)
    wanted = r"1 of the scenes could not be used and got no labels tonight: c: .*/c.tif is damaged: .*try them again"
    with pytest.raises(ValueError, match=wanted):
        run(job)
    assert not [*(tmp_path / "out").glob("[!.]*")]
    for name, seed in (("a", 0), ("b", 1)):
        scene(places[name], seed)
    caplog.clear()
    result = command("run", job)
    assert (result.exit_code, gauge(job, "exit_code")) == (0, 0)
    assert re.search(wanted, caplog.records[-1].getMessage())
    assert caplog.records[-1].levelname == "WARNING"
    assert (metrics(job)["labelled"], [*metrics(job)["damaged"]]) == (["a", "b"], ["c"])
    assert (gauge(job, "scenes_damaged"), gauge(job, "scenes_labelled")) == (1, 2)
    assert [*Ledger.load(tmp_path / "job.work").versions[0]["scenes"]] == ["a", "b"]
    assert "Left out: c" in (tmp_path / "out/night.html").read_text()

    scene(places["d"], 3)
    scene(places["e"], 4, bands=("red", "green"))
    assert re.search("c: .*; e: .*nir", left_out(job, "c", "e"))
    found = metrics(job)
    assert (found["night"], found["labelled"], found["n_scenes"]) == (2, ["d"], 3)
    left_out(job, "c", "e")
    assert metrics(job) == found
    scene(places["c"], 2)
    places["e"].unlink()
    assert "night 3: 1 scene labelled by version 1, 4 scenes in all" in run(job)
    assert (metrics(job)["labelled"], metrics(job)["damaged"], gauge(job, "scenes_damaged")) == (["c"], {}, 0)

    places["f"].write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"1 of the scenes .*: f: "):  # all that is new is damaged
        run(job)
    found = metrics(job)
    assert (found["night"], found["labelled"], [*found["damaged"]]) == (3, ["c"], ["f"])
    left_out(job, "f")  # as the night before has told
    places["f"].unlink()
    assert "night 3: 1 scene labelled by version 1, 4 scenes in all" in run(job)
    assert (metrics(job)["damaged"], gauge(job, "exit_code")) == ({}, 0)
    assert "nothing to do" in run(job)
    assert not [*(tmp_path / "out").glob(".*attempt*")]


def test_a_fault_of_the_package_is_no_damaged_scene(tmp_path, monkeypatch):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    monkeypatch.setattr(night_module, "crs_of", [].index)
    result = command("run", job, code=exits.FAILED)
    assert "Traceback" in result.stderr
    assert "left out" not in result.stderr


def test_what_is_wrong_with_a_scene_is_told_without_credentials(caplog):
    damaged = Damaged()
    with damaged.noted("a"):
        raise ValueError("https://me:secret@host/a.tif is damaged")
    damaged.end(1)
    assert re.search("a: .*@host/a", caplog.text)
    with pytest.raises(ValueError, match=r"a: .*@host/a") as told:
        damaged.end(0)
    assert "secret" not in caplog.text + str(told.value) + str(damaged)


def test_bands_are_matched_by_name_also_after_a_scene_without_names(tmp_path):
    for name, bands in (("a", BANDS), ("b", BANDS), ("c", BANDS[::-1])):
        scene(tmp_path / f"{name}.tif", 0, bands=bands, named=name != "a")
    found = matched({name: open_image(tmp_path / f"{name}.tif") for name in "abc"})
    assert {image.bands for image in found.values()} == {BANDS}
    first, *others = (pixel_rows(image).compute() for image in found.values())
    for rows in others:
        np.testing.assert_array_equal(rows, first)


def test_a_new_token_in_the_url_of_a_scene_is_no_change(monkeypatch):
    monkeypatch.setattr("mdh_dask.jobs.inputs.fingerprint", lambda path: {"listing": "abc"})

    def digest(path):
        scenes = {"a": Scene("a", (SceneFile(path),))}
        return ScenesInput("all", scenes, PixelOptions()).digest("a")

    assert digest("https://me:secret@host/a.tif?sig=1") == digest("https://me:other@host/a.tif?sig=2")
    assert digest("https://host/a.tif?sig=1") != digest("https://host/b.tif?sig=1")


@pytest.mark.slow
def test_a_scene_that_changes_is_labelled_again_and_one_that_goes_keeps_its_labels(tmp_path):
    job = new_job(tmp_path)
    for name in "ab":
        scene(tmp_path / f"scenes/{name}.tif", ord(name))
    run(job)
    before = labels_of(job, "a")[0]
    scene(tmp_path / "scenes/a.tif", 7, height=33)
    (tmp_path / "scenes/b.tif").unlink()
    run(job)
    assert metrics(job)["labelled"] == ["a"]
    assert labels_of(job, "a")[0].shape != before.shape
    assert len(labels_of(job, "b")[0]) == 30


@pytest.mark.slow
def test_drift_only_labels_unless_refitting_is_asked_for(tmp_path):
    job = new_job(tmp_path, JOB.replace('on_drift = "refit"', ""))
    scene(tmp_path / "scenes/a.tif", 0)
    run(job)
    scene(tmp_path / "scenes/b.tif", 1, shift=55)
    assert "version 1, 1 with drift (b)" in run(job)
    assert not (tmp_path / "out/model-2.zarr").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{scene}.tif", "labels.tif", "output.labels must be a path or URL with {scene} in the last part only"),
        ('"out/{scene}.tif"', '"scenes/{scene}-labels.tif"', "expected separate paths; got"),
        ('"scenes/*.tif"', '"**/*.tif"', "expected separate paths; got"),
        ('"scenes/*.tif"', '"*"', "expected separate paths; got"),
        ('"scenes/*.tif"', '"scenes/a.tif"', "input.path must be a path or URL, with asterisks"),
        ('"scenes/*.tif"', '"none/*.tif"', "there is no scene"),
        ('kind = "scenes"', 'kind = "image"', "several images"),
        ('path = "scenes/*.tif"', 'path = "scenes/*.tif"\nbands = ["blue"]', "expected one band 'blue'"),
    ],
)
def test_a_job_file_that_cannot_work_is_refused_before_any_work(old, new, message, tmp_path):
    job = new_job(tmp_path, JOB.replace(old, new))
    scene(tmp_path / "scenes/a.tif", 0)
    result = command("run", job)
    assert result.exit_code in (exits.BAD_JOB, exits.NO_INPUT, exits.BAD_DATA)
    assert message in " ".join(result.stderr.split())
    assert list(job.parent.glob("out/*")) == []


@pytest.mark.slow
def test_the_job_of_the_page_labels_scenes_and_keeps_versions_of_the_model(tmp_path):
    page = (Path(__file__).parents[2] / "deploy/jobs.md").read_text()
    (text,) = (part for part in page.split("```") if "# night.toml" in part)
    job = new_job(tmp_path, text.removeprefix("toml\n").replace("s3://archive/2026/", "scenes/"))
    for name in ("labels", "models"):
        (tmp_path / name).mkdir()
    for number in range(2):
        scene(tmp_path / f"scenes/{number}.tif", number, shift=55 * number)
        run(job, cluster={"kind": "threads"})
    assert sorted(path.name for path in tmp_path.glob("*/*") if path.parent.name in ("labels", "models")) == [
        "0.tif", "1.tif", "1.zarr", "2.zarr"
    ]  # fmt: skip


def test_labels_of_others_are_not_replaced(tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    (tmp_path / "out/a.tif").write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.tif exists"):
        run(job)
    assert (tmp_path / "out/a.tif").read_text() == "mine"


def test_the_check_says_what_is_new_and_a_changed_job_is_refused(tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    told = check(job)
    assert "night 1, 1 of 1 scenes are new" in told
    assert "1 scene, 1,200 pixels of 3 uint8 bands (red, green, nir), rows of 3 columns" in told
    run(job)
    scene(tmp_path / "scenes/b.tif", 1)
    assert "night 2, 1 of 2 scenes are new" in check(job)
    job.write_text(JOB.replace('name = "pca"', 'name = "rp"'))
    with pytest.raises(JobError, match="since the job began"):
        run(job)


def mask(path, seed, height=30, width=40):
    there = np.random.default_rng(seed).random((height, width)) < 0.7
    with rasterio.open(path, "w", driver="GTiff", height=height, width=width, count=1, dtype="uint8") as file:
        file.write(there.astype("u1"), 1)
    return there


def test_the_check_reads_the_coordinates_that_labels_need(tmp_path):
    job = new_job(tmp_path, JOB.replace("*.tif", "*.zarr"))
    pixels = np.random.default_rng(0).integers(0, 200, (40, 40, 3)).astype("u1")
    zarr.create_array(tmp_path / "scenes/a.zarr", data=pixels, attributes={"spatial:transform": ["here"] * 6})
    with pytest.raises(ValueError, match=r"a\.zarr has coordinates that cannot be read"):
        check(job)
    job.write_text(job.read_text().replace("{scene}.tif", "{scene}.zarr"))
    assert "1 of 1 scenes are new" in check(job)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
def test_every_scene_has_a_mask_of_its_own_and_is_labelled_again_when_that_changes(tmp_path):
    job = new_job(tmp_path, JOB.replace('"scenes/*.tif"', '"scenes/*.tif"\nmask = "masks/{scene}.tif"'))
    (tmp_path / "masks").mkdir()
    for name, seed in (("a", 0), ("b", 1)):
        scene(tmp_path / f"scenes/{name}.tif", seed, holes=2)
    there = {"a": mask(tmp_path / "masks/a.tif", 2)}
    with pytest.raises(ValueError, match=r"there is no mask .*masks/b.tif of .*scenes/b.tif"):
        check(job)
    there["b"] = mask(tmp_path / "masks/b.tif", 3)
    run(job)
    for name in "ab":
        there[name][:2] = False
        np.testing.assert_array_equal(labels_of(job, name)[0] != 255, there[name])
        assert metrics(job)["each_scene"][name]["n_rows"] == there[name].sum()
    again = mask(tmp_path / "masks/b.tif", 4)
    run(job)
    assert metrics(job)["labelled"] == ["b"]
    np.testing.assert_array_equal(labels_of(job, "b")[0][2:] != 255, again[2:])
    segment(
        [tmp_path / "scenes/a.tif"], PCATree(), labels=f"{tmp_path}/{{scene}}.zarr",
        mask=f"{tmp_path}/masks/{{scene}}.tif",
    )  # fmt: skip
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a.zarr")[:] != -1, there["a"])
    assert zarr.open_array(tmp_path / "a.zarr").attrs["proj:code"] == "EPSG:32721"


@pytest.mark.slow
def test_nights_of_a_method_without_a_tree_label_and_say_that_nothing_was_compared(tmp_path):
    job = new_job(tmp_path, JOB.replace('"pca"', '"kernel-kmeans"\nn_clusters = 3').replace('"refit"', '"label"'))
    scene(tmp_path / "scenes/a.tif", 0)
    run(job)
    scene(tmp_path / "scenes/b.tif", 1, kinds=1)
    assert "1 not compared, as the model has no tree" in run(job)
    assert metrics(job)["not_compared"] == ["b"]
    page = (tmp_path / "out/night.html").read_text()
    assert "not compared: KernelKMeans has no tree; 67% of the pixels are in other segments" in page
    job.write_text(job.read_text().replace('"label"', '"refit"'))
    with pytest.raises(JobError, match="needs a method whose tree shows drift; KernelKMeans has none"):
        check(job)


def test_what_is_done_of_a_scene_is_appended_and_survives_a_kill_in_the_middle(tmp_path):
    ledger = Ledger(tmp_path / "scenes.json")
    ledger.write()
    whole = ledger.file.read_bytes()
    about = {"version": 1, "night": 1, "digest": "0", "found": False, "alarms": []}
    sizes = [0]
    for number in range(30):
        ledger.add("drifts", f"s{number:02d}", about)
        (steps,) = tmp_path.glob("scenes.*.steps")
        sizes.append(steps.stat().st_size)
    assert ledger.file.read_bytes() == whole
    assert len(set(np.diff(sizes))) == 1
    assert Ledger.load(tmp_path) == ledger
    os.truncate(steps, sizes[-1] - 9)
    killed = Ledger.load(tmp_path)
    assert list(killed.drifts) == list(ledger.drifts)[:-1]
    killed.add("drifts", "s30", about)
    assert list(Ledger.load(tmp_path).drifts) == [*list(ledger.drifts)[:-1], "s30"]
    assert os.listdir(tmp_path) == ["scenes.json"]
    killed.add("drifts", "s31", about)
    for damage in (b"{\n", b"[]\n", b'["drifts", "a", 1]\n', b'["none", "a", {}]\n'):
        next(tmp_path.glob("scenes.*.steps")).write_bytes(damage)
        with pytest.raises(JobError, match="restart=True"):
            Ledger.load(tmp_path)


def item(name, assets):
    return {"type": "Feature", "id": name, "assets": assets}


def collection(*items):
    return json.dumps({"type": "FeatureCollection", "features": items})


def test_stac_items_of_a_file_for_every_band_are_scenes(tmp_path):
    job = new_job(tmp_path, JOB.replace('"scenes/*.tif"', '"items.json"\nbands = ["nir", "red"]'))
    items = []
    for number in range(2):
        for band in BANDS:
            scene(tmp_path / f"scenes/{number}-{band}.tif", number, bands=(band,))
        named = {"B8": [{"name": "B8", "eo:common_name": "nir"}], "red": [], "green": []}
        files = {"B8": "nir", "red": "red", "green": "green"}
        assets = {key: {"href": f"./scenes/{number}-{files[key]}.tif", "bands": named[key]} for key in named}
        items.append(item(f"scene-{number}", assets))
    (tmp_path / "items.json").write_text(collection(*items))
    run(job)
    assert metrics(job)["labelled"] == ["scene-0", "scene-1"]
    model = load_model(tmp_path / "out/model-1.zarr")
    assert (model.n_features_in_, model.pixel_columns_.bands) == (2, ("nir", "red"))
    with rasterio.open(tmp_path / "scenes/1-nir.tif") as nir, rasterio.open(tmp_path / "scenes/1-red.tif") as red:
        rows = np.stack([nir.read(1), red.read(1)], axis=2).reshape(-1, 2)
    np.testing.assert_array_equal(labels_of(job, "scene-1")[0].ravel(), model.predict(rows))


def test_an_item_that_lacks_a_band_or_a_file_is_left_out_alone(tmp_path):
    job = new_job(tmp_path, JOB.replace('"scenes/*.tif"', '"items.json"\nbands = ["red"]'))
    scene(tmp_path / "scenes/red.tif", 0, bands=("red",))
    hrefs = {"whole": "scenes/red.tif", "gone": "scenes/none.tif"}
    items = [item(name, {"red": {"href": href}}) for name, href in hrefs.items()]
    items += [item("bare", {"nir": {"href": "x.tif"}}), item("broken", {"red": {}})]
    (tmp_path / "items.json").write_text(collection(*items))
    told = left_out(job, "bare", "broken", "gone")
    assert re.search("bare: expected a band 'red'.*broken: expected assets with a href.*gone: .* no .*none.tif", told)
    assert metrics(job)["labelled"] == ["whole"]


HOSTILE = (
    *(item("x", {"a": {"href": href}}) for href in ("a\0.tif", "gopher://host/a", "simplecache::http://host/x.tif",
      "http://host/" + "a" * 100_000, "https://169.254.169.254/latest", "file:///etc/passwd", "/etc/passwd",
      "scenes/../../x.tif", "zip://a.tif::scenes/x.zip", "a\ud800.tif", 5, None)),
    *(item(name, {"a": {"href": "scenes/a.tif"}}) for name in ("..", ".", "", "a\0b", "x" * 300, "a\ud800",
      "a\x1b[31m", "a\nERROR forged", "a\u202egpj")),
    None, [1], 5, "x", {"id": "y"}, {"id": "y", "assets": [1]}, {"id": "y", "assets": {"a": None}},
)  # fmt: skip
"""Items of collections by an enemy, or a broken catalogue."""


def test_hostile_items_are_left_out_alone(tmp_path):
    items = [one | {"id": f"x{i}"} if isinstance(one, dict) and one["id"] in ("x", "y") else one
             for i, one in enumerate(HOSTILE)]  # fmt: skip
    good = item("good", {"a": {"href": "scenes/good.tif"}})
    job = new_job(tmp_path, JOB.replace("scenes/*.tif", "items.json"))
    scene(tmp_path / "scenes/good.tif", 0)
    (tmp_path / "items.json").write_text(collection(*items, good))
    run(job)
    assert (metrics(job)["labelled"], len(metrics(job)["damaged"])) == (["good"], len(items))


def test_hrefs_lead_elsewhere_only_if_that_is_allowed(tmp_path):
    hrefs = {"a": "https://host/a.tif", "b": "https://other/b.tif", "c": "s3://bucket/in/c.tif"}
    items = [item(name, {"data": {"href": href}}) for name, href in hrefs.items()]
    (tmp_path / "items.json").write_text(collection(*items))
    with dask.config.set({"mdh-dask.allowed-hrefs": ["https://host/", "s3://bucket/in"]}):
        found = find_scenes(tmp_path / "items.json")
    assert [one.paths for one in found] == [["https://host/a.tif"], [], ["s3://bucket/in/c.tif"]]
    with fsspec.open("memory://bucket/in/items.json", "w") as file:
        hrefs = {"a": "../../x/a.tif", "b": "memory://bucket/x/b.tif", "c": "memory://other/c.tif", "d": "d.tif"}
        file.write(collection(*(item(name, {"data": {"href": href}}) for name, href in hrefs.items())))
    own = find_scenes("memory://bucket/in/items.json")
    assert [one.paths for one in own] == [
        ["memory://bucket/x/a.tif"], ["memory://bucket/x/b.tif"], [], ["memory://bucket/in/d.tif"],
    ]  # fmt: skip
    wanted = "expected a href at the place of its collection.*got https://other/b.tif.*ALLOWED_HREFS"
    assert re.search(wanted, found[1].fault)


def tiff_of(width, height, tile=None, loop=False):
    """Return a TIFF of some 200 bytes that claims a size."""
    layout = [(322, tile), (323, tile), (324, 300), (325, 9)] if tile else [(273, 300), (278, height), (279, 9)]
    tags = sorted([(256, width), (257, height), (258, 8), (259, 1), (262, 1), (277, 1), *layout])
    entries = b"".join(struct.pack("<HHII", code, 4, 1, value) for code, value in tags)
    return struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + entries + struct.pack("<I", 8 * loop) + bytes(90)


def test_files_that_claim_any_size_or_lead_nowhere_are_left_out_alone(tmp_path):
    job = new_job(tmp_path, JOB.replace("[method]", 'missing_chunks = "fill"\n[method]'))
    places = {name: tmp_path / f"scenes/{name}.tif" for name in ("good", *"abcdefg")}
    scene(places["good"], 0, bands=("red",), named=False)
    claimed = ((2**31, 2**31), (2**20, 2**20), (65536, 65536, 65536), (100, 100, None, True))
    for name, size in zip("abcd", claimed):
        places[name].write_bytes(tiff_of(*size))
    places["e"].symlink_to(places["e"])
    places["f"].mkdir()
    zarr.create_array(places["g"], shape=(2**40, 2**40), chunks=(64, 64), dtype="u1")
    left_out(job, *"abcdefg")
    assert metrics(job)["labelled"] == ["good"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "outputs", at_night(['connected = "out/{scene}-regions.tif"\nregions = "out/{scene}.parquet"\n', ""])
)
def test_a_scene_that_is_written_again_while_it_is_labelled_gets_no_outputs_of_both(outputs, tmp_path, monkeypatch):
    job = new_job(tmp_path, JOB.replace("[output]\n", f"[output]\n{outputs}"))
    for name, seed in (("a", 0), ("b", 1)):
        scene(tmp_path / f"scenes/{name}.tif", seed)
    label = night_module.labelled

    def rewritten(image, *args, **kwargs):
        seen = label(image, *args, **kwargs)
        if "b.tif" in image.path:
            scene(tmp_path / "scenes/b.tif", 7, height=31)
        return seen

    with monkeypatch.context() as patch:
        patch.setattr(night_module, "labelled", rewritten)
        assert "written again while it was read" in left_out(job, "b")
    assert {path.name[0] for path in (tmp_path / "out").glob("[!.]*.tif")} == {"a"}
    run(job)
    assert labels_of(job, "b")[0].shape == (31, 40)


def test_items_of_the_same_name_are_refused_with_their_places(tmp_path):
    items = [item("a/x", {"red": {"href": "red.tif"}}), item("b/x", {})]
    (tmp_path / "items.json").write_text(collection(*items))
    with pytest.raises(ValueError, match=r"got .*/red\.tif and an item of .*/items\.json, both named x: rename one"):
        find_scenes(tmp_path / "items.json", ["red"])


def test_an_asset_of_data_is_preferred_to_an_overview_of_the_same_bands(tmp_path):
    bands = [{"name": "B4", "common_name": "red"}]
    assets = {
        "overview": {"href": "small.tif", "roles": ["overview"], "eo:bands": bands},
        "B4": {"href": "whole.tif", "roles": ["data"], "eo:bands": bands},
    }
    (tmp_path / "item.json").write_text(json.dumps(item("a", assets)))
    for band in ("red", "B4"):
        (found,) = find_scenes(tmp_path / "item.json", [band])
        assert found.files == (SceneFile(str(tmp_path / "whole.tif"), (band,)),)


def test_one_image_and_a_job_on_it_use_bands_by_name_as_later_predictions_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene("a.tif", 0)
    scene("b.tif", 0, bands=BANDS[::-1])
    segment("a.tif", PCATree(), labels="a.zarr", model="m.zarr", bands=["nir", "red"])
    assert load_model("m.zarr").n_features_in_ == 2
    job = JOB.split("[output]")[0].replace('"scenes"', '"image"').replace("scenes/*.tif", "b.tif")
    Path("job.toml").write_text(
        job.replace("[method]", 'bands = ["nir", "red"]\n[method]') + '[output]\nlabels = "b.zarr"'
    )
    run("job.toml")
    predict("b.tif", "m.zarr", "c.zarr")
    for name in ("b.zarr", "c.zarr"):
        np.testing.assert_array_equal(zarr.open_array(name)[:], zarr.open_array("a.zarr")[:])
    with pytest.raises(ValueError, match=r"expected one band 'swir' in .*; got red, green, nir"):
        segment("a.tif", PCATree(), labels="d.zarr", bands=["swir"])


def test_labels_of_one_scene_cannot_replace_another_scene(tmp_path):
    for name in ("a", "a-labels"):
        scene(tmp_path / f"{name}.tif", 0)
    before = (tmp_path / "a-labels.tif").read_bytes()
    with pytest.raises(SettingError, match="expected separate paths"):
        segment(f"{tmp_path}/*.tif", PCATree(), labels=f"{tmp_path}/{{scene}}-labels.tif", overwrite=True)
    assert (tmp_path / "a-labels.tif").read_bytes() == before


def test_a_command_segments_many_scenes_and_another_predicts_by_the_names_of_bands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_job(tmp_path)
    for number, bands in enumerate((BANDS, BANDS[::-1], BANDS)):
        scene(tmp_path / f"scenes/{number}.tif", number, height=30 + number, bands=bands, holes=3)

    def mdh_dask(*args):
        result = command(*args, code=0)
        assert "small input: computing on threads of this process" in result.stderr
        return result.stdout

    out = ("--out", "out/{scene}.tif", "--model", "m.zarr", "--preview", "out/{scene}.png")
    line = mdh_dask("segment", "scenes/*.tif", *out, "--method", "pca", "--bands", "nir,red")
    assert line.startswith("3 segments of 3 scenes in ")
    model = load_model("m.zarr")
    assert re.search(r"cluster 0, [0-9,]+ rows: (nir|red) [0-9.]+ to ", model.why())
    for number in range(3):
        with rasterio.open(f"scenes/{number}.tif") as file:
            rows = np.stack([file.read(file.descriptions.index(band) + 1) for band in ("nir", "red")], axis=2)
        labels = labels_of(tmp_path / "job.toml", str(number))[0]
        there = (rows != 0).all(axis=2)
        np.testing.assert_array_equal(labels[there], model.predict(rows[there]))
        assert (tmp_path / f"out/{number}.png").exists()
    mdh_dask("predict", "scenes/1.tif", "--model", "m.zarr", "--out", "again.tif")
    with rasterio.open("again.tif") as file:
        np.testing.assert_array_equal(file.read(1), labels_of(tmp_path / "job.toml", "1")[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "labels.tif"}, "{scene} in its last part for the labels"),
        ({"model": "m.zarr", "coordinates": 1}, "no coordinates with several scenes"),
        ({"model": "m.zarr", "report": "r.html"}, "no report with several scenes"),
        ({"model": "m.zarr", "mask": "mask.tif"}, "{scene} for the masks of several scenes"),
    ],
)
def test_options_without_a_meaning_for_several_scenes_are_refused(options, message, tmp_path):
    scene(tmp_path / "a.tif", 0)
    with pytest.raises(SettingError, match=message):
        segment([tmp_path / "a.tif"], PCATree(), **options)


def test_scenes_that_are_listed_may_become_more(tmp_path):
    job = new_job(tmp_path, JOB.replace('"scenes/*.tif"', '["scenes/0.tif"]'))
    for number in range(2):
        scene(tmp_path / f"scenes/{number}.tif", number)
    run(job)
    job.write_text(JOB.replace('"scenes/*.tif"', '["scenes/0.tif", "scenes/1.tif"]'))
    run(job)
    assert (tmp_path / "out/1.tif").exists()


@pytest.mark.parametrize("name", ["job.json", "manifest.json"])
def test_restart_gives_up_damaged_work(name, tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    run(job)
    (state,) = tmp_path.glob(f"*.work/{name}")
    state.write_text(state.read_text()[:40])
    assert command("run", job).exit_code == exits.BAD_JOB
    assert command("run", job, "--restart", "--overwrite").exit_code == 0


def test_a_folder_of_an_output_that_is_missing_is_named(tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    (tmp_path / "out").rmdir()
    result = command("run", job, code=exits.CANNOT_CREATE)
    assert "out of an output does not exist: make it first" in " ".join(result.stderr.split())


def test_a_place_that_a_later_model_of_the_night_needs_is_checked_before_its_fit(tmp_path):
    job = new_job(tmp_path)
    scene(tmp_path / "scenes/a.tif", 0)
    run(job)
    scene(tmp_path / "scenes/b.tif", 1, shift=55)
    (tmp_path / "out/model-2.zarr").mkdir()
    assert command("run", job).exit_code == exits.CANNOT_CREATE
    (tmp_path / "out/model-2.zarr").rmdir()
    assert "version 2" in run(job)


def test_metrics_count_the_runs_of_their_own_night(tmp_path):
    job = new_job(tmp_path)
    for number in range(3):
        scene(tmp_path / f"scenes/{number}.tif", number)
        run(job)
        assert gauge(job, "attempts") == 1
