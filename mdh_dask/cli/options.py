"""Command-line options made from the estimators' parameters and their documentation."""

import inspect
import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any

import click
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from ..estimators import KernelPCAFeatures
from ..estimators.base import ClusterEstimator
from ..estimators.docstrings import entries, sections
from ..estimators.mapped import feature_map_names
from ..estimators.registry import all_methods, options_of
from .names import MAP_OPTIONS, check_options, flag_of, flags_of, method_option, typed_names
from .parameters import ParameterType


class DocumentedOption(click.Option):
    """An option whose default is that of the estimator's parameter."""

    @abstractmethod
    def shown_defaults(self) -> str:
        """Return the default as the help shows it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the flags and the help with the default."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]}  [{self.shown_defaults()}]")


class MethodOption(DocumentedOption):
    """The option of a parameter of one or more methods.

    Parameters
    ----------
    name : str
        Name of the parameter.
    """

    def __init__(self, name: str) -> None:
        self.parameter = name
        self.defaults = {m: options_of(cls)[name] for m, cls in all_methods().items() if name in options_of(cls)}
        # The union of what the methods accept; `estimator_of` rejects what the chosen one does not.
        allowed = [all_methods()[method]._parameter_constraints[name] for method in self.defaults]
        constraints = [each for of_method in allowed for each in of_method if each != "boolean"]
        kind = ParameterType(constraints) if constraints else None
        super().__init__([flags_of(name, kind is None), name], type=kind, default=None, help=self.text())

    def text(self) -> str:
        """Return the first method's description of the parameter, and those of methods that differ."""
        texts = {method: description(all_methods()[method], self.parameter) for method in self.defaults}
        first, *others = dict.fromkeys(texts.values())
        for other in others:
            first += f" For {', '.join(method for method in texts if texts[method] == other)}: {other}"
        return first

    def shown_defaults(self) -> str:
        """Return the default if all methods share it, otherwise each default with its methods."""
        methods: dict[str, list[str]] = {}
        for method, default in self.defaults.items():
            methods.setdefault(shown(self.parameter, default), []).append(method)
        without = [method for method in all_methods() if method not in self.defaults]
        if len(methods) == 1 and len(without) < len(self.defaults):
            return f"default: {next(iter(methods))}" + (f"; not for {', '.join(without)}" if without else "")
        return "default: " + "; ".join(f"{default} for {', '.join(names)}" for default, names in methods.items())


class MapOption(DocumentedOption):
    """The option of a parameter of the feature map.

    Parameters
    ----------
    name : str
        Key in `MAP_OPTIONS`.
    """

    def __init__(self, name: str) -> None:
        parameter = MAP_OPTIONS[name]
        default = inspect.signature(KernelPCAFeatures).parameters[parameter].default
        self.shown_default = shown(name, default)
        text = f"For a feature map. {description(KernelPCAFeatures, parameter)}"
        kind = ParameterType(KernelPCAFeatures._parameter_constraints[parameter])
        super().__init__([flag_of(name), name], type=kind, default=None, help=text)

    def shown_defaults(self) -> str:
        """Return the default of the feature map."""
        return f"default: {self.shown_default}"


def method_options() -> list[click.Option]:
    """Return ``--method`` and an option for every parameter of the methods, named like the parameter."""
    return _method_options(tuple(all_methods().items()), tuple(feature_map_names()))


@cache
def _method_options(*_: tuple[Any, ...]) -> list[click.Option]:
    """Make the options once for everything that is registered."""
    classes = ", ".join(f"{method} ({estimator.__name__})" for method, estimator in all_methods().items())
    method = method_option(all_methods(), f"How the rows are clustered: {classes}.")
    names = dict.fromkeys(name for cls in all_methods().values() for name in options_of(cls))
    of_methods = {name: MethodOption(name) for name in names}
    after_the_map = list(names).index("feature_map") + 1
    options = list(of_methods.values())
    return [method, *options[:after_the_map], *map(MapOption, MAP_OPTIONS), *options[after_the_map:]]


def estimator_of(ctx: click.Context, method: str, options: Mapping[str, Any], progress: bool) -> ClusterEstimator:
    """Return the estimator of a method with the given options, or raise an error if one is not for this method."""
    own = options_of(all_methods()[method])
    typed = {name: options[name] for name in typed_names(ctx, options)}
    check_options(ctx, method, [*own], typed)
    of_map = {name: typed.pop(name) for name in MAP_OPTIONS if name in typed}
    try:
        validate_parameter_constraints(all_methods()[method]._parameter_constraints, typed, f"--method {method}")
    except InvalidParameterError as error:
        raise click.UsageError(str(error), ctx) from error
    estimator: Any = all_methods()[method](**typed, progress=progress)
    if of_map and estimator.feature_map is None:
        raise click.UsageError(
            f"{flag_of(next(iter(of_map)))} is an option of a feature map, but there is none: give one with "
            "--feature-map, as --feature-map local-scaling",
            ctx,
        )
    return with_map_options(estimator, of_map) if of_map else estimator


def with_map_options(estimator: Any, options: Mapping[str, Any]) -> ClusterEstimator:
    """Return an estimator whose feature map, otherwise as the estimator makes it by name, has the given options."""
    seed = int(check_random_state(estimator.random_state).randint(2**31))
    feature_map = estimator._new_feature_map(seed)
    assert feature_map is not None
    for name, value in options.items():
        if MAP_OPTIONS[name] not in feature_map.get_params():
            raise click.UsageError(f"{flag_of(name)} is no option of the feature map {type(feature_map).__name__}")
        feature_map.set_params(**{MAP_OPTIONS[name]: value})
    return estimator.set_params(feature_map=feature_map)


def shown(name: str, default: Any) -> str:
    """Return the default of a parameter as it is typed on the command line.

    Examples
    --------
    >>> shown("n", 1), shown("share", 0.5), shown("size", None), shown("scale", False)
    ('1', '0.5', 'none', '--no-scale')
    """
    if isinstance(default, bool):
        return flag_of(name if default else f"no_{name}")
    return "none" if default is None else str(default)


def description(estimator: type[ClusterEstimator | KernelPCAFeatures], parameter: str) -> str:
    """Return the description of a parameter from an estimator's documentation, in words of the command line.

    Examples
    --------
    >>> from mdh_dask import PCATree
    >>> description(PCATree, "max_levels")
    'Most splits above a cluster. With none: no limit.'
    """
    entry = entries(sections(estimator.__doc__).get("Parameters", "")).get(parameter, "")
    text = " ".join(entry.split("\n")[1:])
    text = re.sub(r'``"([^"`]*)"``|`', r"\1", " ".join(text.split()))
    text = re.sub(r"\bNone\b", "none", re.sub(r" \(thesis [^)]*\)", "", text))
    unlimited = None in estimator._parameter_constraints[parameter] and "none" not in text
    return f"{text} With none: no limit." if unlimited else text
