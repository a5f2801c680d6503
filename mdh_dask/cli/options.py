"""Command-line options made from an estimator's parameters and their documentation."""

import inspect
import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import click
from sklearn.utils._param_validation import Interval, StrOptions

from ..estimators import RandomProjectionTree

METHODS = {"rp": RandomProjectionTree}
"""Values of ``--method``."""


class ParameterType(click.ParamType):
    """A value that one of scikit-learn's parameter constraints allows."""

    def __init__(self, constraints: list[Any]) -> None:
        self.constraints = constraints
        self.words = sorted(word for c in constraints if isinstance(c, StrOptions) for word in c.options)
        self.optional = None in constraints
        kinds = [c.type for c in constraints if isinstance(c, Interval)]
        self.numbers = [kind for kind in (Integral, Real) if kind in kinds]
        self.numbers += [Integral] if "random_state" in constraints else []
        self.name = "|".join(self.words + [{Integral: "int", Real: "float"}[k] for k in self.numbers])
        self.name += "|none" if self.optional else ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a word on the command line."""
        if not isinstance(value, str) or value in self.words:
            return value
        if self.optional and value == "none":
            return None
        for kind, cast in ((Integral, int), (Real, float)):
            if kind in self.numbers:
                try:
                    return cast(value)
                except ValueError:
                    continue
        self.fail(f"expected {self.name}; got {value!r}", param, ctx)


def method_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command one option for every parameter of the methods; they arrive under the parameters' names."""
    for name, parameter in reversed(list(inspect.signature(RandomProjectionTree.__init__).parameters.items())):
        if name in ("self", "progress"):
            continue
        constraints = RandomProjectionTree._parameter_constraints[name]
        flag = "--" + name.replace("_", "-")
        text = first_sentence(RandomProjectionTree.__doc__ or "", name)
        if constraints == ["boolean"]:
            option = click.option(f"{flag}/--no-{flag[2:]}", name, default=parameter.default, help=text)
        else:
            default = "none" if parameter.default is None else parameter.default
            kind = ParameterType(constraints)
            option = click.option(flag, name, default=default, type=kind, show_default=True, help=text)
        command = option(command)
    return command


def first_sentence(docstring: str, parameter: str) -> str:
    """Return the first sentence of a parameter's description in a numpydoc docstring, without markup."""
    found = re.search(rf"^    {parameter} : .*\n((?:        .*\n)+)", docstring, flags=re.MULTILINE)
    text = " ".join(found.group(1).split()) if found else ""
    return re.sub(r"``?\"?|\"?``?", "", re.split(r"(?<=[.:])\s", text)[0])
