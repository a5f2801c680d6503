"""Numbers for monitors, as text in the format OpenMetrics, which Prometheus and node_exporter read."""

import re
from collections.abc import Mapping


def as_openmetrics(
    values: Mapping[str, float], about: Mapping[str, str], labels: Mapping[str, str], prefix: str
) -> str:
    r"""Return gauges as text.

    Parameters
    ----------
    values : mapping of str to float
        Values by name.
    about : mapping of str to str
        What the values are, by name; values of other names are left out.
    labels : mapping of str to str
        Labels of every gauge.
    prefix : str
        Beginning of every name.

    Examples
    --------
    >>> print(as_openmetrics({"rows": 7}, {"rows": "Number of rows."}, {"job": "a"}, "mdh_"), end="")
    # TYPE mdh_rows gauge
    # HELP mdh_rows Number of rows.
    mdh_rows{job="a"} 7
    # EOF
    """
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    lines = []
    for name, text in about.items():
        if name in values:
            lines += [f"# TYPE {prefix}{name} gauge", f"# HELP {prefix}{name} {text}"]
            lines.append(f"{prefix}{name}{{{pairs}}} {values[name]:.17g}")
    return "\n".join([*lines, "# EOF", ""])


def read_gauges(text: str, about: Mapping[str, str], prefix: str) -> dict[str, float]:
    """Return the values in text from `as_openmetrics` by their names; others are left out.

    Examples
    --------
    >>> about = {"rows": "Number of rows."}
    >>> read_gauges(as_openmetrics({"rows": 7}, about, {}, "mdh_"), about, "mdh_")
    {'rows': 7.0}
    """
    found = re.findall(rf"^{prefix}(\w+){{.*}} ([-+.\w]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found if name in about}


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
