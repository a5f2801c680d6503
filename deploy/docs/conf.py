"""The site: ``sphinx-build -W -c deploy/docs . deploy/site`` in the root of the repository (extra ``docs``).

The sources are the pages here, the guides of ``deploy`` and ``notebooks``, and the docstrings: links between them are
the same in the repository and on the site.
"""

import base64
import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.util.inspect import stringify_signature

import mdh_dask

ROOT, HERE = Path(__file__).parents[2], "deploy/docs"

project, author, version = "mdh_dask", "The mdh_dask developers", mdh_dask.__version__
project_copyright = author

root_doc = f"{HERE}/index"
include_patterns = [f"{HERE}/**", "deploy/*.md", "deploy/*/README.md", "notebooks/*", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [f"{HERE}/templates", f"{HERE}/root", "notebooks/pictures"]
templates_path = [str(ROOT / HERE / "templates")]
html_extra_path = [str(ROOT / HERE / "root")]
html_static_path, html_css_files = [str(ROOT / HERE / "static")], ["site.css"]

extensions = [
    "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.linkcode", "numpydoc", "myst_nb", "sphinx_design",
    "sphinx_copybutton",
]  # fmt: skip
html_title = project
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {f"{HERE}/{alone}": [] for alone in ("index", "install", "tutorial", "methods", "about")}
html_show_sourcelink = False

nb_execution_mode = "off"  # notebooks are kept with what they show
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "mystnb.unknown_mime_type"]  # links to files that are no pages, as job.toml

autosummary_generate = True
autodoc_default_options = {"member-order": "groupwise"}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
default_role = "autolink"


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of a module is."""
    if domain != "py" or not info["module"]:
        return None
    path = info["module"].replace(".", "/")
    path = f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"
    return f"https://github.com/mdh-dask/mdh_dask/blob/main/{path}"


def write_gallery() -> None:
    """Write the page of the gallery: a card for each notebook with its title, first sentence and first picture."""
    pictures = ROOT / HERE / "pictures"
    pictures.mkdir(exist_ok=True)
    cards = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        title, _, text = "".join(cells[0]["source"]).partition("\n")
        shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
        picture = next((data["image/png"] for data in shown if "image/png" in data), None)
        if picture:
            (pictures / f"{path.stem}.png").write_bytes(base64.b64decode(picture))
        card = [f":::{{grid-item-card}} {title.lstrip('# ')}", f":link: ../../notebooks/{path.stem}", ":link-type: doc"]
        card += [f":img-top: pictures/{path.stem}.png"] if picture else []
        sentence = re.split(r"(?<=[.?])\s", text.strip().replace("\n", " "))[0]
        cards.append("\n".join([*card, "", sentence, ":::"]))
    grid = "\n\n".join(["# Gallery", "::::{grid} 1 2 3 3\n:gutter: 3", *cards, "::::"])
    toc = "```{toctree}\n:hidden:\n:glob:\n\n../../notebooks/README\n../../notebooks/0*\n../../notebooks/1*\n```"
    (ROOT / HERE / "gallery.md").write_text(f"{grid}\n\n{toc}\n")


def write_reference() -> None:
    """Write the page of the reference: every public name with the first sentence of its docstring."""
    lines = ["Reference", "=========", ""]
    for module in ("mdh_dask", *(f"mdh_dask.{room}" for room in mdh_dask.ROOMS)):
        named = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
        public = [name for name, value in named.items() if inspect.isclass(value) or inspect.isfunction(value)]
        lines += [module, "-" * len(module), "", ".. autosummary::", "   :toctree: api", "   :nosignatures:", ""]
        lines += [*(f"   ~{module}.{name}" for name in public), ""]
    (ROOT / HERE / "reference.rst").write_text("\n".join(lines))


def escape_shapes(app: object, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Escape names that end in an underscore in shapes, as ``(n_components_,)``, which would be references."""
    lines[:] = [re.sub(r"(?<![\w`.])(\w+)_(?=[,.)])", r"\1\\_", line) for line in lines]


def own_signature(app: object, what: str, name: str, value: Any, *_: object) -> tuple[str, None] | None:
    """Show the parameters of an estimator, as Sphinx would show those of ``__new__``, which takes any."""
    if what != "class" or not hasattr(value, "get_params"):
        return None
    return stringify_signature(inspect.signature(value), show_annotation=False, show_return_annotation=False), None


def setup(app: Any) -> None:
    """Write the pages that other files hold, before Sphinx looks for pages."""
    write_gallery()
    write_reference()
    app.connect("autodoc-process-signature", own_signature)
    app.connect("autodoc-process-docstring", escape_shapes, priority=900)
