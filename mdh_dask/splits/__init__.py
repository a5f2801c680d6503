"""Where to split a branch and whether to: pure functions of its histograms."""
