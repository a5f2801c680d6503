"""Combination of many weak clusterings: their labels are counted in one pass and combined without the rows."""
