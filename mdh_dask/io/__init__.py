"""Reading of rows from files and arrays, and writing to Zarr arrays, which are complete or refused."""

from .inputs import open_features
from .rows import open_rows
from .writing import verify_rows, write_rows

__all__ = ["open_features", "open_rows", "verify_rows", "write_rows"]
