"""Counting what Dask does, and comparing nested values."""

import json
import os
import re
import threading
import time
import tracemalloc
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

import dask
import numpy as np
import pytest
from click.testing import CliRunner
from dask.callbacks import Callback
from PIL import Image

from mdh_dask._jit import descent as separators
from mdh_dask.chunks import Statistic, plans, reduce_rows
from mdh_dask.growth.passes import HASH_RANGE, FirstPass
from mdh_dask.projections.pursuit import Separator


def at_night(values, first=1):
    """Return parameters of a test of which all but the first run at night."""
    tuples = [value if isinstance(value, tuple) else (value,) for value in values]
    marks = [[] if i < first else pytest.mark.nightly for i in range(len(tuples))]
    return [pytest.param(*value, marks=mark) for value, mark in zip(tuples, marks)]


def in_turns(*values):
    """Return tuples of one value of each collection, as many as the longest has; shorter ones begin again."""
    values = [list(some) for some in values]
    return [tuple(some[i % len(some)] for some in values) for i in range(max(map(len, values)))]


def job_text(**sections):
    """Return the text of a job file with these sections; it runs on threads unless it has a cluster."""
    sections = {name: sections.get(name, {}) for name in ("input", "method", "cluster", "output", "run")}
    sections["cluster"] = sections["cluster"] or {"kind": "threads"}
    found = []
    for name, keys in sections.items():
        values = {
            key: json.dumps(value) if isinstance(value, str | list | bool) else value for key, value in keys.items()
        }
        found += [f"[{name}]", *(f"{key} = {value}" for key, value in values.items())] if keys else []
    return "\n".join([*found, ""])


def run(*args, code=None):
    """Run a command in this process, which ends with this code if one is given."""
    from mdh_dask.cli import mdh

    result = CliRunner().invoke(mdh, [*map(str, args)], prog_name="mdh-dask")
    assert code in (None, result.exit_code), result.output
    return result


def peak_of(function):
    """Return the most bytes that a function holds at once."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def run_on_threads(*args, code=0):
    """Run a command on threads of this process, which ends well unless another code is given."""
    return run(*args, "--scheduler", "threads", code=code)


def last_line(result):
    """Return the last line that a command has said, without time and level."""
    last = result.stderr.splitlines()[-1]
    return last.partition(" ERROR ")[2] or last


ROUNDED = {"sums", "squares", "mean", "deviations"}
"""Fields of named tuples that are sums of floating-point numbers; all others are compared exactly."""


DEGENERATE_ROWS = {
    "one row": np.zeros((1, 3)),
    "equal": np.full((9, 3), 0.1),
    "two rows": np.array([[0.0, 0.0], [1.0, 2.0]]),
    "two places": np.repeat([[0.0, 0.0], [1.0, 2.0]], 50, axis=0),
    "one column": np.arange(7.0)[:, None],
    "collinear": np.column_stack([np.arange(20.0), np.arange(20.0), np.zeros(20)]),
    "outlier": np.array([[0.0, 0.0]] * 99 + [[1e6, 1.0]]),
    "few rows": np.random.default_rng(0).normal(size=(5, 80)),
}
"""Rows in which a hyperplane has hardly anything to separate."""


def best_separator(index, direction, alpha):
    """The best separator normal to a direction, by the compiled loop of a penalised density."""
    gradient = np.empty(len(direction))
    found = separators.best_separator(index.centred, index.columns, direction, alpha, index.penalty, gradient)
    return Separator(*found, gradient)


def assert_same_value(actual, expected, scale=1.0, rounded=False):
    """Compare nested tuples, dictionaries and arrays: exactly, or to 1e-12 where floating-point numbers are summed.

    `scale` is the magnitude of the summed values: what is zero in mathematics may be 1e-24 of its square.
    """
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key in expected:
            assert_same_value(actual[key], expected[key], scale)
    elif isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        names = getattr(expected, "_fields", [None] * len(expected))
        for name, a, b in zip(names, actual, expected, strict=True):
            assert_same_value(a, b, scale, rounded=name in ROUNDED)
    elif rounded:
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-24 * scale**2)
    else:
        np.testing.assert_array_equal(actual, expected)
        assert getattr(actual, "dtype", None) == getattr(expected, "dtype", None)


def assert_same_tree(actual, expected):
    """Compare all fields of two dataclasses of arrays bit by bit."""
    assert type(actual) is type(expected)
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(actual, name), value, err_msg=name)


def same_partition(labels, others):
    """Return whether two labellings are equal but for the names of clusters."""
    pairs = {*zip(np.asarray(labels).tolist(), np.asarray(others).tolist())}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def files_of(folder):
    """Return all files of a folder and what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


class Stop(Exception):
    """Ends the writing, as a kill would."""


