"""Choice and test of the splits of a branch: pure functions of its histograms."""
