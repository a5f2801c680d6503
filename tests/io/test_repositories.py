"""Icechunk repositories as inputs: read at a named snapshot, branch or tag, by workers, commands and jobs."""

import json
import logging
import pickle
from functools import partial

import numpy as np
import pytest
import zarr
from helpers import job_text
from helpers import run as command

from mdh_dask import PCATree, load_model
from mdh_dask.images import open_image, pixel_rows
from mdh_dask.io import open_features, open_rows
from mdh_dask.io.repositories import fingerprint, pinned
from mdh_dask.workflows import segment

icechunk = pytest.importorskip(
    "icechunk", reason="reading of repositories needs icechunk: pip install mdh_dask[icechunk]"
)

RNG = np.random.default_rng(0)
FIRST = (RNG.normal(size=(40, 50, 3)) + 9 * (np.arange(40) < 20)[:, None, None]).astype("f4")
SECOND = FIRST[::-1].copy()


def commit(repository, pixels, message):
    """Write an image and rows in one commit, and return its snapshot."""
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="a")
    about = {"chunks": (10, 50, 3), "dimension_names": ("y", "x", "band"), "overwrite": True}
    root.create_array("image", data=pixels, attributes={"proj:code": "EPSG:32633"}, **about)
    root.create_array("rows", data=pixels.reshape(-1, 3), chunks=(500, 3), overwrite=True)
    return session.commit(message)


@pytest.fixture
def repository(tmp_path):
    """A repository of two snapshots, the first with the tag v1, with its location and snapshots."""
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repo")))
    first = commit(made, FIRST, "first")
    made.create_tag("v1", snapshot_id=first)
    return made, f"icechunk::file://{tmp_path}/repo", first, commit(made, SECOND, "second")


def test_a_location_names_a_branch_a_tag_or_a_snapshot_and_a_path(repository):
    _, place, first, second = repository
    for name, pixels, snapshot in (("main", SECOND, second), ("v1", FIRST, first), (first, FIRST, first)):
        image = open_image(f"{place}@{name}")  # the only array of the group with lines and columns
        assert (image.snapshot, image.georeference["proj:code"]) == (snapshot, "EPSG:32633")
        np.testing.assert_array_equal(image.pixels, pixels)
        np.testing.assert_array_equal(open_rows(f"{place}@{name}/rows"), pixels.reshape(-1, 3))
        np.testing.assert_array_equal(open_features(f"{place}@{name}/rows").rows, pixels.reshape(-1, 3))
        assert fingerprint(f"{place}@{name}/rows") == {"snapshot": snapshot}
        assert pinned(f"{place}@{name}/rows") == f"{place}@{snapshot}/rows"
    np.testing.assert_array_equal(open_image(f"{place}@main/image").pixels, SECOND)
    np.testing.assert_array_equal(open_image(place).pixels, SECOND)


def test_what_is_not_there_is_named(repository, tmp_path):
    made, place, first, _ = repository
    with pytest.raises(ValueError, match=r"expected a branch \(main\), tag \(v1\) or snapshot of file://.*; got v2"):
        open_image(f"{place}@v2")
    with pytest.raises(FileNotFoundError, match="there is no Icechunk repository at file:///nowhere"):
        open_image("icechunk::file:///nowhere@main")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"there is no Icechunk repository at .*empty; check the path"):
        open_image(f"icechunk::file://{tmp_path}/empty")
    with pytest.raises(FileNotFoundError, match=r"there is no Zarr array at .*@main/gone"):
        open_image(f"{place}@main/gone")
    with pytest.raises(ValueError, match=r"expected the URL of an Icechunk repository, .*; got icechunk::ftp://a/b"):
        open_image("icechunk::ftp://a/b")
    made.create_branch("v1", snapshot_id=first)
    with pytest.raises(ValueError, match="got v1, a tag and a branch: give the snapshot"):
        open_image(f"{place}@v1")


@pytest.mark.slow
@pytest.mark.cluster
def test_sessions_stores_and_arrays_are_read_by_worker_processes_at_their_snapshot(
    repository, tmp_path, client_of_processes
):
    made, _, first, _ = repository
    session = made.readonly_session(tag="v1")
    given = [session, session.store, zarr.open_group(session.store, mode="r")["image"]]
    for one in given:
        image = pickle.loads(pickle.dumps(open_image(one)))
        assert (image.snapshot, image.path.removesuffix("/image")) == (first, f"snapshot {first}")
        np.testing.assert_array_equal(image.pixels, FIRST)
    rows = pixel_rows(open_image(session))
    commit(made, SECOND, "a commit while it is read")
    np.testing.assert_array_equal(rows.compute(), FIRST.reshape(-1, 3))
    segment(session, PCATree(random_state=0), labels=str(tmp_path / "l.zarr"), model=str(tmp_path / "m.zarr"))
    labels = zarr.open_array(tmp_path / "l.zarr")
    assert (labels.attrs["snapshot"], labels.attrs["proj:code"]) == (first, "EPSG:32633")
    np.testing.assert_array_equal(labels[:] == labels[0, 0], np.repeat([True, False], 20)[:, None].repeat(50, axis=1))
    assert load_model(tmp_path / "m.zarr").pixel_columns_.snapshots == (first,)


JOB = job_text(
    input={"kind": "image", "path": "{place}"},
    method={"name": "pca", "random_state": 0},
    output={"labels": "l.zarr", "model": "m.zarr", "manifest": "manifest.json"},
)


run = partial(command, "run")


@pytest.mark.slow
def test_a_job_reads_a_branch_at_one_snapshot_which_manifest_and_labels_name(repository, tmp_path, caplog):
    made, place, first, second = repository
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(place=f"{place}@main"))
    with caplog.at_level(logging.INFO):
        found = run(job)
    assert found.exit_code == 0, found.output
    assert f"snapshot {second}" in caplog.text
    assert json.loads((tmp_path / "manifest.json").read_text())["input"]["snapshot"] == second
    assert zarr.open_array(tmp_path / "l.zarr").attrs["snapshot"] == second
    assert "nothing to do" in run(job).output
    third = commit(made, FIRST, "third")
    again = run(job)
    assert again.exit_code != 0
    assert f"input.snapshot was '{second}' and is '{third}'" in again.output
    assert open_image(f"{place}@{first}").snapshot == first


NIGHT = job_text(
    input={"kind": "scenes", "path": ["{place}@main/image"]},
    method={"name": "pca", "random_state": 0},
    output={"labels": "l-{{scene}}.zarr", "model": "m-{{version}}.zarr", "manifest": "manifest.json"},
)


@pytest.mark.slow
def test_a_night_labels_a_scene_again_when_its_branch_has_another_snapshot(repository, tmp_path):
    made, place, _, second = repository
    job = tmp_path / "night.toml"
    job.write_text(NIGHT.format(place=place))
    for snapshot in (second, commit):
        snapshot = snapshot if isinstance(snapshot, str) else snapshot(made, FIRST, "third")
        run(job, code=0)
        scenes = json.loads((tmp_path / "manifest.json").read_text())["scenes"]
        assert scenes["image"]["snapshot"] == snapshot
        assert zarr.open_array(tmp_path / "l-image.zarr").attrs["snapshot"] == snapshot
    assert "no new scene" in run(job).output