def names(folder):
    """Names in a folder once tasks that outlive a failure have cleaned up after themselves."""
    until = time.monotonic() + 60
    while any("partial" in name for name in os.listdir(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    return sorted(os.listdir(folder))


def tasks_of(graph):
    """Return the tasks of a graph by their keys, whichever form this version of Dask hands to a scheduler."""
    return dict(graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph)


def noting_reads(array):
    """Return a lazy array that notes how many rows of it were read at a time, and the list of these numbers."""
    read = []

    def noted(block):
        read.append(len(block))
        return block

    return array.map_blocks(noted, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype)), read


def noting_passes(monkeypatch):
    """Return a list that gets the statistic of each pass that plans make from now on."""
    made = []

    def noted(statistic, *args, **kwargs):
        made.append(statistic)
        return reduce_rows(statistic, *args, **kwargs)

    monkeypatch.setattr(plans, "reduce_rows", noted)
    return made


@contextmanager
def counted_computes():
    """Yield a list that gets, for each compute, the keys of the tasks that ran."""
    computes = []

    def get(dsk, keys, **kwargs):
        ran = []
        computes.append(ran)
        with Callback(posttask=lambda key, *_: ran.append(key)):
            return dask.get(dsk, keys, **kwargs)

    with dask.config.set(scheduler=get):
        yield computes


def histogram_of(sample, bandwidth, bins_per_bandwidth=5, margin=6):
    """Bin one sample, as ``(counts, origin, width)``: no row falls into the outermost bins."""
    sample = np.asarray(sample, dtype=float)
    width = bandwidth / bins_per_bandwidth
    low = sample.min() - margin * bandwidth
    n_bins = int(np.ceil((sample.max() + margin * bandwidth - low) / width)) + 1
    counts = np.bincount(((sample - low) / width).astype(int), minlength=n_bins)
    return counts, low, width


class Server(BaseHTTPRequestHandler):
    """Serves the files of a folder, by ranges or only whole, whatever the query."""

    folder: Path
    ranges: bool
    asked: list

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        file = self.folder / self.path.lstrip("/").partition("?")[0]
        if not file.is_file():
            self.send_error(404)
            return
        content, asked = file.read_bytes(), self.headers.get("Range")
        if body:
            self.asked.append(asked)
        status, told = 200, {"Last-Modified": formatdate(file.stat().st_mtime)}
        if asked and self.ranges:
            first, last = (int(n) for n in re.fullmatch(r"bytes=(\d+)-(\d+)", asked).groups())
            status, told["Content-Range"] = 206, f"bytes {first}-{last}/{len(content)}"
            content = content[first : last + 1]
        if self.ranges:
            told["Accept-Ranges"] = "bytes"
        self.send_response(status)
        for header, value in (told | {"Content-Length": str(len(content))}).items():
            self.send_header(header, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def serving(folder, ranges=True, context=None):
    """Serve a folder over HTTP, or HTTPS with a context, for a while: its URL, and a list of the ranges asked for."""
    handler = type("Handler", (Server,), {"folder": folder, "ranges": ranges, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http{'' if context is None else 's'}://127.0.0.1:{server.server_port}", handler.asked
        server.shutdown()


def unit(v):
    return v / np.linalg.norm(v)


def hashes(n, seed=0):
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


class Added(Statistic):
    """What a function makes of the blocks of each task, added up."""

    def __init__(self, of):
        self.of = of

    def chunk(self, start, *blocks):
        return self.of(*blocks)

    def combine(self, left, right):
        return left + right


def look_at(rows):
    """What a first pass sees that samples all rows."""
    return FirstPass(seed=0, limit=HASH_RANGE - 1).chunk(0, rows)


def single_columns(rows, rng, n_directions):
    """Project on single columns."""
    return np.eye(rows.shape[1])[:n_directions]


def rows_of_blobs(n=6000, d=3):
    """Rows of three clusters far apart, which take turns."""
    return (np.random.default_rng(0).normal(size=(n, d)) + 9 * (np.arange(n) % 3)[:, None]).astype("float32")


def rows_around(*clusters, seed=0):
    """Rows of clusters in three columns, given as pairs of a centre and a number of rows."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(n, 3)) + np.array([centre, 0, 0]) for centre, n in clusters])


def rings(n, radii=(1.0, 4.0), sd=0.1, seed=0, first=None):
    """Rows on two circles, in turns or so many on the first before all others, and the circle of each."""
    rng = np.random.default_rng(seed)
    circle = np.arange(n) % 2 if first is None else (np.arange(n) >= first).astype(int)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.take(radii, circle)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, sd, (n, 2)), circle


def stripes(n, gap, seed=0):
    """Two long stripes of rows beside each other, and which of them is the upper one's."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.uniform(0, 8, n), rng.normal(0, 0.2, n)])
    upper = rng.integers(2, size=n)
    rows[:, 1] += gap * upper
    return rows, upper


def png(pixels):
    """Return an image as the bytes of a PNG file."""
    Image.fromarray(pixels).save(file := BytesIO(), "PNG")
    return file.getvalue()


def groups_of_few_rows(n_each, n_columns, seed=0):
    """Normal groups with means 6.5 standard deviations apart, each of them cut into a cell of its own."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(4), n_each))
    return rng.normal(size=(4 * n_each, n_columns)) + 4.6 * np.eye(n_columns)[labels], labels
