"""What is told about a pass: a bar that counts rows, or lines in the log."""

import logging
import re
from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest
from helpers import Added

from mdh_dask import RandomProjectionTree
from mdh_dask.chunks import Pass, announced, one_bar, progress, run


@pytest.fixture
def clock(monkeypatch):
    """A clock that only goes when it is told to."""
    now = [100.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])

    def pass_by(seconds):
        now[0] += seconds

    return pass_by


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="mdh_dask")
    return caplog


def test_a_bar_tells_rows_their_rate_and_the_time_left(capsys):
    with announced("pass 2: counting", bar=True)(10_000_000) as bar:
        bar.update(3_400_000)
        bar.refresh()
    line = capsys.readouterr().err.split("\r")[-1]
    assert re.search(r"pass 2: counting:  34%\|.*\| 3\.40M/10\.0M rows \[.* rows/s, .* left\]", line), line


def test_without_a_bar_the_log_tells_of_the_end_and_every_half_minute_before(log, clock):
    with announced("pass 2: counting", bar=False)(1000) as told:
        for rows in (100, 200, 300, 400):
            clock(20)
            told.update(rows)
    assert [record.getMessage() for record in log.records] == [
        "pass 2: counting: 300 of 1,000 rows in 40.0 s, 8 rows/s, 93 s left",
        "pass 2: counting: 1,000 of 1,000 rows in 80.0 s, 12 rows/s",
    ]


def test_records_have_fields_for_programs(log, clock):
    with announced("writing labels", bar=False)(1000) as told:
        clock(40)
        told.update(250)
    on_the_way, _ = (record.fields for record in log.records)
    assert on_the_way == {
        "pass": "writing labels",
        "rows": 250,
        "of": 1000,
        "seconds": 40.0,
        "rows_per_second": 6,
        "seconds_left": 120.0,
    }


def shares(text):
    """Return the percentages that a bar shows, one after the other."""
    return [int(share) for share in re.findall(r"(\d+)%\|", text)]


@pytest.mark.slow
def test_one_bar_covers_all_passes_of_a_plan_and_is_full_at_its_end_only(capsys):
    shown = []

    def plan():
        for number in range(120):
            yield Pass(f"look {number}", Added(len))
            shown.append(capsys.readouterr().err)

    rows = da.ones((100, 2), chunks=(50, 2))
    with dask.config.set(scheduler="synchronous"), one_bar(True):
        run(plan(), rows, announce=partial(announced, bar=True))
    last = capsys.readouterr().err
    on_the_way = shares("".join(shown))
    assert on_the_way == sorted(on_the_way)
    assert [shares(text)[-1] for text in shown[:3]] == [50, 67, 75]
    assert max(on_the_way) == 99
    assert shares(last)[-1] == 100
    assert "pass 2: look 1 done, computing" in shown[1]
    assert "".join([*shown, last]).count("\n") == 1


def test_a_fit_with_a_feature_map_is_one_bar(capsys):
    rows = np.random.default_rng(0).normal(size=(900, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0]], 450, axis=0)
    RandomProjectionTree(n_projections=20, sample_size=200, feature_map="quadratic", progress=True).fit(
        da.from_array(rows, (300, 2))
    )
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert shares(text)[-1] == 100
