"""Constraints of parameters.

The one import of a private module of scikit-learn: it has no public way to declare what its `_validate_params` checks.
"""

from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    make_constraint,
    validate_parameter_constraints,
)

__all__ = ["Interval", "InvalidParameterError", "StrOptions", "make_constraint", "validate_parameter_constraints"]
