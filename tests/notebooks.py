"""Run notebooks and keep what they show: ``python -m tests.notebooks [NAME]...``, by default all of them."""

import re
import tempfile
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path

import click
import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).parent.parent / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))

PICTURE = 60_000
"""Bytes of a picture that is kept, at most."""
NOTEBOOK = 250_000
"""Bytes of all pictures of a notebook, at most."""
WIDTH = 1000
"""Pixels across a picture that is kept, at most: about what a page shows."""
TEXT = 3000
"""Characters of a text that is kept, at most."""

MACHINE = re.compile(r"(?<![\w.:/])/(home|root|Users|work|tmp|mnt|data)/|[A-Z]:\\")
"""The beginning of a path that only one machine has."""
RUN = re.compile(rf"{MACHINE.pattern}|\w+://|\b(\d+\.){{3}}\d+\b|\bseconds\b|\b\d+(\.\d+)? ?m?s\b|\d\d:\d\d|Warning: ")
"""What differs from run to run: a path, an address, a time, a warning."""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice([path.stem for path in PATHS]))
def main(names):
    """Run the notebooks of these names and write what they show into them."""
    for path in (path for path in PATHS if not names or path.stem in names):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            executed(notebook, folder)
        keep(notebook)
        nbformat.write(notebook, path)
        click.echo(f"{path.name}: {sum(map(size, pictures(notebook))):,} bytes of pictures")


def executed(notebook, folder, timeout=1800):
    """Run a notebook in a process and a folder of its own, a cell for at most so many seconds."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=timeout, kernel_name="python3", resources=resources).execute()


def keep(notebook):
    """Leave nothing of a run in a notebook but small pictures and short texts."""
    cells, limit = code(notebook), PICTURE
    shown = [cell.outputs for cell in cells]
    for cell in cells:
        cell.execution_count, tags = None, cell.metadata.get("tags")
        cell.metadata = nbformat.NotebookNode({"tags": tags} if tags else {})
        cell.outputs = kept(cell.outputs)
    notebook.metadata.language_info = nbformat.NotebookNode(name="python")
    while (total := sum(map(size, pictures(notebook)))) > NOTEBOOK:
        limit = min(limit * 9 // 10, limit * NOTEBOOK // total)
        for cell, outputs in zip(cells, shown, strict=True):
            cell.outputs = kept(outputs, limit)


def code(notebook):
    """Return the cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def pictures(notebook):
    """Return the pictures that a notebook shows, in base64."""
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    return [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def size(picture):
    """Return the bytes of a picture in base64."""
    return len(b64decode(picture))


def kept(outputs, limit=PICTURE):
    """Return the outputs that a notebook is kept with: small pictures, and short texts that any machine would print."""
    small = []
    for output in filter(None, (_kept(output, limit) for output in outputs)):
        if small and small[-1].output_type == output.output_type == "stream":
            output = nbformat.v4.new_output("stream", name="stdout", text=small.pop().text + output.text)
        small.append(output)
    return small


def _kept(output, limit):
    data = output.get("data", {})
    if "image/png" in data:
        return nbformat.v4.new_output("display_data", {"image/png": _small(data["image/png"], limit)})
    text = output.get("text", data.get("text/plain", ""))
    if not text or output.get("name") == "stderr" or len(text) > TEXT or RUN.search(text):
        return None
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=text)
    return nbformat.v4.new_output("execute_result", {"text/plain": text}, execution_count=None)


def _small(picture, limit):
    """Return a picture in base64 of at most `limit` bytes: as it is if it fits, else with fewer colours and pixels."""
    picture = picture.replace("\n", "")
    whole = Image.open(BytesIO(b64decode(picture)))
    if size(picture) <= limit and whole.width <= WIDTH:
        return picture
    white = Image.new("RGBA", whole.size, "white")
    opaque = Image.alpha_composite(white, whole.convert("RGBA")).convert("RGB")
    width = min(WIDTH, opaque.width)
    while True:
        resized = opaque.resize((width, round(opaque.height * width / opaque.width)), Image.Resampling.LANCZOS)
        file = BytesIO()
        resized.quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        if len(file.getvalue()) <= limit:
            return b64encode(file.getvalue()).decode()
        width = int(width * min(0.9, (limit / len(file.getvalue())) ** 0.5))


if __name__ == "__main__":
    main()
