"""The same neighbours on any processor: NumPy's partitions order equal values by the instructions that it has."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from mdh_dask._jit.landmarks import nearest_columns
from mdh_dask.kernels import Isomap
from mdh_dask.valleys.graph import nearest_others


def print_neighbours():
    """Print the neighbours of rows of which many are equally far from each other."""
    rows = np.random.default_rng(0).integers(0, 3, (300, 12)).astype(np.float64)
    squares = np.square(rows[:, None] - rows).sum(axis=2).astype(np.float32)
    landmarks = rows[:60, :4]
    kernel = Isomap(5).fit(landmarks).matrix(rows[:, :4], landmarks)
    for found in (
        nearest_others(rows, 20)[0],
        nearest_others(rows[:, :2], 20)[0],
        nearest_columns(squares, 20),
        kernel,
    ):
        sys.stdout.buffer.write(found.tobytes())


@pytest.mark.slow
def test_neighbours_do_not_depend_on_the_instructions_of_the_processor():
    usable = [feature for feature in __cpu_dispatch__ if __cpu_features__[feature]]
    if not usable:
        pytest.skip("NumPy uses no instructions here that can be disabled")
    disabled = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(usable)}
    every, few = (
        subprocess.run([sys.executable, __file__], env=env, check=True, capture_output=True).stdout
        for env in (dict(os.environ), disabled)
    )
    assert every == few


if __name__ == "__main__":
    print_neighbours()
