"""Make the input once: ten clusters in twenty columns."""

from pathlib import Path

from mdh_dask.io import write_rows
from mdh_dask.simulate import separated_mixture

INPUT = Path("/data/input.zarr")

if not INPUT.exists():
    rows, _ = separated_mixture(50_000, 20, 10, chunk_rows=10_000, random_state=0)
    write_rows(rows, INPUT)
