"""What is left of a run: its tables as JSON and Markdown, with the date, the versions and the machine."""

import json
import os
import platform
from collections.abc import Sequence
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


def write_json(path: Path, tables: Sequence[Table], sizes: dict[str, Any]) -> None:
    """Write tables, with what they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "sizes": sizes,
        "machine": machine(),
        "tables": [asdict(table) for table in tables],
    }
    path.write_text(json.dumps(content, indent=1, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def write_markdown(path: Path, summary: str, tables: Sequence[Table], sizes: dict[str, Any]) -> None:
    """Write tables and the plots beside them as a page, with what they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = ", ".join(f"{name} {value}" for name, value in machine().items())
    sizes_text = ", ".join(f"{name} {value}" for name, value in sizes.items()) or "the defaults"
    parts = [
        f"# {path.stem}: {summary}",
        f"`python -m tests.benchmarks {path.stem}`, {datetime.now(UTC):%Y-%m-%d}. Sizes: {sizes_text}. {about}.",
        *(f"![{plot.stem}]({plot.name})" for plot in plots_of(path)),
        *(f"## {table.title}\n\n{_markdown(table)}" for table in tables if not table.detail),
    ]
    path.write_text("\n\n".join(parts) + "\n")


def plots_of(path: Path) -> list[Path]:
    """Return the plots of the suite whose page this is: its name, or with a dash and more."""
    return sorted({*path.parent.glob(f"{path.stem}.png"), *path.parent.glob(f"{path.stem}-*.png")})


def _markdown(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *(map(cell_text, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows)
