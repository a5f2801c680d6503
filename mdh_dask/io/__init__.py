"""Reading rows of files and arrays, and writing them to Zarr arrays that are complete or refused."""

from .inputs import open_features
from .rows import open_rows
from .writing import verify_rows, write_rows

__all__ = ["open_features", "open_rows", "verify_rows", "write_rows"]
