"""Values on the command line for parameters of estimators."""

import math
from numbers import Integral, Real
from typing import Any

import click
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from .names import hyphenated


class ParameterType(click.ParamType):
    """A value that one of a parameter's scikit-learn constraints allows."""

    name = "value"

    def __init__(self, constraints: list[Any]) -> None:
        self.constraints = [make_constraint(c) for c in constraints if c is not None]
        self.optional = None in constraints
        self.words = sorted({word for c in constraints if isinstance(c, StrOptions) for word in c.options})
        self.typed = {hyphenated(word): word for word in self.words}
        kinds = [c.type for c in constraints if isinstance(c, Interval)]
        kinds += [Integral] if "random_state" in constraints else []
        self.casts = {
            name: cast for kind, name, cast in ((Integral, "INT", int), (Real, "FLOAT", float)) if kind in kinds
        }
        self.values = "|".join([*self.words, *self.casts, *["none"] * self.optional])

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the allowed values as shown in the help."""
        return self.values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of an argument on the command line."""
        if not isinstance(value, str):
            return value
        if hyphenated(value) in self.typed:
            return self.typed[hyphenated(value)]
        if self.optional and value == "none":
            return None
        for cast in self.casts.values():
            try:
                number = cast(value)
            except ValueError:
                continue
            if math.isfinite(number) and any(c.is_satisfied_by(number) for c in self.constraints):
                return number
        limits = " or ".join(dict.fromkeys(str(c) for c in self.constraints if isinstance(c, Interval)))
        self.fail(f"expected {limits or self.values}; got {value!r}", param, ctx)
