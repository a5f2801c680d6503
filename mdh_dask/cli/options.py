"""Command-line options made from an estimator's parameters and their documentation."""

import inspect
import math
import re
from functools import cache
from numbers import Integral, Real
from typing import Any

import click
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint

from ..estimators import RandomProjectionTree

METHODS = {"rp": RandomProjectionTree}
"""Values of ``--method``."""


class ParameterType(click.ParamType):
    """A value that one of scikit-learn's parameter constraints allows."""

    name = "value"

    def __init__(self, constraints: list[Any]) -> None:
        self.constraints = [make_constraint(c) for c in constraints if c is not None]
        self.optional = None in constraints
        self.words = sorted(word for c in constraints if isinstance(c, StrOptions) for word in c.options)
        kinds = [c.type for c in constraints if isinstance(c, Interval)]
        kinds += [Integral] if "random_state" in constraints else []
        self.casts = {
            name: cast for kind, name, cast in ((Integral, "INT", int), (Real, "FLOAT", float)) if kind in kinds
        }
        self.values = "|".join([*self.words, *self.casts, *["none"] * self.optional])

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the values that may be typed."""
        return self.values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a word on the command line."""
        if not isinstance(value, str) or value in self.words:
            return value
        if self.optional and value == "none":
            return None
        for cast in self.casts.values():
            try:
                number = cast(value)
            except ValueError:
                continue
            if math.isfinite(number) and any(c.is_satisfied_by(number) for c in self.constraints):
                return number
        limits = " or ".join(str(c) for c in self.constraints if isinstance(c, Interval))
        self.fail(f"expected {limits or self.values}; got {value!r}", param, ctx)


@cache
def method_options() -> list[click.Option]:
    """Return an option for every parameter of the methods; its value arrives under the parameter's name."""
    options = [click.Option(["--method"], default="rp", type=click.Choice(sorted(METHODS)), show_default=True)]
    for name, parameter in inspect.signature(RandomProjectionTree).parameters.items():
        if name == "progress":
            continue
        constraints = RandomProjectionTree._parameter_constraints[name]
        kind = None if constraints == ["boolean"] else ParameterType(constraints)
        flag = "--" + name.replace("_", "-")
        text = description(RandomProjectionTree.__doc__ or "", name)
        if kind and kind.optional and "none" not in text:
            text += " With none: no limit."
        options.append(
            click.Option(
                [flag if kind else f"{flag}/--no-{flag[2:]}", name], type=kind, help=text, show_default=True,
                default="none" if parameter.default is None else parameter.default,
            )
        )  # fmt: skip
    return options


def description(docstring: str, parameter: str) -> str:
    r"""Return a parameter's description in a numpydoc docstring as it reads on the command line.

    Examples
    --------
    >>> description("    size : int or None\n        Rows (paper 1): ``1`` or, if None,\n        all.\n", "size")
    'Rows (paper 1): 1 or, if none, all.'
    """
    found = re.search(rf"^    {parameter} : .*\n((?:        .*\n)+)", docstring, flags=re.MULTILINE)
    text = " ".join(found.group(1).split()) if found else ""
    text = re.sub(r" \(thesis [^)]*\)", "", re.sub(r"``?\"?|\"?``?", "", text))
    return re.sub(r"\bNone\b", "none", text)
