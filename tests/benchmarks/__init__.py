"""Benchmarks: what the package claims about itself, as tables of figures.

``python -m tests.benchmarks NAME`` from the root of the repository prints the tables of one benchmark.
"""
