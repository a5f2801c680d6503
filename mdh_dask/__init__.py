"""Clustering by low-density separators for data that do not fit on one machine."""

__version__ = "0.1.0"
