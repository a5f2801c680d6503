"""Kinds of columns, and the levels of those that are not numbers.

A typed table reaches the numerics as a matrix of codes: a categorical value is the index of its level, an ordinal value
its rank, a missing value NaN, and an unknown level the number of levels.
"""

from .types import KINDS, PIXEL_KINDS, ColumnTypes

__all__ = ["KINDS", "PIXEL_KINDS", "ColumnTypes"]
