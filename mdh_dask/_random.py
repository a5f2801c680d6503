"""Random streams keyed by their purpose, never by the chunk or worker that draws from them."""

import numpy as np


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the stream of ``(seed, *key)``, the same on every machine and in any order of calls.

    Parameters
    ----------
    seed : int
        The user's non-negative seed.
    *key : int
        Non-negative integers of any size for the purpose, for example (path of the node, repeat).

    Examples
    --------
    >>> a, b = generator(0, 5, 1), generator(0, 5, 1)
    >>> bool(a.random() == b.random())
    True
    """
    # The length is part of the key, as a seed sequence gives (0,) and (0, 0) the same stream.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, len(key), *key])))
