"""The checklist of the publications names tests and suites that exist."""

import re
from collections import Counter
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType

from benchmarks.__main__ import GROUP_OF as SUITES

import mdh_dask

TESTS = Path(__file__).parent
PAGE = TESTS / "benchmarks" / "CHECKLIST.md"
ROW = re.compile(r"^\| (\d+) \| .+ \| (works|deviates|missing)(: .+)? \| (`[^`|]+`|-) \|$", re.MULTILINE)


def test_every_item_has_a_state_that_an_existing_test_or_suite_shows():
    rows = ROW.findall(PAGE.read_text())
    assert [int(number) for number, *_ in rows] == list(range(1, 169))
    for number, state, reason, shown_by in rows:
        name = shown_by.strip("`")
        runs = name in SUITES or (re.fullmatch(r"tests/(\w+/)*test_\w+\.py", name) and (TESTS.parent / name).is_file())
        assert runs or (name == "-" and state == "missing"), number
        assert state == "works" or reason, number


def test_the_numbers_of_states_are_those_of_the_table():
    text = PAGE.read_text()
    states = Counter(state for _, state, *_ in ROW.findall(text))
    said = re.search(r"(\d+) of 168 items work, (\d+) deviate, (\d+) are missing", text)
    assert [int(n) for n in said.groups()] == [states["works"], states["deviates"], states["missing"]]


def test_a_method_without_a_docstring_overrides_one_that_has_it():
    modules = [m.name for m in walk_packages(mdh_dask.__path__, "mdh_dask.") if not m.name.endswith("__main__")]
    silent = [
        f"{cls.__module__}.{cls.__qualname__}.{name}"
        for module in modules
        for cls in vars(import_module(module)).values()
        if isinstance(cls, type) and cls.__module__ == module and not cls.__name__.startswith("_")
        for name, member in vars(cls).items()
        if not name.startswith("_") and getattr(member, "__name__", name) == name
        if isinstance(member, FunctionType | property | classmethod) and not getdoc(getattr(cls, name))
    ]
    assert not silent
