"""Numbers for monitors, as text in the format OpenMetrics, which Prometheus and node_exporter read."""

import json
import re
from collections.abc import Mapping
from http.client import HTTPException
from urllib.request import Request, urlopen

from .._locations import redacted
from .staging import write_file

TIMEOUT = 10
"""Seconds to wait for a Pushgateway."""


def as_openmetrics(
    values: Mapping[str, float], about: Mapping[str, str], labels: Mapping[str, str], prefix: str
) -> str:
    """Return values as gauges with the same labels, whose names have a prefix; only those that `about` describes."""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    lines = []
    for name, text in about.items():
        if name in values:
            lines += [f"# TYPE {prefix}{name} gauge", f"# HELP {prefix}{name} {text}"]
            lines.append(f"{prefix}{name}{{{pairs}}} {values[name]:.17g}")
    return "\n".join([*lines, "# EOF", ""])


def is_gateway(place: str) -> bool:
    """Return whether metrics are pushed to a Pushgateway: its URL has http or https, where no file can be written."""
    return place.startswith(("http://", "https://"))


def write_metrics(place: str, text: str) -> None:
    """Write metrics to a file, which is replaced, or push them to a Pushgateway, which keeps those not in `text`."""
    if not is_gateway(place):
        write_file(place, text, overwrite=True)
        return
    try:
        with urlopen(Request(place, text.encode(), {"Content-Type": "text/plain"}), timeout=TIMEOUT) as answer:
            answer.read()
    except (HTTPException, ValueError) as error:  # their texts may repeat the URL with its password
        raise OSError(f"metrics were not pushed to {redacted(place)}: {type(error).__name__}") from None
    except OSError as error:
        raise OSError(f"metrics were not pushed to {redacted(place)}: {getattr(error, 'reason', error)}") from error


def read_gauges(text: str, about: Mapping[str, str], prefix: str) -> tuple[dict[str, float], dict[str, str]]:
    r"""Return the values in text from `as_openmetrics` by their names, others left out, and the labels of the first."""
    if not text.endswith("# EOF\n"):
        raise ValueError("expected # EOF at the end of metrics; got other text")
    found = re.findall(rf"^{prefix}(\w+){{(.*)}} (.*)$", text, re.MULTILINE)
    pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[0][1]) if found else []
    labels = {name: json.loads(f'"{value}"', strict=False) for name, value in pairs}  # which escapes as JSON does
    return {name: float(value) for name, _, value in found if name in about}, labels


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
