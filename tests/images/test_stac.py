"""STAC items in files and as objects of pystac: what they name, and what their links must not reach."""

import json
from functools import partial

import dask
import numpy as np
import pytest
import rasterio
import zarr
from test_embeddings import HOLES, embeddings, tile, with_scales

from mdh_dask import PCATree
from mdh_dask.images import open_image, pixel_rows
from mdh_dask.images.scenes import find_scenes, open_scene
from mdh_dask.images.stac import _place
from mdh_dask.workflows import segment


def item(name, href, **more):
    """An item, valid as pystac has it."""
    return {
        "type": "Feature", "stac_version": "1.0.0", "id": name, "geometry": None, "properties":
        {"datetime": "2026-01-01T00:00:00Z"}, "links": [], "assets": {"data": {"href": href}}, **more,
    }  # fmt: skip


def catalogue(folder, items, kind="Catalog", children=()):
    """A catalogue of files in their own folders, as pystac lays them out."""
    folder.mkdir(parents=True, exist_ok=True)
    links = [{"rel": "self", "href": "https://elsewhere/catalog.json"}]
    for one in items:
        (folder / one["id"]).mkdir(exist_ok=True)
        (folder / one["id"] / f"{one['id']}.json").write_text(json.dumps(one))
        links.append({"rel": "item", "href": f"./{one['id']}/{one['id']}.json"})
    links += [{"rel": "child", "href": href} for href in children]
    about = {"stac_version": "1.0.0", "id": folder.name, "description": "-", "links": links, "type": kind}
    if kind == "Collection":
        extent = {"spatial": {"bbox": [[-180, -90, 180, 90]]}, "temporal": {"interval": [[None, None]]}}
        about |= {"license": "MIT", "extent": extent}
    (folder / "catalog.json").write_text(json.dumps(about))
    return folder / "catalog.json"


@pytest.fixture
def nested(tmp_path):
    """A catalogue with an item and a collection of two, whose files are beside the items and in a folder of all."""
    stored = embeddings()[0]
    (tmp_path / "cat/data").mkdir(parents=True)
    for name in ("a", "b"):
        tile(tmp_path / f"cat/data/{name}.tif", stored, from_south=name == "b")
    catalogue(tmp_path / "cat/child", [item("b", "../../data/b.tif"), item("c", "../../../secret.tif")], "Collection")
    child = "./child/catalog.json"
    return catalogue(tmp_path / "cat", [item("a", "../data/a.tif")], children=(child, child, "../catalog.json"))


def test_a_catalogue_is_followed_to_all_items_each_once_and_nowhere_else(nested, tmp_path):
    tile(tmp_path / "secret.tif", embeddings()[0])
    (tmp_path / "catalog.json").write_text(json.dumps(item("outside", "secret.tif")))
    found = {scene.name: scene for scene in find_scenes(nested)}
    assert {name: [*map(str, scene.paths)] for name, scene in found.items() if not scene.fault} == {
        "a": [f"{tmp_path}/cat/a/../data/a.tif"], "b": [f"{tmp_path}/cat/child/b/../../data/b.tif"],
    }  # fmt: skip
    assert len(found) == 4
    for name, got in (("c", "../../../secret.tif"), ("catalog item 3", "../catalog.json")):
        assert f"expected a href at the place of its collection, {tmp_path}/cat; got {got}" in found[name].fault
    with dask.config.set({"mdh-dask.allowed-hrefs": str(tmp_path)}):
        assert [scene.name for scene in find_scenes(nested) if not scene.fault] == ["a", "b", "c", "outside"]


