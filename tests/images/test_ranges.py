"""Images at URLs, of which only what is needed is read."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import rasterio
import rasterio.shutil

from mdh_dask.images import open_image

TILE = 128


@pytest.fixture
def served(tmp_path):
    """A cloud-optimised GeoTIFF at a URL; its pixels, its size, and a list of the bytes of every answer."""
    pixels = np.random.default_rng(0).integers(0, 255, (3, 1500, 1500), dtype=np.uint8)
    about = {"driver": "GTiff", "height": 1500, "width": 1500, "count": 3, "dtype": "uint8", "crs": "EPSG:32721"}
    with rasterio.open(tmp_path / "a.tif", "w", **about, transform=rasterio.Affine(30, 0, 5e5, 0, -30, 7e6)) as file:
        file.write(pixels)
    rasterio.shutil.copy(tmp_path / "a.tif", tmp_path / "cog.tif", driver="COG", compress="deflate", blocksize=TILE)
    content, answers = (tmp_path / "cog.tif").read_bytes(), []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.head(200, 0, len(content))

        def do_GET(self):
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            start = int(asked[1]) if asked else 0
            end = min(int(asked[2]) + 1, len(content)) if asked and asked[2] else len(content)
            answers.append(end - start)
            self.head(206 if asked else 200, start, end)
            self.wfile.write(content[start:end])

        def head(self, code, start, end):
            self.send_response(code)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Accept-Ranges", "bytes")
            if code == 206:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/cog.tif", pixels.transpose(1, 2, 0), len(content), answers
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_a_tile_of_a_large_file_takes_a_small_part_of_it(served):
    url, pixels, size, answers = served
    image = open_image(url)
    block = slice(TILE, 2 * TILE), slice(TILE, 2 * TILE)
    np.testing.assert_array_equal(image.source[block], pixels[block])
    assert size > 6_000_000
    assert sum(answers) < size / 10
    np.testing.assert_array_equal(image.source[:, :], pixels)
