"""The methods and their parameters as options: the usual ones by flags, all others by ``-p NAME=VALUE``."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from .._fields import JobError
from .options import NUMBERS, REPORT, adding, cluster_options, output_options

PARAMETERS = {
    "n_clusters": "Number of clusters; by default it is found.",
    "max_clusters": "Most clusters.",
    "min_cluster_size": "Rows of the smallest cluster, or their share.",
    "min_relative_depth": "How much the lower mode must exceed the valley of a split, as a share of it.",
    "quantile": "Confidence of the test that accepts a split.",
    "n_projections": "Directions that are tried for every split.",
    "sample_size": "Rows on which splits are proposed; none: all.",
    "feature_map": "Map the rows to features of a kernel, as local-scaling, or by another map, as gower.",
    "scale/no-scale": "Bring the columns to one scale.",
    "merge/no-merge": "Merge clusters without a valley between them.",
    "missing": "What becomes of missing values.",
    "random_state": "Seed.",
}
"""Parameters with a flag of their own, and what they are; all others are given by ``-p``."""

OF_MAP = "feature_map."
"""Begins the names of parameters of the feature map."""

OF_PROJECTION = "projection_params."
"""Begins the names of options of the projection."""


class FitCommand(click.Command):
    """A command with the parameters of the methods, whose unknown options may be parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments; the error for an unknown option says how it is written as a parameter."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                written = f"A parameter of the method is written as {_as_parameter(error.option_name, given)}."
                said = f"{error.message} {written}"
                raise click.NoSuchOption(error.option_name, said, error.possibilities, ctx) from None
            raise


def _as_parameter(flag: str, args: list[str]) -> str:
    """Return an option of one parameter as it is written with ``-p``."""
    texts = [*args, "-"]
    at = next((i for i, text in enumerate(texts) if text.partition("=")[0] == flag), len(args) - 1)
    _, equals, value = texts[at].partition("=")
    value = value if equals else texts[at + 1]
    name = flag[2:].replace("-", "_")
    if value.startswith("-") and not value[1:2].isdigit():
        value, name = ("false", name[3:]) if name.startswith("no_") else ("true", name)
    return f"-p {name}={value}"


VALUE: Mapping[str, Any] = {"metavar": "VALUE"}

method_options = adding(
    click.option(
        "-p", "--parameter", multiple=True, metavar="NAME=VALUE",
        help="Any parameter of the method, as order=depth_first, or of its feature map, as "
        "feature_map.n_landmarks=500, or projection; 'mdh-dask methods NAME' lists them. Can be repeated.",
    ),
    *(
        click.option(
            f"--{name.replace('_', '-').replace('/', '/--')}", default=None, help=text, **({} if "/" in name else VALUE)
        )
        for name, text in reversed(PARAMETERS.items())
    ),
    click.option("--method", default="mdh", show_default=True, metavar="NAME", help="See 'mdh-dask methods'."),
)  # fmt: skip
"""``--method`` and its parameters."""

fit_options = adding(method_options, NUMBERS, cluster_options, output_options, REPORT)
"""What commands that fit have in common."""


def estimator_of(options: dict[str, Any], progress: bool) -> Any:
    """Remove the options of `method_options` from those of a command, and return the estimator that they choose."""
    table: dict[str, Any] = {"name": options.pop("method")}
    flags = {name: options.pop(name) for name in (key.partition("/")[0] for key in PARAMETERS)}
    given = {name: value for name, value in flags.items() if value is not None}
    for text in options.pop("parameter"):
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"expected -p NAME=VALUE, as -p n_projections=500; got -p {text}")
        if (key := name.replace("-", "_")) == "name" or key in given:
            flag = "--method NAME" if key == "name" else key
            raise click.UsageError(f"expected {flag} once, got -p {text}, too: leave one out")
        given[key] = value
    typed = {name: _typed(value) for name, value in given.items()}
    from ..jobs.methods import estimator_of, with_map_settings  # imported late: most of the time of a short command

    of_map, of_projection = _taken(typed, OF_MAP), _taken(typed, OF_PROJECTION)
    table |= typed | ({OF_PROJECTION.rstrip("."): of_projection} if of_projection else {})
    with naming_options():
        estimator = estimator_of(table, progress)
        return with_map_settings(estimator, of_map) if of_map else estimator


def _taken(values: dict[str, Any], start: str) -> dict[str, Any]:
    """Remove the values whose names begin so, and return them by the rest of their names."""
    return {name.removeprefix(start): values.pop(name) for name in [*values] if name.startswith(start)}


@contextmanager
def naming_options() -> Iterator[None]:
    """Let the error for a wrong method, parameter or value name it as on the command line, not as in a job file."""
    try:
        yield
    except JobError as error:
        told = re.sub(
            r"^\[method\] with name = '(.*?)' has no key '(.*?)'", r"--method \1 has no parameter '\2'", str(error)
        )
        told = told.replace("; its keys are name, ", "; its parameters are ")
        told = told.replace("feature_map = 'local_scaling'", "--feature-map local-scaling")
        said, write, settings = told.partition("write name = ")
        if write:  # what a method fixes
            options = re.sub(r", (\w+) = ", r" -p \1=", settings.replace("'", "")).replace(" with ", " -p ")
            told = f"{said}write --method {options}=...".replace("or name = ", "or --method ")
        raise click.UsageError(re.sub(r"^method\.(name\b)?", lambda m: "--method" if m[1] else "", told)) from error


def _typed(text: Any) -> Any:
    """Return the value of a text as in a job file: a number, true or false, or the text itself."""
    if not isinstance(text, str) or text in ("true", "false"):
        return text == "true" if isinstance(text, str) else text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
