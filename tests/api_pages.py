"""Write the reference of the public API and the gallery of notebooks: ``python -m tests.api_pages [FOLDER]``.

The pages come from docstrings and from the pictures that notebooks keep, and need no server and no network. Names in
backticks become links; `broken` lists those that name nothing.
"""

import inspect
import json
import re
import sys
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import mdh_dask
from mdh_dask.estimators.docstrings import entries, sections

ROOT = Path(__file__).parents[1]

LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Yields", "Other Parameters")

STYLE = """body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif;
line-height: 1.5; color-scheme: light dark; overflow-wrap: anywhere }
pre { white-space: pre-wrap; padding: .6rem; background: #8881 }
dd { margin-left: 1.5rem } h3 { border-top: 1px solid #8886; padding-top: .8rem } img { max-width: 100% }"""


def public() -> dict[str, Any]:
    """Return the public objects by their full names."""
    rooms = [f"mdh_dask.{room}" for room in mdh_dask.ROOMS]
    modules = {name: import_module(name) for name in ("mdh_dask", *rooms)}
    return {
        f"{module}.{name}": value
        for module, found in modules.items()
        for name in found.__all__
        if inspect.isclass(value := getattr(found, name)) or inspect.isfunction(value)
    }


def methods(value: Any) -> dict[str, Any]:
    """Return the public methods and properties of a class that this package defines and documents."""
    if not inspect.isclass(value):
        return {}
    found = {name: inspect.getattr_static(value, name) for name in dir(value) if not name.startswith("_")}
    return {
        name: member
        for name, member in found.items()
        if (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
        and inspect.getdoc(getattr(value, name))
        and str(_module(member)).startswith("mdh_dask")
    }


def _module(member: Any) -> Any:
    return getattr(member.fget if isinstance(member, property) else member, "__module__", "")


class Pages:
    """All pages, and what their texts refer to in vain.

    Parameters
    ----------
    objects : dict
        Public objects by their full names.
    """

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.broken: list[tuple[str, str]] = []
        self.places = {name.rpartition(".")[2]: f"{name}.html" for name in objects}
        self.places |= {name: f"{name}.html" for name in objects}
        for name, value in objects.items():
            short = name.rpartition(".")[2]
            self.places |= {f"{short}.{method}": f"{name}.html#{method}" for method in methods(value)}

    def linked(self, text: str, page: str) -> str:
        """Return a text as HTML, with links where backticks name something public."""

        def link(found: re.Match) -> str:
            name = found[1].removeprefix("~")
            own = f"{page.rpartition('.')[2]}.{name}"
            place = self.places.get(own) or self.places.get(name)
            if place is None and name.startswith("mdh_dask.") and not resolves(name):
                self.broken.append((page, name))
            return f'<a href="{place}"><code>{name}</code></a>' if place else f"<code>{name}</code>"

        html = re.sub(r"``(.+?)``", r"<code>\1</code>", escape(text, quote=False))
        return re.sub(r"(?<!`)`([\w.~]+)`_?(?!`)", link, html)

    def described(self, docstring: str | None, page: str) -> str:
        """Return a docstring as HTML."""
        parts = []
        for title, text in sections(docstring).items():
            parts.append(f"<h4>{title}</h4>" if title else "")
            if title == "Examples":
                parts.append(f"<pre>{escape(text)}</pre>")
            elif title == "See Also":
                parts.append(self._also(text, page))
            elif title in LISTS:
                parts.append(f"<dl>{''.join(self._entry(entry, page) for entry in entries(text).values())}</dl>")
            else:
                parts.append("".join(f"<p>{self.linked(block, page)}</p>" for block in re.split(r"\n\s*\n", text)))
        return "\n".join(parts)

    def _entry(self, entry: str, page: str) -> str:
        head, _, body = entry.partition("\n")
        return f"<dt><code>{escape(head)}</code></dt><dd>{self.linked(inspect.cleandoc(body), page)}</dd>"

    def _also(self, text: str, page: str) -> str:
        for name in entries(text):
            if name not in self.places and not resolves(name):
                self.broken.append((page, name))
        named = re.sub(r"^([\w.]+) :", r"`\1`:", text, flags=re.MULTILINE)
        return f"<p>{self.linked(named, page)}</p>"

    def page(self, name: str) -> str:
        """Return the page of a public object."""
        value, short = self.objects[name], name.rpartition(".")[2]
        parts = [f"<h1>{name}</h1><pre>{escape(short + signature(value))}</pre>", self.described(value.__doc__, name)]
        for method, member in methods(value).items():
            head = method if isinstance(member, property) else method + signature(getattr(value, method))
            parts.append(f'<h3 id="{method}"><code>{escape(head)}</code></h3>')
            parts.append(self.described(inspect.getdoc(getattr(value, method)), name))
        return document(name, "\n".join(parts))

    def index(self) -> str:
        """Return the list of all pages, with the first sentence of each."""
        lines = [
            f'<dt><a href="{name}.html"><code>{name}</code></a></dt>'
            f"<dd>{self.linked(sections(value.__doc__)[''].partition(chr(10))[0], name)}</dd>"
            for name, value in self.objects.items()
        ]
        return document("mdh_dask", f"<h1>mdh_dask</h1><dl>{''.join(lines)}</dl>")


def resolves(name: str) -> bool:
    """Return whether a dotted name is something that can be imported, or a part of it."""
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ImportError:
        if not module:
            return False
        try:
            return hasattr(import_module(module), attribute)
        except ImportError:
            outer, _, kind = module.rpartition(".")
            return resolves(module) and hasattr(getattr(import_module(outer), kind), attribute)
    return True


def signature(value: Any) -> str:
    """Return the parameters of a function or class as text, without types, which the entries have."""
    try:
        own = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in own.parameters.values() if p.name != "self"]
    return str(own.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def gallery() -> str:
    """Return the gallery: the title of every notebook and its first picture."""
    parts = ["<h1>Notebooks</h1>"]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        title = "".join(cells[0]["source"]).partition("\n")[0].lstrip("# ")
        outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
        pictures = [data["image/png"] for data in outputs if "image/png" in data]
        shown = f'<img alt="{escape(title)}" src="data:image/png;base64,{pictures[0].strip()}">' if pictures else ""
        parts.append(f"<h3>{escape(title)}</h3><p><code>notebooks/{path.name}</code></p>{shown}")
    return document("Notebooks", "\n".join(parts))


def document(title: str, body: str) -> str:
    """Return a page."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    bar = '<nav><a href="index.html">Reference</a> <a href="notebooks.html">Notebooks</a></nav>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>{bar}{body}</body></html>\n'
    )


def write(folder: Path) -> list[tuple[str, str]]:
    """Write all pages to a folder; return the references that are broken, with the page of each."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = Pages(public())
    texts = {f"{name}.html": pages.page(name) for name in pages.objects}
    texts |= {"index.html": pages.index(), "notebooks.html": gallery()}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return pages.broken


if __name__ == "__main__":
    broken = write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "deploy" / "site")
    if broken:
        sys.exit("\n".join(f"{page}: `{name}` names nothing" for page, name in broken))
