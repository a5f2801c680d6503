"""Compiled loops on plain arrays, with numba and NumPy only; each has a naive Python twin in the tests."""
