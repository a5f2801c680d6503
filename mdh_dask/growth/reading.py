"""The first read of all rows, with which plans begin, and later passes, which small data do not need."""

from collections.abc import Callable
from typing import Any

from ..chunks import Pass, Plan, Statistic
from .passes import FirstLook, FirstPass, Sample, sample_limit, smallest_hashes


def first_read(seed: int, n_wanted: int, n_rows: int, check: Callable[[FirstLook], None]) -> Plan[FirstLook]:
    """Plan the first pass, which measures the columns and draws `n_wanted` of the rows, or all of fewer.

    Parameters
    ----------
    seed : int
        Seed of the rows' hashes.
    n_wanted, n_rows : int
    check : callable
        Raises an error if the rows cannot be clustered.
    """
    look: FirstLook = yield Pass("reading", FirstPass(seed, sample_limit(n_wanted, n_rows)))
    check(look)
    return look._replace(sample=smallest_hashes(look.sample, n_wanted))


def of_all_rows(verb: str, statistic: Statistic, sample: Sample, n_rows: int) -> Plan[Any]:
    """Plan a statistic of all rows, without a pass if the sample of a first read holds them."""
    if len(sample.rows) == n_rows:
        return statistic.finalise(statistic.chunk(0, sample.rows))
    value = yield Pass(verb, statistic)
    return value
