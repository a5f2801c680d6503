"""The hash of the global row number: the only source of randomness for rows, and independent of the chunks."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._numba import jit, part
from .._storable import storable
from .._typing import AnyArray, Booleans, Floats, Integers

GOLDEN = 0x9E3779B97F4A7C15


@jit
def hash_rows(seed, start, n_rows):
    """Return a uniform 64-bit hash of ``(seed, row)`` for ``start <= row < start + n_rows`` (SplitMix64)."""
    hashes = np.empty(n_rows, dtype=np.uint64)
    for i in range(n_rows):
        hashes[i] = hash_of(seed, start + i)
    return hashes


@jit
def hash_numbers(seed, numbers):
    """Return the hashes of rows by their global numbers."""
    hashes = np.empty(numbers.shape[0], dtype=np.uint64)
    for i in range(numbers.shape[0]):
        hashes[i] = hash_of(seed, numbers[i])
    return hashes


@part
def hash_of(seed, number):
    """Return the hash of one row."""
    offset = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(1)
    return mixed(offset + np.uint64(number) * np.uint64(GOLDEN))


@jit
def hash_again(hashes, repeat):
    """Return further hashes of the same rows, one set for each repeat, with independent bits for any chunks."""
    again = np.empty(hashes.shape[0], dtype=np.uint64)
    for i in range(hashes.shape[0]):
        again[i] = mixed(hashes[i] + np.uint64(repeat) * np.uint64(GOLDEN))
    return again


def in_first_half(hashes: Integers, bit: int = 0) -> Booleans:
    """Return a mask of the rows in the first of two halves by a bit of their hashes."""
    return np.asarray((hashes >> np.uint64(bit)) & np.uint64(1) == 0)


@part
def mixed(z):
    """Return the bits of a word mixed, as SplitMix64 does."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@storable
class Jitter(NamedTuple):
    """Columns with a few evenly spaced values, each of which represents all numbers rounded to it."""

    columns: Integers
    """Indices of the columns, int64."""
    steps: Floats
    """Steps between neighbouring values, float64."""
    keys: Integers
    """Keys that make the random numbers of different columns independent, uint64. The last bit turns them round."""
    leaders: Integers
    """Indices of the columns that predict these, int64; -1 for columns that none predicts. Leaders among the columns
    come before those that they predict."""
    slopes: Floats
    """Slopes of the predictions, float64."""
    places: Floats
    """Predictions where the leader is zero, float64."""
    errors: Floats
    """Standard deviations of the errors of the predictions, float64."""

    def __bool__(self) -> bool:
        """Return whether there are any such columns."""
        return len(self.columns) > 0

    @staticmethod
    def completed(values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return stored fields with those that there were not before columns had leaders."""
        return _alone(np.size(values.get("columns", ()))) | dict(values)


def independent_jitter(columns: Integers, steps: Floats, keys: Integers) -> Jitter:
    """Return the jitter of columns of which none predicts another."""
    return Jitter(columns, steps, keys, **_alone(len(columns)))


def _alone(n: int) -> dict[str, AnyArray]:
    nobody = np.full(n, -1, dtype=np.int64)
    return {"leaders": nobody, "slopes": np.zeros(n), "places": np.zeros(n), "errors": np.ones(n)}


def leaders_first(jitter: Jitter) -> Jitter:
    """Return the jitter with its columns in an order in which leaders come before those that they predict."""
    led_by = {int(j): int(leader) for j, leader in zip(jitter.columns, jitter.leaders) if leader >= 0}
    depths = []
    for j in jitter.columns.tolist():
        depth, leader = 0, led_by.get(j)
        while leader is not None:
            depth, leader = depth + 1, led_by.get(leader)
        depths.append(depth)
    order = np.argsort(depths, kind="stable")
    return Jitter._make(of_columns[order] for of_columns in jitter)


NO_JITTER = independent_jitter(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.uint64))


@part
def offset_within(row_hash, key):
    """Return a uniform number on (-1/2, 1/2) from the hash of a row and the key of a column (SplitMix64)."""
    z = mixed((row_hash ^ (key >> np.uint64(1))) + np.uint64(GOLDEN))
    offset = (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52 - 0.5
    return -offset if key & np.uint64(1) else offset


@part
def jitter_tile(tile, here, start, size, hashes, jitter):
    """Spread the values of the first `size` columns of `tile`, which are the rows ``here[start : start + size]``."""
    jitter_rows(tile[:, :size].T, hashes[here[start : start + size]], jitter)


@jit
def jitter_rows(rows, hashes, jitter):
    """Spread the values of floating-point rows in place.

    All numbers that are rounded to a value are as likely, unless other columns predict some: each column is drawn from
    what its leader predicts, and then the leaders once more, by those that they lead, as a sweep of Gibbs sampling.
    """
    n, size = jitter.columns.shape[0], rows.shape[0]
    values, pulls, weights = np.empty((n, size)), np.zeros((n, size)), np.zeros(n)
    position = np.full(rows.shape[1], -1)
    for c in range(n):
        j, step, key, leader = jitter.columns[c], jitter.steps[c], jitter.keys[c], jitter.leaders[c]
        position[j] = c
        for i in range(size):
            values[c, i], share = rows[i, j], offset_within(hashes[i], key) + 0.5
            if leader < 0:
                rows[i, j] += step * (share - 0.5)
            else:
                predicted = jitter.places[c] + jitter.slopes[c] * rows[i, leader]
                rows[i, j] = within_step(values[c, i], step, predicted, jitter.errors[c], share)
    for c in range(n - 1, -1, -1):  # those that follow come before those that lead
        j, leader, slope = jitter.columns[c], jitter.leaders[c], jitter.slopes[c]
        own = 1.0 / (jitter.errors[c] * jitter.errors[c])
        if weights[c] > 0.0:
            key, weight = jitter.keys[c] + np.uint64(2), weights[c] + own if leader >= 0 else weights[c]
            for i in range(size):
                pull = pulls[c, i]
                if leader >= 0:
                    pull += own * (jitter.places[c] + slope * rows[i, leader])
                share, error = offset_within(hashes[i], key) + 0.5, 1.0 / math.sqrt(weight)
                rows[i, j] = within_step(values[c, i], jitter.steps[c], pull / weight, error, share)
        if leader >= 0 and position[leader] >= 0:
            weights[position[leader]] += own * slope * slope
            for i in range(size):
                pulls[position[leader], i] += own * slope * (rows[i, j] - jitter.places[c])


@part
def within_step(value, step, predicted, error, share):
    """Return the number that has a share of those rounded to a value on its outer side, by a logistic distribution."""
    half = step / 2
    scale = max(error * math.sqrt(3.0) / math.pi, step / 1000)  # exponentials of larger ratios overflow
    away = value - predicted
    sign = -1.0 if away > 0.0 else 1.0  # on the lower side, exponentials do not overflow
    if away > 0.0:
        share = 1.0 - share
    high, ratio = (half - abs(away)) / scale, math.exp(-step / scale)
    at_high = math.exp(high)
    below = (1.0 - share) * ratio / (1.0 + ratio * at_high) + share / (1.0 + at_high)
    offset = half + scale * math.log(below / (1.0 - at_high * below))
    return value + sign * min(max(offset, -half), half)
