"""Run one benchmark, print its tables, and write them as JSON if there is a folder for it."""

from inspect import signature
from pathlib import Path

import click

from . import (
    faults,
    giant,
    honesty,
    images,
    kernels,
    kernels_scale,
    memory,
    passes,
    pursuit,
    pursuit_speed,
    quality,
    speed,
)
from .shared import Table, write_json

MODULES = (
    quality,
    honesty,
    speed,
    memory,
    passes,
    pursuit,
    pursuit_speed,
    kernels,
    kernels_scale,
    images,
    giant,
    faults,
)

BENCHMARKS = {module.__name__.rpartition(".")[2]: module for module in MODULES}


@click.command()
@click.argument("name", type=click.Choice(list(BENCHMARKS)))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for NAME.json, and for a picture."
)
@click.option("--short", is_flag=True, help="Fewer seeds, repeats and rows: minutes instead of tens of minutes.")
@click.option("--rows", type=click.IntRange(min=1000), help="Rows of the simulated data.")
def main(name: str, out: Path | None, short: bool, rows: int | None) -> None:
    """Print the figures of one benchmark."""
    benchmark = BENCHMARKS[name]
    sizes = dict(benchmark.SHORT) if short else {}
    if rows is not None:
        if "n_rows" not in signature(benchmark.run).parameters:
            raise click.UsageError(f"{name} takes no --rows: its sizes are fixed; leave it out")
        sizes["n_rows"] = rows
    tables: list[Table] = []
    for table in benchmark.run(**sizes):
        click.echo(f"{table.text()}\n")
        tables.append(table)
        if out is not None:  # after every table: a long run that is interrupted keeps what it has
            write_json(out / f"{name}.json", tables, sizes)
    if out is not None and hasattr(benchmark, "plot"):
        benchmark.plot(tables, out / f"{name}.png")


if __name__ == "__main__":
    main(prog_name="python -m tests.benchmarks")
