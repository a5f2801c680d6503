"""Damaged and odd inputs: the error names the file and the chunk, and the exit code is that of bad data."""

import json
import os
import sys

import numcodecs
import numpy as np
import pytest
import tifffile
import zarr
from helpers import in_turns
from PIL import Image

from mdh_dask import load_model
from mdh_dask.images import open_image
from mdh_dask.io import open_features, open_rows, write_rows
from mdh_dask.io.nodes import find_node
from mdh_dask.io.paths import is_damage

ROWS = np.random.default_rng(0).normal(size=(400, 3)).astype("f4")
PIXELS = np.random.default_rng(0).integers(0, 200, (64, 64, 3)).astype("u1")


def cut(file):
    file.write_bytes(file.read_bytes()[:-100])


def emptied(file):
    file.write_bytes(b"")


STORES = {
    "zstd": ({}, "chunk c/3/0"),
    "format 2": ({"zarr_format": 2}, "chunk 3.0"),
    "uncompressed": ({"compressors": None}, "chunk c/3/0"),
    "blosc": ({"compressors": zarr.codecs.BloscCodec()}, "chunk c/3/0"),
    "gzip": ({"compressors": zarr.codecs.GzipCodec()}, "chunk c/3/0"),
    "shards": ({"shards": (200, 3)}, "shard c/1/0"),
}


@pytest.mark.parametrize(("damage", "name"), in_turns([cut, emptied], STORES))
def test_a_chunk_that_cannot_be_decoded_is_named(tmp_path, name, damage):
    options, chunk = STORES[name]
    path = tmp_path / "x.zarr"
    zarr.create_array(path, shape=ROWS.shape, dtype=ROWS.dtype, chunks=(100, 3), **options)[:] = ROWS
    damage(path / chunk.split()[1])
    with pytest.raises(ValueError, match=f"^{path} is damaged: its {chunk} (cannot be decoded .*|was cut); restore it"):
        open_features(path).rows[150:390, [2, 0]].compute()
    with pytest.raises(ValueError, match=f"^{path} is damaged: its {chunk} (cannot be decoded|was cut)"):
        open_image(path, axes="yx").pixels.compute()


def test_reading_that_fails_is_no_damage(tmp_path, monkeypatch):
    def fail(*args):
        raise OSError(5, "Input/output error")

    write_rows(ROWS, tmp_path / "x.zarr")
    rows = open_rows(tmp_path / "x.zarr")
    monkeypatch.setattr(zarr.storage.LocalStore, "get", fail)
    with pytest.raises(OSError, match="Input/output error"):
        rows.compute()
    assert not any(map(is_damage, (PermissionError(13, "no"), ConnectionResetError("x"), MemoryError(), ImportError())))


def of_metadata(**changes):
    def damage(path):
        metadata = json.loads((path / "zarr.json").read_text())
        (path / "zarr.json").write_text(json.dumps(metadata | changes))

    return damage


def deep(path):
    (path / "zarr.json").write_text("[" * 100_000 + "]" * 100_000)


def deep_attributes(path):
    text = (path / "zarr.json").read_text()
    (path / "zarr.json").write_text(
        text.replace('"attributes": {', '"attributes": {"a": ' + "[" * 9999 + "]" * 9999 + ",", 1)
    )


METADATA = {
    "chunks of no rows": of_metadata(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 3]}}),
    "no shape": of_metadata(shape=None),
    "no codecs": of_metadata(codecs=[]),
    "an unknown type": of_metadata(data_type={"name": "nothing"}),
    "deep": deep,
    "deep attributes": deep_attributes,
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_zarr_cannot_read_are_damaged(tmp_path, name):
    path = tmp_path / "x.zarr"
    write_rows(ROWS, path)
    METADATA[name](path)
    for read in (open_features, open_rows, open_image, find_node):
        with pytest.raises(ValueError, match=f"^{path} is damaged: Zarr cannot read its metadata"):
            read(path)
    with pytest.raises(ValueError, match=r"expected a saved model, got something that Zarr cannot read"):
        load_model(path)


IMAGES = {
    "a.png": lambda file: Image.fromarray(PIXELS).save(file),
    "a.jpg": lambda file: Image.fromarray(PIXELS).save(file),
    "a.tif": lambda file: tifffile.imwrite(file, PIXELS),
    "tiles.tif": lambda file: tifffile.imwrite(file, PIXELS, compression="zlib", tile=(32, 32)),
    "ome.tif": lambda file: tifffile.imwrite(file, PIXELS[..., 0], ome=True),
}


def is_named(file):
    """Read an image; tell whether it was refused, by its name."""
    try:
        image = open_image(file)
        if image.nbytes < 2**24:
            image.pixels.compute(scheduler="synchronous")
    except ValueError as error:
        return str(file) in str(error) or pytest.fail(str(error))
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", IMAGES)
def test_an_image_with_bits_flipped_is_read_or_named(tmp_path, name):
    file = tmp_path / name
    IMAGES[name](file)
    whole = file.read_bytes()
    random = np.random.default_rng(0)
    named = 0
    for _ in range(40):
        content = bytearray(whole)
        for place in random.integers(4, 300, 3):
            content[place] ^= 1 << random.integers(8)
        file.write_bytes(content)
        named += is_named(file)
    assert named


@pytest.mark.parametrize("name", ["TileOffsets", "TileByteCounts"])
def test_tiles_that_are_nowhere_are_not_read_as_zeros(name, tmp_path):
    file = tmp_path / "tiles.tif"
    IMAGES["tiles.tif"](file)
    with tifffile.TiffFile(file) as tiff:
        tag = tiff.pages[0].tags[name]
    content = bytearray(file.read_bytes())
    content[tag.valueoffset : tag.valueoffset + tag.valuebytecount] = bytes(tag.valuebytecount)
    file.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{file} is a TIFF file that cannot be read .*(no place|none of its strips)"):
        open_image(file)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
@pytest.mark.parametrize("name", ["x.npy", "x.parquet", "folder/x.parquet", "x.png", "x"])
def test_a_pipe_is_refused_as_reading_it_may_wait_for_ever(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    given = path.parent if name.startswith("folder") else path
    for read in (open_features, *([] if name.startswith("folder") else [open_image])):
        with pytest.raises(ValueError, match=f"^{path} is a pipe, a socket or a device"):
            read(given)


def test_codecs_that_are_not_known_to_run_no_code_are_refused_by_name(tmp_path, monkeypatch):
    class Reversed(numcodecs.abc.Codec):
        codec_id = "reversed"

        def encode(self, buf):
            return bytes(buf)[::-1]

        decode = encode

    monkeypatch.setitem(numcodecs.registry.codec_registry, "reversed", Reversed)
    for name, codecs in (("a", {"compressors": Reversed()}), ("b", {"compressors": None, "filters": [Reversed()]})):
        zarr.create_array(tmp_path / name, data=ROWS, chunks=(100, 3), zarr_format=2, **codecs)
        with pytest.raises(ValueError, match="its chunks have the codec 'reversed', which is none of adler32, astype,"):
            open_rows(tmp_path / name)
