"""Parameters in a graph."""

from typing import Any
from uuid import uuid4

import dask
from dask.delayed import Delayed


def as_node(value: Any) -> Delayed:
    """Return a value as a node of its own: inlined into every task it would be sent to the workers once per task."""
    return dask.delayed(value, name=f"shared-{uuid4().hex}", traverse=False)
