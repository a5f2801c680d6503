"""Who is faster at equal quality."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .contestants import OURS

AS_GOOD = 0.02
"""NMI by which clusterings may differ and still count as equally good."""

COMPARED = (
    "rows", "columns", "clusters", "ours", "s", "NMI", "fastest peer as good", "its s", "its NMI",
    "ratio of medians", "ratio of least times", "of CPU times", "best NMI of a peer", "who leads",
)  # fmt: skip

OURS_LEAD = ("ours", "ours: no peer as good in the time")


def against_peers(
    case: tuple[int, ...], values: Mapping[Any, dict[str, Any]], names: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Compare each of ours that was measured with the fastest peer of which the NMI is at most 0.02 less."""
    measured = {name: values[case, name] for name in names if isinstance(values[case, name]["seconds"], float)}
    peers = {name: value for name, value in measured.items() if name not in OURS}
    best = max((value["NMI"] for value in peers.values()), default="-")
    for name, ours in measured.items():
        if name in OURS:
            line = (*case, name, ours["seconds"], ours["NMI"])
            yield *line, *_against_the_fastest(ours, peers), best, _leader(ours, peers)


def _against_the_fastest(ours: dict[str, Any], peers: dict[str, dict[str, Any]]) -> tuple[Any, ...]:
    name = _fastest_as_good(ours, peers)
    if name is None:
        return ("-",) * 6
    peer = peers[name]
    ratios = (ours[measure] / peer[measure] for measure in ("seconds", "least", "cpu"))
    return name, peer["seconds"], peer["NMI"], *ratios


def _fastest_as_good(ours: dict[str, Any], peers: dict[str, dict[str, Any]]) -> str | None:
    as_good = {name: peer["seconds"] for name, peer in peers.items() if peer["NMI"] >= ours["NMI"] - AS_GOOD}
    return min(as_good, key=as_good.__getitem__) if as_good else None


def _leader(ours: dict[str, Any], peers: dict[str, dict[str, Any]]) -> str:
    if any(peer["NMI"] > ours["NMI"] + AS_GOOD for peer in peers.values()):
        return "a peer, better"
    name = _fastest_as_good(ours, peers)
    if name is None:
        return OURS_LEAD[1]
    return OURS_LEAD[0] if ours["seconds"] <= peers[name]["seconds"] else "a peer, faster"


def lost(compared: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the lines where a peer leads."""
    return [line for line in compared if line[-1] not in OURS_LEAD]
