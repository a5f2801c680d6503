"""Make the input once: twenty clusters in fifty columns."""

from pathlib import Path

from mdh_dask.io import write_rows
from mdh_dask.simulate import separated_mixture

INPUT = Path("/work/input.zarr")

if not INPUT.exists():
    rows, _ = separated_mixture(200_000, 50, 20, chunk_rows=20_000, random_state=0)
    write_rows(rows, INPUT)
