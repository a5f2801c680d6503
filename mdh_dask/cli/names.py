"""Names of options, and checks of them before the estimators are imported, which takes seconds."""

import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import click
from click.core import ParameterSource

from .._options import FLAGS, OPTIONS

MAP_OPTIONS = {
    "landmarks": "n_landmarks",
    "variance": "variance",
    "components": "n_components",
    "landmark_method": "landmark_method",
}
"""Options of a feature map, and the parameters of `KernelPCAFeatures` that they set."""


def hyphenated(word: str) -> str:
    """Return a word with hyphens in place of underscores, which is accepted too.

    Examples
    --------
    >>> hyphenated("local_scaling")
    'local-scaling'
    """
    return word.replace("_", "-")


def flag_of(name: str) -> str:
    """Return the flag of a parameter's option."""
    return "--" + hyphenated(name)


def flags_of(name: str, is_flag: bool) -> str:
    """Return the flag of a parameter's option, with its opposite if it takes no value."""
    flag = flag_of(name)
    return f"{flag}/--no-{flag[2:]}" if is_flag else flag


class MethodName(click.Choice):
    """A choice that suggests the nearest names for one that is not there."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the chosen name, or raise an error with a suggestion."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = get_close_matches(str(value), self.choices, n=2, cutoff=0.5)
            said = f"{error.message} Did you mean {' or '.join(map(repr, near))}?" if near else error.message
            return self.fail(said, param, ctx)


def method_option(methods: Iterable[str], help_text: str | None = None) -> click.Option:
    """Return ``--method``, a choice of some names, the first by default."""
    names = list(methods)
    return click.Option(
        ["--method"], default=names[0], type=MethodName(names), show_default=True, help=help_text
    )  # fmt: skip


def typed_names(ctx: click.Context, names: Iterable[str]) -> list[str]:
    """Return the parameters that have no default value."""
    return [name for name in names if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]


def check_options(ctx: click.Context, method: str, own: Sequence[str], typed: Iterable[str]) -> None:
    """Raise an error if an option is not one of a method.

    Raises
    ------
    click.UsageError
    """
    known = [*own, *(MAP_OPTIONS if "feature_map" in own else ())]
    for name in typed:
        if name not in known:
            flags = ", ".join(map(flag_of, known))
            raise click.UsageError(f"--method {method} has no option {flag_of(name)}; its options are {flags}", ctx)


def check_names(command: click.Command, ctx: click.Context, args: Sequence[str]) -> None:
    """Raise the errors of all that can be checked without the estimators: a missing input, and names.

    Estimators that are imported already may be more than those of this package, and take no time any more.
    """
    if "mdh_dask.estimators.registry" in sys.modules:
        return
    names = [*dict.fromkeys(name for options in OPTIONS.values() for name in options), *MAP_OPTIONS]
    options = [click.Option([flags_of(name, name in FLAGS), name]) for name in names]
    named = click.Command(command.name, params=[*command.params, method_option(OPTIONS), *options])
    checked = named.make_context(ctx.info_name, [*args], parent=ctx.parent)
    method = checked.params["method"]
    check_options(checked, method, OPTIONS[method], typed_names(checked, names))
