"""The command line: ``mdh-dask``, and the same as ``dask mdh``."""

from .commands import main, mdh

__all__ = ["main", "mdh"]
