"""Labelled sets from their public homes: files of repositories at fixed commits, whose bytes are checked."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .peers import INSTALL

HOME = "https://raw.githubusercontent.com/"

REGISTRY: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text())
"""By the name of a set: its files, with the SHA-256 of what is in them.

Tables are those of the UCI repository as ARFF, shapes those of M. Gagolewski's benchmark suite for clustering: rows and
classes in files of their own. The values are those of the folder of labelled sets (checked; *letter* in another order).
"""


def download(name: str) -> tuple[Any, Any]:
    """Return the rows of a set as text, and the codes of their classes, -1 for noise; an OSError says why it cannot."""
    if name not in REGISTRY:
        raise FileNotFoundError("no public home known with a checksum")
    try:
        import pooch
    except ImportError:
        raise FileNotFoundError(f"pooch is not installed: {INSTALL}") from None
    reason = _unreachable()
    if reason is not None:
        raise FileNotFoundError(reason)
    folder = pooch.os_cache("mdh_dask")
    paths = [pooch.retrieve(HOME + path, f"sha256:{code}", path=folder) for path, code in REGISTRY[name].items()]
    if len(paths) == 1:
        text = arff_rows(Path(paths[0]).read_text())
        return text[:, :-1], np.unique(text[:, -1], return_inverse=True)[1]
    rows, classes = (np.loadtxt(path, dtype=str, ndmin=2) for path in paths)
    return rows, classes[:, 0].astype(int) - 1


@cache
def _unreachable() -> str | None:
    """Return why nothing can be downloaded, None if something can: asked once, as an answer may take long."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    try:
        urlopen(Request(HOME, method="HEAD"), timeout=5).close()
    except HTTPError:
        return None
    except OSError as error:
        return f"{HOME} cannot be reached: {getattr(error, 'reason', error)}"
    return None


def arff_rows(text: str) -> np.ndarray:
    """Return the fields of the rows of an ARFF file; those that are missing are empty."""
    lines = [line.strip() for line in text.splitlines()]
    start = [line.lower() for line in lines].index("@data") + 1
    rows = [line.split(",") for line in lines[start:] if line and not line.startswith("%")]
    return np.array([[value.strip(" '").replace("?", "") for value in row] for row in rows])
