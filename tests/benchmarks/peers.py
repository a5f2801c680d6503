"""Packages to compare with, all optional: what is missing is said in the tables, with the reason."""

import warnings
from importlib import import_module

INSTALL = 'pip install -e ".[bench]"'


def why_missing(module: str) -> str | None:
    """Return why a package cannot be used, None if it can."""
    try:
        with warnings.catch_warnings(action="ignore"):
            import_module(module)
    except ModuleNotFoundError as error:
        return f"not installed: no module {error.name}; {INSTALL}"
    except Exception as error:  # a package that is there may fail in any way with newer versions of what it needs
        return f"does not import: {type(error).__name__}: {error}"
    return None
