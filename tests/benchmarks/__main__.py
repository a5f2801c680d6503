"""Run benchmarks: print their tables, and keep them on the results page of their group."""

from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType

import click

from . import honesty, many, power, results
from .sets import ALL_SETS
from .sets import GROUPS as SETS
from .shared import Table

GROUPS = {
    "quality": ("quality", "power", "shapes", "many", "semi_supervised", "images", "mixed", "nights"),
    "performance": ("speed", "scale", "scale_out", "memory", "first", "passes", "giant", "holes", "costs"),
    "null": ("honesty", "evidence", "mixed_nulls", "tails"),
    "papers": ("printed_tables", "figures", "hppc", "svc", "mixed_simulations"),
    "dependence": ("dependence",),
}
"""Are the clusters right; what do they cost; is nothing split where there is nothing; are the methods those of the
papers; and what if rows depend on each other. Each suite is a module of this package."""

GROUP_OF = {suite: group for group, suites in GROUPS.items() for suite in suites}

README = Path(__file__).with_name("README.md")


def suite_of(name: str) -> ModuleType:
    """Return the module of a suite."""
    return import_module(f".{name}", __package__)


def summary(name: str) -> str:
    """Return what a suite asks: the first line of its module."""
    return (suite_of(name).__doc__ or "").partition("\n")[0]


class _Command(click.Command):
    """A command that lists the suites of every group under its help."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, suites in GROUPS.items():
            with formatter.section(f"Group {group}"):
                formatter.write_dl([(name, summary(name)) for name in suites])


def _sets(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for value in values for name in SETS.get(value, (value,))))


def _shapes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[tuple[int, int]]:
    try:
        return [(int(rows), int(columns)) for rows, columns in (value.split("x") for value in values)]
    except ValueError as error:
        raise click.BadParameter(f"expected rows x columns, such as 1000x10; got {', '.join(values)}") from error


class _Names(click.Choice[str]):
    """Names of groups and suites, with hyphens or underscores."""

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        return super().convert(value.replace("-", "_"), parameter, context)


@click.command(cls=_Command)
@click.argument("names", nargs=-1, required=True, metavar="NAME...", type=_Names([*GROUPS, *GROUP_OF, "readme"]))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results pages, as tests/benchmarks/results: GROUP.json, GROUP.md and plots.")  # fmt: skip
@click.option("--short", is_flag=True, help="Fewer seeds, repeats and rows: minutes instead of tens of minutes.")
@click.option("--rows", "n_rows", type=click.IntRange(min=100), help="Rows of simulated data.")
@click.option("--seeds", "n_seeds", type=click.IntRange(min=1), help="Seeds of every cell.")
@click.option("--budget", type=click.FloatRange(min=0), help="Seconds for all cells of a suite that takes so many.")
@click.option("--seconds", type=click.FloatRange(min=1), help="Processor seconds of all seeds of a cell of `quality`.")
@click.option("--set", "sets", multiple=True, type=click.Choice([*ALL_SETS, *SETS]), metavar="NAME", callback=_sets,
    help=f"Labelled sets, or a group of them: {', '.join(SETS)}.")  # fmt: skip
@click.option("--cells", type=click.Path(dir_okay=False, path_type=Path), help="File of finished cells, to go on with.")
@click.option("--shape", "shapes", multiple=True, metavar="ROWSxCOLUMNS", callback=_shapes,
    help="Clouds of `honesty`; columns of either kind x clusters of `mixed_simulations`.")  # fmt: skip
@click.option("--side", type=click.IntRange(min=1000), help="Lines and columns of scenes.")
@click.option("--bands", type=click.IntRange(min=4), help="Bands of the scene of `giant`; not 4: quantised embeddings.")
@click.option(
    "--alone",
    is_flag=True,
    default=None,
    help="Only the scene with holes of `holes`; `giant` only grows its tree on a sample.",
)
@click.option("--repeats", type=click.IntRange(min=1), help="Repeats, in turns; medians are shown.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*honesty.CLOUDS, *power.KINDS, *many.KINDS]),
    help="Clouds of `honesty`; tables of `power`; sizes of `many`.")  # fmt: skip
@click.option("--cloud", "clouds", multiple=True, type=click.Choice(honesty.ALL_CLOUDS), help="Clouds of `honesty`.")
@click.option("--clusters", "ks", multiple=True, type=click.IntRange(min=2), help="Numbers of clusters of `many`.")
@click.option("--columns", multiple=True, type=click.IntRange(min=2), help="Numbers of columns of `many`.")
@click.option("--method", "methods", multiple=True, help="Methods of suites that compare some.")
@click.pass_context
def main(context: click.Context, names: tuple[str, ...], out: Path | None, short: bool, **options: object) -> None:
    """Print the tables of groups of suites, or of single suites.

    A group takes no options but --out and --short; with others, `quality` and `dependence` are the suites of that name.
    `readme` writes the tables of the results pages into README.md.
    """
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    for name in _suites(names, alone=bool(given)):
        taken = signature(suite_of(name).run).parameters
        for option in context.command.params:
            if option.name in given.keys() - taken.keys():
                raise click.UsageError(f"{name} takes no {option.opts[0]}: it is fixed; leave it out")
    for name in _suites(names, alone=bool(given)):
        _run(name, (dict(suite_of(name).SHORT) if short else {}) | given, out)
    if "readme" in names:
        README.write_text(results.filled(README.read_text(), README.parent / "results"))


def _suites(names: tuple[str, ...], alone: bool) -> list[str]:
    """Return the suites that are named, those of a group unless it is taken for the suite of its name."""
    chosen = [GROUPS[name] if name in GROUPS and not (alone and name in GROUP_OF) else (name,) for name in names]
    return [name for suites in chosen for name in suites if name in GROUP_OF]


def _run(name: str, sizes: dict[str, object], out: Path | None) -> None:
    suite, tables = suite_of(name), list[Table]()
    for table in suite.run(**sizes):
        click.echo(f"{table.text()}\n")
        tables.append(table)
        if out is not None:  # after every table: a long run that is interrupted keeps what it has
            results.keep(out, GROUP_OF[name], name, summary(name), tables, sizes)
    if out is not None and hasattr(suite, "plot"):
        suite.plot(tables, out / f"{name}.png")
        results.keep(out, GROUP_OF[name], name, summary(name), tables, sizes)


if __name__ == "__main__":
    main(prog_name="python -m tests.benchmarks")
