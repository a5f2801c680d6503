"""The command line, as ``mdh-dask`` and as ``dask mdh``."""

from .commands import main, mdh

__all__ = ["main", "mdh"]
