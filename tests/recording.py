"""What a terminal shows for the first commands, as a picture: ``python -m tests.recording PICTURE.svg``."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mdh_dask.simulate import gaussian_mixture

COMMANDS = (
    "mdh-dask demo --table",
    "mdh-dask fit features.npy --out labels.zarr --model model.zarr --report report.html",
    "mdh-dask predict new.npy --model model.zarr --out new-labels.zarr",
    "mdh-dask drift new.npy --model model.zarr",
    "mdh-dask fit gone.npy --out labels.zarr",
)

WIDTH, LINE, MARGIN = 140, 18, 16
"""Characters of a line, and pixels between lines and around them."""


def main(picture: str) -> None:
    """Run the commands in a new folder on made rows, and write what they print."""
    with TemporaryDirectory() as folder:
        rows = np.asarray(gaussian_mixture(20_000, 10, 5, sd=1.0, random_state=0)[0].compute())
        np.save(f"{folder}/features.npy", rows)
        np.save(f"{folder}/new.npy", rows[:1000])
        lines = [line for command in COMMANDS for line in (f"$ {command}", *output_of(command, folder), "")]
    Path(picture).write_text(drawn(lines[:-1]), encoding="utf-8")


def output_of(command: str, folder: str) -> list[str]:
    """Return the lines that a command leaves on a terminal, with the folder as ``~``."""
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": places, "COLUMNS": str(WIDTH)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    real = os.path.realpath(folder)
    return [
        shown(line.replace(real, "~").replace(folder, "~")) for line in done.stdout.decode().rstrip("\n").split("\n")
    ]


def shown(line: str) -> str:
    """Return what is seen of a line: the text after its last return, without colours and dates."""
    line = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip("\r").rpartition("\r")[2]
    return re.sub(r"^\d{4}-\d\d-\d\d ", "", line)


def drawn(lines: Sequence[str]) -> str:
    """Return lines as an SVG; long ones are broken."""
    broken = [line[i : i + WIDTH] for line in lines for i in range(0, max(len(line), 1), WIDTH)]
    height = LINE * len(broken) + 2 * MARGIN
    texts = "\n".join(
        f'<text class="{"command" if line[:2] == "$ " else "output"}" x="{MARGIN}" y="{MARGIN + LINE * (i + 0.75):g}">'
        f"{escape(line)}</text>"
        for i, line in enumerate(broken)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{8 * WIDTH + 2 * MARGIN}" height="{height}">\n'
        "<style>rect{fill:#1d1f21}text{font:13px monospace;fill:#c5c8c6;white-space:pre}"
        ".command{fill:#8abeb7}</style>\n"
        f'<rect width="100%" height="100%" rx="8"/>\n{texts}\n</svg>\n'
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
