"""Workflows from stored data to stored results, which read, cluster or label, write and report."""

from ._demo import demo
from ._drift import drift
from ._fit import fit
from ._predict import predict
from ._segment import segment

__all__ = ["demo", "drift", "fit", "predict", "segment"]
