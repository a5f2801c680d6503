"""The checklist of the publications names tests and suites that exist."""

import re
from collections import Counter
from pathlib import Path

from benchmarks.__main__ import GROUP_OF as SUITES

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
