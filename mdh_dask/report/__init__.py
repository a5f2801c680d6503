"""A report of a fitted tree as one self-contained HTML file, for a screen, a phone or paper."""

from .page import write_report
from .pictures import SceneTable, Segments, Sizes

__all__ = ["SceneTable", "Segments", "Sizes", "write_report"]