@pytest.mark.parametrize("form", ["raster:bands", "bands", "asset"])
def test_scales_and_no_data_are_those_of_the_item_where_the_file_declares_none(form, tmp_path):
    stored = embeddings()[0][..., :3]
    own = {"raster:scale": 0.5, "raster:offset": -1, "nodata": -128}
    if form == "raster:bands":
        own = {"raster:bands": [{name.removeprefix("raster:"): value for name, value in own.items()}] * 3}
    elif form == "bands":
        own = {"bands": [{"name": name, **own} for name in "abc"]}
    plain, tagged = tile(tmp_path / "a.tif", stored, nodata=None), tmp_path / "b.tif"
    with_scales(tagged, stored, (2.0, 2.0, 2.0), (1.0, 1.0, 1.0))
    expected = {"a": stored[~HOLES] * 0.5 - 1, "b": stored[~HOLES] * 2.0 + 1}  # tags of a file are nearer to it
    for name, path in {"a": plain, "b": tagged}.items():
        about = item(name, path.name)
        about["assets"]["data"] |= own
        (tmp_path / f"{name}.json").write_text(json.dumps(about))
        (scene,) = find_scenes(tmp_path / f"{name}.json", list("abc") if form == "bands" else None)
        for dequantise, rows in (("declared", expected[name]), (None, stored[~HOLES])):
            image = open_scene(scene, partial(open_image, dequantise=dequantise), None)
            np.testing.assert_array_equal(pixel_rows(image), rows)
    labels = str(tmp_path / "{scene}-labels.tif")
    segment(str(tmp_path / "a.json"), PCATree(random_state=0), labels=labels, dequantise="declared")
    with rasterio.open(tmp_path / "a-labels.tif") as found:
        np.testing.assert_array_equal(found.read(1) == 255, HOLES)


def test_a_broken_link_is_the_fault_of_one_item_and_a_broken_file_an_error(tmp_path):
    path = catalogue(tmp_path / "cat", [item("a", "../a.tif")], children=("./gone.json", "./bad.json"))
    (path.parent / "bad.json").write_text("[]")
    found = {scene.name: scene.fault for scene in find_scenes(path)}
    assert [*found] == ["a", "bad item 2", "gone item 1"]
    assert "expected a STAC item, item collection, collection or catalogue" in found["bad item 2"]
    assert "gone.json" in found["gone item 1"]
    with pytest.raises(ValueError, match=r"expected a STAC item, item collection, .* in .*bad\.json; got other JSON"):
        find_scenes(path.parent / "bad.json")


def test_objects_of_pystac_name_what_their_files_do(nested, tmp_path):
    pystac = pytest.importorskip("pystac", reason="objects of pystac need pystac")
    expected = [(scene.name, bool(scene.fault)) for scene in find_scenes(nested)]
    read = pystac.Catalog.from_file(str(nested))
    assert [(scene.name, bool(scene.fault)) for scene in find_scenes(read)] == expected
    one = pystac.Item.from_file(str(nested.parent / "a/a.json"))
    assert [scene.fault[:32] for scene in find_scenes(one)] == ["expected a href at the place of "]  # ../data
    with dask.config.set({"mdh-dask.allowed-hrefs": str(tmp_path / "cat")}):
        (found,) = find_scenes(one)
        assert open_image(found.paths[0]).shape[2] == 64
        segment(pystac.ItemCollection([one]), PCATree(), labels=str(tmp_path / "{scene}.zarr"))
    assert zarr.open_array(tmp_path / "a.zarr").shape == HOLES.shape


def test_objects_of_no_known_place_lead_only_where_that_is_allowed(tmp_path):
    pystac = pytest.importorskip("pystac", reason="objects of pystac need pystac")
    path = str(tile(tmp_path / "a.tif", embeddings()[0]))
    made = pystac.Item.from_dict(item("a", path))
    hostile = pystac.Item.from_dict(item("a", path, links=[{"rel": "self", "href": f"{tmp_path}/none.json"}]))
    for one in (made, hostile, pystac.ItemCollection([hostile])):
        (found,) = find_scenes(one)
        assert "at the place of its collection, which is unknown; got" in found.fault
        with dask.config.set({"mdh-dask.allowed-hrefs": [str(tmp_path)]}):
            assert find_scenes(one)[0].paths == [path]


def test_relative_links_of_a_catalogue_at_a_url_of_a_file_are_beside_it(tmp_path):
    assert _place("./scenes/a.tif", f"file://{tmp_path}/items.json", f"file://{tmp_path}/items.json") == str(
        tmp_path / "scenes/a.tif"
    )
