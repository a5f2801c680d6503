"""Run benchmarks: print their tables, and write them with plots if there is a folder for them."""

from inspect import signature
from pathlib import Path
from types import ModuleType

import click

from . import (
    costs,
    density_scale,
    dependence,
    ensembles,
    faults,
    figures,
    first,
    giant,
    holes,
    honesty,
    hppc,
    images,
    kernels,
    kernels_scale,
    memory,
    mixed,
    mixed_nulls,
    mixed_simulations,
    partitions_scale,
    passes,
    power,
    printed_tables,
    pursuit,
    pursuit_speed,
    quality,
    random_projections,
    scale_out,
    semi_supervised,
    shapes,
    speed,
    svc,
    tables_scale,
    tails,
    text,
    tree_speed,
)
from .results import write_json, write_markdown
from .sets import ALL_SETS, GROUPS
from .shared import Table

EVIDENCE: dict[str, ModuleType] = {
    "quality": quality,
    "speed": speed,
    "scale-out": scale_out,
    "memory": memory,
    "figures": figures,
}
"""The suites that compare with what a user would take instead: all of these run if none is named."""

REQUIREMENTS: dict[str, ModuleType] = {
    "random_projections": random_projections,
    "tree_speed": tree_speed,
    "honesty": honesty,
    "power": power,
    "ensembles": ensembles,
    "passes": passes,
    "printed_tables": printed_tables,
    "pursuit": pursuit,
    "pursuit_speed": pursuit_speed,
    "hppc": hppc,
    "svc": svc,
    "semi_supervised": semi_supervised,
    "shapes": shapes,
    "kernels": kernels,
    "kernels_scale": kernels_scale,
    "partitions_scale": partitions_scale,
    "density_scale": density_scale,
    "tables_scale": tables_scale,
    "images": images,
    "mixed": mixed,
    "dependence": dependence,
    "mixed_nulls": mixed_nulls,
    "mixed_simulations": mixed_simulations,
    "tails": tails,
    "text": text,
    "giant": giant,
    "holes": holes,
    "first": first,
    "faults": faults,
    "costs": costs,
}
"""The suites that hold single features to their bars."""

SUITES = EVIDENCE | REQUIREMENTS


class _Command(click.Command):
    """A command that lists the suites under its help."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        headings = {"Evidence (all of these run if none is named)": EVIDENCE, "Requirements of features": REQUIREMENTS}
        for heading, suites in headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, _summary(module)) for name, module in suites.items()])


def _summary(module: ModuleType) -> str:
    return (module.__doc__ or "").partition("\n")[0]


def _sets(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for value in values for name in GROUPS.get(value, (value,))))


def _shapes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> list[tuple[int, int]]:
    try:
        return [(int(rows), int(columns)) for rows, columns in (value.split("x") for value in values)]
    except ValueError as error:
        raise click.BadParameter(f"expected rows x columns, such as 1000x10; got {', '.join(values)}") from error


@click.command(cls=_Command)
@click.argument("suites", nargs=-1, metavar="[SUITE]...", type=click.Choice(list(SUITES)))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for SUITE.json, SUITE.md and plots."
)
@click.option("--short", is_flag=True, help="Fewer seeds, repeats and rows: minutes instead of tens of minutes.")
@click.option("--rows", type=click.IntRange(min=100), help="Rows of the simulated data, in suites that have one size.")
@click.option("--seeds", type=click.IntRange(min=1), help="Seeds of every cell, in suites that fit all alike.")
@click.option("--budget", type=click.FloatRange(min=0), help="Seconds for all cells of a suite that takes so many.")
@click.option(
    "--set", "sets", multiple=True, type=click.Choice([*ALL_SETS, *GROUPS]), metavar="NAME", callback=_sets,
    help=f"Labelled sets of `quality`, or a group of them: {', '.join(GROUPS)}.",
)  # fmt: skip
@click.option("--cells", type=click.Path(dir_okay=False, path_type=Path), help="File of finished cells, to go on with.")
@click.option("--shape", "shapes", multiple=True, metavar="ROWSxCOLUMNS", callback=_shapes,
    help="Clouds of `honesty`; columns of either kind x clusters of `mixed_simulations`.")  # fmt: skip
@click.option("--side", type=click.IntRange(min=1000), help="Lines and columns of the scenes of `holes`.")
@click.option("--alone", is_flag=True, default=None, help="Only the scene with holes of `holes`.")
@click.option("--repeats", type=click.IntRange(min=1), help="Repeats of `holes`, in turns; medians are shown.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice([*honesty.CLOUDS, *power.KINDS]),
    help="Clouds of `honesty`; tables of `power`.")  # fmt: skip
@click.option("--cloud", "clouds", multiple=True, type=click.Choice(honesty.ALL_CLOUDS), help="Clouds of `honesty`.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    help="Methods of `quality`, `honesty`, `power`, `mixed_nulls`, `dependence`, `mixed_simulations`.",
)
def main(
    suites: tuple[str, ...],
    out: Path | None,
    short: bool,
    rows: int | None,
    seeds: int | None,
    budget: float | None,
    sets: tuple[str, ...],
    cells: Path | None,
    shapes: list[tuple[int, int]],
    side: int | None,
    alone: bool | None,
    repeats: int | None,
    kinds: tuple[str, ...],
    clouds: tuple[str, ...],
    methods: tuple[str, ...],
) -> None:
    """Print the tables of suites of benchmarks."""
    chosen = {name: SUITES[name] for name in suites or EVIDENCE}
    options = {"rows": ("n_rows", rows), "seeds": ("n_seeds", seeds), "budget": ("budget", budget)}
    options |= {"set": ("sets", sets or None), "cells": ("cells", cells), "shape": ("shapes", shapes or None)}
    options |= {"side": ("side", side), "alone": ("alone", alone), "repeats": ("repeats", repeats)}
    options |= {
        "kind": ("kinds", kinds or None),
        "cloud": ("clouds", clouds or None),
        "method": ("methods", methods or None),
    }
    given = {parameter: value for parameter, value in options.values() if value is not None}
    for name, suite in chosen.items():
        taken = signature(suite.run).parameters
        for option, (parameter, value) in options.items():
            if value is not None and parameter not in taken:
                raise click.UsageError(f"{name} takes no --{option}: it is fixed; leave it out")
    for name, suite in chosen.items():
        _run(name, suite, (dict(suite.SHORT) if short else {}) | given, out)


def _run(name: str, suite: ModuleType, sizes: dict[str, object], out: Path | None) -> None:
    tables: list[Table] = []
    for table in suite.run(**sizes):
        click.echo(f"{table.text()}\n")
        tables.append(table)
        if out is not None:  # after every table: a long run that is interrupted keeps what it has
            write_json(out / f"{name}.json", tables, sizes)
            write_markdown(out / f"{name}.md", _summary(suite), tables, sizes)
    if out is not None and hasattr(suite, "plot"):
        suite.plot(tables, out / f"{name}.png")
        write_markdown(out / f"{name}.md", _summary(suite), tables, sizes)


if __name__ == "__main__":
    main(prog_name="python -m tests.benchmarks")
