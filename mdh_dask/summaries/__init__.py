"""Summaries of the rows of a tree: drift and profiles of clusters."""
