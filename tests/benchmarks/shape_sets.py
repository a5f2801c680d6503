"""Generated sets in the plane with clusters of many shapes, some to decide settings and others to judge them.

Names are ``kind-rows-detail``. The settings of `DensityTree` were chosen on `DEVELOPMENT`; `JUDGING` has other kinds
and other seeds.
"""

from collections.abc import Callable, Sequence

import numpy as np

Shape = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Shape]

NOISE = -1
"""Label of rows that are in no cluster."""


def _along(rng: np.random.Generator, n: int, curves: Sequence[Callable[[np.ndarray], np.ndarray]], sd: float) -> Shape:
    """Return rows near curves, which are functions of the share of their length, as many near each."""
    y = np.arange(n) % len(curves)
    share = rng.uniform(size=n)
    rows = np.empty((n, 2))
    for i, curve in enumerate(curves):
        rows[y == i] = curve(share[y == i])
    return rows + rng.normal(0, sd, (n, 2)), y


def with_noise(rng: np.random.Generator, shape: Shape, share: float) -> Shape:
    """Add rows that are uniform in a box a tenth wider than the others."""
    X, y = shape
    n, low, high = int(share * len(X)), X.min(axis=0), X.max(axis=0)
    margin = 0.05 * (high - low)
    noise = rng.uniform(low - margin, high + margin, (n, 2))
    return np.vstack([X, noise]), np.concatenate([y, np.full(n, NOISE)])


def spirals(rng: np.random.Generator, n: int, arms: int = 2, turns: float = 1.5, sd: float = 0.02) -> Shape:
    """Return arms of one spiral, with as many rows for each piece of the length."""

    def arm(turn: float) -> Callable[[np.ndarray], np.ndarray]:
        def curve(t: np.ndarray) -> np.ndarray:
            radius = np.sqrt(0.02 + 0.98 * t)
            angle = 2 * np.pi * (turns * radius + turn)
            return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

        return curve

    return _along(rng, n, [arm(i / arms) for i in range(arms)], sd)


def moons(rng: np.random.Generator, n: int, sd: float = 0.1, pairs: int = 1) -> Shape:
    """Return pairs of half circles that reach into each other."""

    def half(up: float, dx: float) -> Callable[[np.ndarray], np.ndarray]:
        x, y = (0.0, 0.0) if up > 0 else (1.0, 0.5)
        return lambda t: np.column_stack([x + dx + np.cos(np.pi * t), y + up * np.sin(np.pi * t)])

    return _along(rng, n, [half(up, 4.0 * i) for i in range(pairs) for up in (1.0, -1.0)], sd)


def stripes(rng: np.random.Generator, n: int, gap: float, k: int = 4) -> Shape:
    """Return uniform stripes of height 0.1 and length 1.2, between which there is a gap."""
    y = rng.integers(k, size=n)
    return np.column_stack([rng.uniform(0, 1.2, n), y * (0.1 + gap) + rng.uniform(0, 0.1, n)]), y


def rings(rng: np.random.Generator, n: int, k: int = 3, sd: float = 0.08) -> Shape:
    """Return rings around each other, with as many rows for each piece of the length."""
    radius = np.arange(1.0, k + 1)
    y = rng.choice(k, n, p=radius / radius.sum())
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius[y][:, None] * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, sd, (n, 2)), y


def waves(rng: np.random.Generator, n: int, k: int = 3, gap: float = 0.5, sd: float = 0.05) -> Shape:
    """Return parallel waves."""
    return _along(rng, n, [lambda t, i=i: np.column_stack([8 * t, np.sin(8 * t) + gap * i]) for i in range(k)], sd)


