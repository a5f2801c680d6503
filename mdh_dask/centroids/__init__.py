"""Centroids of clusters: k-means of rows or features, started on a sample and settled by passes over all rows."""
