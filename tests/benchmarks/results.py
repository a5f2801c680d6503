"""What is left of runs: a page for each group, with dates, versions and machines, and the tables of README.md."""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from .shared import Table, cell_text

PACKAGES = (
    "mdh_dask",
    "dask",
    "distributed",
    "zarr",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "HiPart",
    "dask-ml",
    "pyspark",
)


def version_of(package: str) -> str:
    """Return the version of a package, or that it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def machine() -> dict[str, Any]:
    """Return what the figures were measured on: processors, memory, the load of others, versions."""
    return {
        "processors": os.cpu_count(),
        "processor": _processor(),
        "memory, GB": round(psutil.virtual_memory().total / 1e9, 1),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{package: version_of(package) for package in PACKAGES},
    }


def _processor() -> str:
    """Return the name of the processor, which Python's own function leaves out on Linux."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def keep(folder: Path, group: str, suite: str, summary: str, tables: Sequence[Table], sizes: Mapping[str, Any]) -> None:
    """Keep the tables of a suite, with what they were measured on, and write the page of its group anew."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{group}.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    kept[suite] = {
        "summary": summary,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "sizes": ", ".join(f"{name} {value}" for name, value in sizes.items() if name != "cells") or "the defaults",
        "machine": ", ".join(f"{name} {value}" for name, value in machine().items()),
        "tables": [asdict(table) for table in tables],
    }
    file.write_text(json.dumps(kept, default=_plain) + "\n")
    write_page(folder, group)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def write_page(folder: Path, group: str) -> None:
    """Write the page of a group: the tables of its suites, their plots, dates, versions and machines."""
    parts = [f"# {group}: results"]
    for suite, own in json.loads((folder / f"{group}.json").read_text()).items():
        parts += [
            f"## {suite}: {own['summary']}",
            f"`python -m tests.benchmarks {suite}`, {own['date']}. Sizes: {own['sizes']}. {own['machine']}.",
            *(f"![{plot.stem}]({plot.name})" for plot in plots_of(folder / suite)),
            *(f"### {table['title']}\n\n{_markdown(table)}" for table in own["tables"] if not table["detail"]),
        ]
    (folder / f"{group}.md").write_text("\n\n".join(parts) + "\n")


TABLE = re.compile(r"(<!-- (\w+) (\w+): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
"""A table in a page: group, suite, and how its title begins; after bars, columns and the number of lines to show."""


def filled(page: str, folder: Path) -> str:
    """Return a page whose tables are those of the results in a folder."""

    def fill(found: re.Match[str]) -> str:
        head, group, suite, title, end = found.groups()
        title, columns, lines = (*title.split(" | "), "", "")[:3]
        own = json.loads((folder / f"{group}.json").read_text())[suite]
        table = next(table for table in own["tables"] if table["title"].startswith(title))
        places = [table["columns"].index(name) for name in columns.split("; ") if name] or range(len(table["columns"]))
        table["rows"] = [[row[i] for i in places] for row in table["rows"][: int(lines or len(table["rows"]))]]
        table["columns"] = [table["columns"][i] for i in places]
        about = f"{table['title']} (`{suite}`, {own['date']})"
        return f"{head}{about}\n\n{_markdown(table)}\n{end}"

    return TABLE.sub(fill, page)


def plots_of(path: Path) -> list[Path]:
    """Return the plots of the suite whose page this is: its name, or with a dash and more."""
    return sorted({*path.parent.glob(f"{path.stem}.png"), *path.parent.glob(f"{path.stem}-*.png")})


def _markdown(table: Mapping[str, Any]) -> str:
    columns = table["columns"]
    rows = [columns, ["---"] * len(columns), *(map(cell_text, row) for row in table["rows"])]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