def arcs(rng: np.random.Generator, n: int, k: int = 5, sd: float = 0.04) -> Shape:
    """Return curves with random bends, one in each cell of a row of a board."""
    ends = rng.uniform(0.12, 0.88, (k, 3, 2)) + np.column_stack([np.arange(k) % 3, np.arange(k) // 3])[:, None]

    def curve(p: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda t: ((1 - t) ** 2)[:, None] * p[0] + (2 * t * (1 - t))[:, None] * p[1] + (t**2)[:, None] * p[2]

    return _along(rng, n, [curve(p) for p in ends], sd)


def crosses(rng: np.random.Generator, n: int, k: int = 2, sd: float = 0.03) -> Shape:
    """Return crosses beside each other; two crossing lines are one cluster, as no valley is between them."""
    X, line = _along(
        rng, n,
        [
            lambda t, i=i, s=s: np.column_stack([2.6 * i + 2 * t - 1, s * (2 * t - 1)])
            for i in range(k)
            for s in (1, -1)
        ],
        sd,
    )  # fmt: skip
    return X, line // 2


def blobs(rng: np.random.Generator, n: int, k: int = 8, apart: float = 6.0, uneven: float = 1.0) -> Shape:
    """Return normal clouds, of which the largest has `uneven` times the rows and half the spread of the smallest."""
    share = np.geomspace(1, 1 / uneven, k)
    y = rng.choice(k, n, p=share / share.sum())
    sd = np.geomspace(1 / uneven**0.25, 1, k)
    side = int(np.ceil(k**0.5))
    centre = apart * np.column_stack([np.arange(k) % side, np.arange(k) // side]) + rng.uniform(-0.5, 0.5, (k, 2))
    return centre[y] + rng.normal(size=(n, 2)) * sd[y][:, None], y


def ellipses(rng: np.random.Generator, n: int, k: int = 4, ratio: float = 8.0, apart: float = 5.0) -> Shape:
    """Return parallel long normal clouds, turned by thirty degrees."""
    y = rng.integers(k, size=n)
    rows = rng.normal(size=(n, 2)) * [ratio, 1] + np.column_stack([rng.uniform(-3, 3, k), apart * np.arange(k)])[y]
    turn = np.array([[np.cos(np.pi / 6), np.sin(np.pi / 6)], [-np.sin(np.pi / 6), np.cos(np.pi / 6)]])
    return rows @ turn, y


def overlap(rng: np.random.Generator, n: int, apart: float, ratio: float) -> Shape:
    """Return two normal clouds, one of `ratio` times the spread of the other, `apart` times their mean spread apart."""
    y = rng.integers(2, size=n)
    sd = np.where(y == 1, 1.0, ratio)[:, None]
    return rng.normal(size=(n, 2)) * sd + np.column_stack([y * apart * (1 + ratio) / 2, 0 * y]), y


def core(rng: np.random.Generator, n: int) -> Shape:
    """Return a dense cloud in a sparse ring."""
    dense, y = rings(rng, n // 2, k=1, sd=0.12)
    return np.vstack([dense, rng.normal(0, 0.18, (n - n // 2, 2))]), np.concatenate([y, np.ones(n - n // 2, int)])


def _noisy(draw: Draw, share: float) -> Draw:
    return lambda rng, n: with_noise(rng, draw(rng, n), share)


DEVELOPMENT: dict[str, tuple[Draw, int]] = {
    **{f"spirals-{n}": (spirals, n) for n in (120, 300, 1000, 4000, 10_000)},
    "spirals-300-three": (lambda rng, n: spirals(rng, n, 3, 1.0), 300),
    "spirals-2000-noise": (_noisy(spirals, 0.1), 2000),
    **{f"moons-{n}": (moons, n) for n in (150, 500, 2000, 8000)},
    "moons-800-thin": (lambda rng, n: moons(rng, n, 0.04), 800),
    "moons-3000-noise": (_noisy(lambda rng, n: moons(rng, n, 0.07), 0.1), 3000),
    "moons-2000-pairs": (lambda rng, n: moons(rng, n, 0.09, pairs=2), 2000),
    **{f"stripes-600-{g}": (lambda rng, n, g=g: stripes(rng, n, g), 600) for g in (0.15, 0.1, 0.06)},
    **{f"stripes-5000-{g}": (lambda rng, n, g=g: stripes(rng, n, g), 5000) for g in (0.1, 0.04, 0.02)},
    "stripes-1500-noise": (_noisy(lambda rng, n: stripes(rng, n, 0.12), 0.1), 1500),
    "blobs-250": (blobs, 250),
    "blobs-800-uneven": (lambda rng, n: blobs(rng, n, 6, 6.0, 8.0), 800),
    "blobs-4000-uneven": (lambda rng, n: blobs(rng, n, 9, 6.0, 10.0), 4000),
    "blobs-3000-noise": (_noisy(lambda rng, n: blobs(rng, n, 8), 0.15), 3000),
    "core-400": (core, 400),
}
"""Sets on which settings are decided, with their numbers of rows."""

JUDGING: dict[str, tuple[Draw, int]] = {
    **{f"rings-{n}": (rings, n) for n in (200, 600, 3000)},
    "rings-9000-close": (lambda rng, n: rings(rng, n, 4, 0.17), 9000),
    "rings-1500-noise": (_noisy(rings, 0.1), 1500),
    **{f"waves-{n}": (waves, n) for n in (180, 600, 4000)},
    "waves-2000-close": (lambda rng, n: waves(rng, n, 4, 0.3, 0.04), 2000),
    "waves-2000-noise": (_noisy(waves, 0.15), 2000),
    **{f"arcs-{n}": (arcs, n) for n in (200, 700, 5000)},
    "arcs-1500-noise": (_noisy(arcs, 0.1), 1500),
    **{f"crosses-{n}": (crosses, n) for n in (200, 1000)},
    "crosses-3000-four": (lambda rng, n: crosses(rng, n, 4), 3000),
    **{f"ellipses-{n}": (ellipses, n) for n in (250, 1000, 6000)},
    "ellipses-1200-close": (lambda rng, n: ellipses(rng, n, 3, 8.0, 4.2), 1200),
    "spirals-700-judged": (lambda rng, n: spirals(rng, n, 3, 1.2, 0.025), 700),
    "moons-1000-judged": (lambda rng, n: moons(rng, n, 0.12), 1000),
    "stripes-900-judged": (lambda rng, n: stripes(rng, n, 0.08, 5), 900),
    "blobs-600-judged": (lambda rng, n: blobs(rng, n, 7, 5.5, 3.0), 600),
}
"""Sets that were not looked at while settings were decided."""


OVERLAPPING: dict[str, tuple[Draw, int]] = {
    f"overlap-{n}-{apart}-{ratio}": (lambda rng, n, a=apart, r=ratio: overlap(rng, n, a, r), n)
    for n in (1000, 4000)
    for apart in (4.0, 5.0)
    for ratio in (1.0, 2.0)
}
"""Sets on which the longest lines of slabs were decided, with their distance and ratio of spreads."""


def draw(name: str, seed: int) -> Shape:
    """Return the rows of a set and their clusters, -1 for noise."""
    sets = OVERLAPPING if name in OVERLAPPING else DEVELOPMENT | JUDGING
    make, n = sets[name]
    key = [seed, sorted(sets).index(name), int(name in JUDGING) + 2 * int(name in OVERLAPPING)]
    rng = np.random.default_rng(key)
    X, y = make(rng, n)
    order = rng.permutation(len(X))
    return X[order], y[order]
