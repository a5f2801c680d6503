"""A report of a fitted tree: one HTML file that needs nothing else, on a desk, on a phone or on paper."""

from .page import write_report

__all__ = ["write_report"]
