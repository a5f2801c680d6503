"""From stored data to stored results: read, cluster or label, write, report; what the commands of these names do."""

from ._demo import demo
from ._drift import drift
from ._fit import fit
from ._predict import predict
from ._segment import segment

__all__ = ["demo", "drift", "fit", "predict", "segment"]
