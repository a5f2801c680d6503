"""Compiled loops: arrays in, arrays out, numba and NumPy only; each has a plain Python twin in the tests."""
