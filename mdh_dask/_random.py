"""Random streams keyed by what they are for, never by the chunk or worker that happens to draw them."""

import numpy as np


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the stream that belongs to ``(seed, *key)``, the same on every machine and in every order of calls.

    Parameters
    ----------
    seed : int
        The user's seed, not negative.
    *key : int
        What the stream is for, for example (path of the node, repeat); arbitrarily large, not negative.

    Examples
    --------
    >>> a, b = generator(0, 5, 1), generator(0, 5, 1)
    >>> bool(a.random() == b.random())
    True
    """
    # The length is part of the key: a seed sequence takes (0,) and (0, 0) for the same.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(key), *key])))
