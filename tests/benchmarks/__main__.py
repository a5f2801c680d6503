"""Run one benchmark, print its tables, and write them as JSON if there is a folder for it."""

from inspect import signature
from pathlib import Path

import click

from . import honesty, memory, passes, quality, speed
from .shared import Table, write_json

BENCHMARKS = {module.__name__.rpartition(".")[2]: module for module in (quality, honesty, speed, memory, passes)}


@click.command()
@click.argument("name", type=click.Choice(list(BENCHMARKS)))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for NAME.json.")
@click.option("--short", is_flag=True, help="Fewer seeds, repeats and rows: minutes instead of tens of minutes.")
@click.option("--rows", type=click.IntRange(min=1000), help="Rows of the simulated data.")
def main(name: str, out: Path | None, short: bool, rows: int | None) -> None:
    """Print the figures of one benchmark."""
    benchmark = BENCHMARKS[name]
    sizes = dict(benchmark.SHORT) if short else {}
    if rows is not None:
        if "n_rows" not in signature(benchmark.run).parameters:
            raise click.UsageError(f"{name} takes no --rows: its clouds have fixed sizes; leave it out")
        sizes["n_rows"] = rows
    tables: list[Table] = []
    for table in benchmark.run(**sizes):
        click.echo(f"{table.text()}\n")
        tables.append(table)
        if out is not None:  # after every table: a long run that is interrupted keeps what it has
            write_json(out / f"{name}.json", tables, sizes)


if __name__ == "__main__":
    main(prog_name="python -m tests.benchmarks")
