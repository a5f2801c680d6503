"""Staged Zarr arrays and groups that are copied to an Icechunk repository, in one commit."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple

import dask.array as da
import zarr

from .._locations import all_redacted
from .._process import needed
from .._typing import AnyArray
from ..chunks import Statistic, reduce_rows
from .nodes import copy_objects, find_node, keys_of, remove_node
from .paths import local_path
from .repositories import ABOUT, Revision, open_repository
from .staging import locked, remove_array

logger = logging.getLogger(__name__)

KEYS_OF_A_TASK = 16


class Staged(NamedTuple):
    """A node to commit."""

    place: str
    """Path or URL of the complete array or group, outside of the repository."""
    replace: bool
    """Whether it may replace a node of the same path."""


class Branch(NamedTuple):
    """A branch of a repository."""

    repository: str
    name: str = "main"


@dataclass(frozen=True)
class CopyChunks(Statistic):
    """Copy stored objects, given by their numbers, to a session's fork; the value is the fork with all their records.

    Every task writes to a fork of its own, as workers share none.
    """

    source: Any = field(repr=False)
    """The store of the staged node."""
    fork: Any = field(repr=False)
    keys: tuple[tuple[str, str], ...] = field(repr=False)
    """Keys in the store, and in the repository."""

    # The records of another attempt belong to another session.
    journalled = False

    def chunk(self, start: int, *blocks: AnyArray) -> Any:
        own = copy(self.fork)
        copy_objects(self.source, own.store, [self.keys[int(i)] for i in blocks[0]])
        return own

    def combine(self, left: Any, right: Any) -> Any:
        both = copy(left)
        both.merge(right)
        return both


def commit(
    branch: Branch, staged: Mapping[str, Staged], about: Mapping[str, Any], check: Callable[[], None] = lambda: None
) -> str:
    """Copy staged arrays and groups to nodes of a branch in one commit, and return the id of the snapshot.

    `about` goes to the metadata of the commit, in which it names the input and its snapshot. `check` is called last
    before the commit. Workers copy the chunks; what they write belongs to no snapshot until the commit. What others
    have committed in the meantime stays, if it concerns other nodes.

    Raises a FileExistsError if a node exists that must not be replaced; a BlockingIOError if another writer has
    committed to one of the nodes since the copy began.
    """
    icechunk, location = needed("icechunk", "icechunk"), branch.repository
    with _alone(location):
        repository = open_repository(location, create=True)
    session = repository.writable_session(branch.name)
    sources: dict[str, Any] = {path: find_node(one.place) for path, one in staged.items()}
    for path, one in staged.items():
        _create(session, path, sources[path], one.replace)
    fork = session.fork()
    for path, source in sources.items():
        # A repository holds nodes and chunks only, but not the notes that `write_rows` writes beside these.
        keys = tuple(pair for pair in _keys(source, path) if not pair[0].endswith(".json"))
        numbers = da.arange(len(keys), chunks=KEYS_OF_A_TASK)
        if keys:
            session.merge(reduce_rows(CopyChunks(source.store, fork, keys), numbers))
    metadata = {ABOUT: {"version": version("mdh_dask"), "nodes": [*staged], **all_redacted(about)}}
    check()
    try:
        with _alone(location):
            snapshot: str = session.commit(
                f"{', '.join(staged)} by mdh_dask", metadata, rebase_with=icechunk.ConflictDetector()
            )
    except icechunk.ConflictError as error:
        raise BlockingIOError(
            f"another run has committed to {' or '.join(staged)} of {location} meanwhile, and its snapshot stays: "
            "run this again to replace it"
        ) from error
    logger.info("snapshot %s of %s", snapshot, location)
    return snapshot


def committed(branch: Branch, attempt: str) -> str | None:
    """Return the snapshot that an attempt has committed, or None."""
    try:
        found = open_repository(branch.repository).ancestry(branch=branch.name)
    except FileNotFoundError:
        return None
    return next((one.id for one in found if one.metadata.get(ABOUT, {}).get("attempt") == attempt), None)


def _alone(location: str) -> Any:
    """Return a context of one process at a time: folders, unlike object stores, cannot compare and swap."""
    folder = local_path(location)
    return nullcontext() if folder is None else locked(folder.with_name(f".{folder.name}.lock"), location, wait=True)


def _create(session: Any, path: str, source: zarr.Array | zarr.Group, replace: bool) -> None:
    """Create a node and what is in it, without chunks."""
    root = zarr.open_group(session.store, mode="a")
    if path in root:
        if not replace:
            raise FileExistsError(f"the node {path} appeared while it was being written: name another")
        remove_node(session.store, path)
    if parent := path.rpartition("/")[0]:
        root.require_group(parent)
    copy_objects(source.store, session.store, [pair for pair in _keys(source, path) if pair[0].endswith("zarr.json")])


def _keys(source: zarr.Array | zarr.Group, path: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a node in its store, parents first, and in the repository."""
    for key in sorted(keys_of(source), key=lambda key: (key.count("/"), key)):
        yield key, f"{path}/{key.removeprefix(source.path).lstrip('/')}"


_OPEN: ContextVar[dict[Branch, dict[str, Staged]] | None] = ContextVar("nodes to commit", default=None)


@contextmanager
def together(about: Mapping[str, Any]) -> Iterator[dict[Branch, dict[str, Staged]]]:
    """Commit what is written to a repository in the block at its end, all in one commit; nothing after an error.

    The block gets the nodes of all blocks around it.
    """
    if (nodes := _OPEN.get()) is not None:
        yield nodes
        return
    nodes = {}
    token = _OPEN.set(nodes)
    try:
        yield nodes
        for branch, staged in nodes.items():
            commit(branch, staged, about)
    finally:
        for staged in nodes.values():
            for one in staged.values():
                remove_array(one.place)
        _OPEN.reset(token)


def add(node: Revision, place: str, replace: bool) -> None:
    """Commit a complete node, or leave that to the block around it."""
    with together({}) as nodes:
        nodes.setdefault(Branch(*node[:2]), {})[node.path] = Staged(place, replace)
