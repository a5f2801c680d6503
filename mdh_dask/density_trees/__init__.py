"""Density trees: cells of a neighbour graph, merged unless held-out rows are sparser between them."""
