"""Shared parameters and unique task names in Dask graphs."""

from typing import Any
from uuid import uuid4

import dask
import dask.array as da
from dask._task_spec import convert_legacy_graph
from dask.delayed import Delayed


def as_node(value: Any) -> Delayed:
    """Return a value as one node of a graph; inlined, it would be sent to the workers with every task."""
    return dask.delayed(value, name=f"shared-{uuid4().hex}", traverse=False)


def under_own_names(array: da.Array) -> da.Array:
    """Return the same array with task names that no other graph shares.

    The scheduler remembers the tasks of a persisted array. Another graph that starts with the same tasks, but was
    fused differently, would redefine them; Dask warns that this causes deadlocks (dask/dask#9888).

    Examples
    --------
    >>> x = da.ones((4, 2), chunks=2) + 1
    >>> own = under_own_names(x)
    >>> set(own.__dask_graph__()) & set(x.__dask_graph__()), float(own.sum())
    (set(), 16.0)
    """
    (array,) = dask.optimize(array)
    graph = convert_legacy_graph(dict(array.__dask_graph__()))
    suffix = f"-{uuid4().hex}"

    def own(key: Any) -> Any:
        return (key[0] + suffix, *key[1:]) if isinstance(key, tuple) else f"{key}{suffix}"

    names = {key: own(key) for key in graph}
    renamed = {names[key]: node.substitute(names, key=names[key]) for key, node in graph.items()}
    return da.Array(renamed, array.name + suffix, array.chunks, meta=array._meta)
