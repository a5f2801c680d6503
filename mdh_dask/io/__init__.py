"""Reading and writing rows in Zarr arrays that are complete or refused."""

from .rows import open_rows
from .writing import verify_rows, write_rows

__all__ = ["open_rows", "verify_rows", "write_rows"]
