"""Choice and test of the splits of a branch: pure functions of its histograms."""

from . import papers as papers  # adds its rules to the registries
