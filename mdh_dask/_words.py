"""Numbers as text."""

import math
from collections.abc import Sequence

LEAST_P = 1e-9
"""Smaller p-values are shown as such: no test of counts is right so far out."""


def full_count(n: int, noun: str) -> str:
    """Return a number with a noun in singular or plural."""
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


def short_count(n: int) -> str:
    """Return a number as text of at most six characters."""
    if n < 10_000:
        return f"{n:,}"
    digits, power = f"{n:.2e}".split("e")
    thousands = int(power) // 3
    return f"{float(digits) * 10 ** (int(power) - 3 * thousands):g}{' kMGTPE'[thousands]}"


def listed(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence."""
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def p_text(p_value: float) -> str:
    """Return a p-value as text, without digits that tests cannot have.

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-30)
    ('p = 0.031', 'p < 1e-09')
    """
    return f"p < {LEAST_P:.0e}" if p_value < LEAST_P else f"p = {p_value:.2g}"


def depth_text(depth: float) -> str:
    """Return a relative depth as text."""
    if math.isinf(depth):
        return "∞"
    if 0 < depth < 1e-3:
        return "under 0.001"
    return f"{float(f'{depth:.2g}'):,.0f}" if depth >= 9.95 else f"{depth:#.2g}"


def percent(share: float) -> str:
    """Return a share as text in per cent.

    Examples
    --------
    >>> percent(0.4567), percent(0.00123), percent(0.00001), percent(0.0), percent(1.0)
    ('45.7 %', '0.12 %', 'under 0.01 %', '0 %', '100 %')
    """
    if 0 < share < 1e-4:
        return "under 0.01 %"
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{100 * share:.1f} %" if share >= 0.01 else f"{100 * share:.2f} %"
