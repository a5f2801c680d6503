"""One-dimensional densities from histograms: pure functions of small arrays, independent of chunks."""
