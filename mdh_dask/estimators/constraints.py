"""Constraints of parameters; those of `SHARED` for all classes that have one of these parameters.

The one import of a private module of scikit-learn: it has no public way to declare what its `_validate_params` checks.
"""

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

__all__ = ["Interval", "InvalidParameterError", "StrOptions", "make_constraint", "validate_parameter_constraints"]

SHARED: dict[str, list[Any]] = {
    "n_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "max_clusters": [None, Interval(Integral, 1, None, closed="left")],
    "min_cluster_size": [None, Interval(Integral, 1, None, closed="left"), Interval(Real, 0, 1, closed="neither")],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "outliers": [Interval(Real, 0, 1, closed="left")],
    "sample_size": [Interval(Integral, 2, None, closed="left")],
    "n_landmarks": [Interval(Integral, 2, None, closed="left")],
    "n_components": [None, Interval(Integral, 1, None, closed="left")],
    "n_init": [Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "merge": ["boolean"],
    "scale": ["boolean"],
    "column_types": [str, dict],
    "missing": [StrOptions({"error", "mean", "drop"})],
    "random_state": ["random_state"],
    "progress": ["boolean"],
}
