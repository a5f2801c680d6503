"""One-dimensional densities from histograms: pure functions of small arrays, which know nothing of chunks."""
