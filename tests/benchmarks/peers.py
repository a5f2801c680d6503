"""Packages to compare with, all optional: what is missing is said in the tables, with the reason."""

import warnings
from importlib import import_module

INSTALL = 'pip install -e ".[bench]"'

ALONE = ("automato", "evoc", "fast_hdbscan", "genieclust")
"""Packages that no extra holds: they are compared with where they are there (two are under the AGPL)."""


def why_missing(module: str) -> str | None:
    """Return why a package cannot be used, None if it can."""
    try:
        with warnings.catch_warnings(action="ignore"):
            import_module(module)
    except ModuleNotFoundError as error:
        remedy = f"pip install {module}" if module in ALONE else INSTALL
        return f"not installed: no module {error.name}; {remedy}"
    except Exception as error:  # a package that is there may fail in any way with newer versions of what it needs
        return f"does not import: {type(error).__name__}: {error}"
    return None
