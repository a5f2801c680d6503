"""Names and numbers of tables: names of values that are no known level, short texts, and rounded means."""

from collections.abc import Collection

import numpy as np

UNKNOWN, MISSING = "(unknown)", "(missing)"
"""Names for values that are no known level, and for missing values."""


def beside(name: str, taken: Collection[str]) -> str:
    """Return a name in as many brackets as it takes to be none of those that are taken.

    Examples
    --------
    >>> beside(MISSING, ["red"]), beside(MISSING, ["red", "(missing)"])
    ('(missing)', '((missing))')
    """
    while name in taken:
        name = f"({name})"
    return name


def shortened(text: str, most: int = 40) -> str:
    r"""Return a text of one line and few characters.

    Examples
    --------
    >>> shortened("a" * 50, most=5), shortened("two\nlines")
    ('aaaa…', 'two lines')
    """
    line = " ".join(text.split()) if not text.isprintable() else text
    line = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


def as_precise(mean: float, sd: float) -> tuple[str, str]:
    """Return a mean and a standard deviation as text, rounded to two digits of the deviation.

    Examples
    --------
    >>> as_precise(1234.567, 8.9), as_precise(0.001234, 0.00021), as_precise(2.0, 0.0), as_precise(1.7e9, 60.0)
    (('1,234.6', '8.9'), ('0.00123', '0.00021'), ('2', '0'), ('1,700,000,000', '60'))
    """
    if not sd > 0 or not 1e-4 < max(abs(mean), sd) < 1e12 or sd < 1e-8:
        return f"{mean:.4g}", f"{sd:.2g}"
    digits = max(1 - int(np.floor(np.log10(sd))), 0)
    return f"{mean:,.{digits}f}", f"{sd:,.{digits}f}"
