"""Clustering by low-density separators for data that do not fit on one machine."""

from ._config import load_defaults

__version__ = "0.1.0"

load_defaults()
