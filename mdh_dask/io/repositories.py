"""Repositories of Icechunk, Zarr stores with versions, which are read at a snapshot."""

import os
from typing import Any, NamedTuple

from .._packages import needed
from .paths import local_path

PREFIX = "icechunk::"
"""What begins the location of a repository, before its URL."""


class Revision(NamedTuple):
    """A branch, tag or snapshot of a repository, and the path of an array or group in it."""

    repository: str
    name: str
    path: str


def revision_of(location: object) -> Revision | None:
    """Return what the location of a repository names; None for any other location.

    Examples
    --------
    >>> revision_of("icechunk::s3://bucket/repo@v1/embeddings")
    Revision(repository='s3://bucket/repo', name='v1', path='embeddings')
    >>> revision_of("icechunk::file:///data/repo").name
    'main'
    """
    if not isinstance(location, str) or not location.startswith(PREFIX):
        return None
    place, at, rest = location.removeprefix(PREFIX).rpartition("@")
    name, _, path = rest.partition("/") if at else ("main", "", "")
    return Revision(place if at else rest, name, path)


def pinned(location: str) -> str:
    """Return the location of a repository with the snapshot in place of a branch or tag; others stay as they are."""
    revision = revision_of(location)
    if revision is None:
        return location
    snapshot = store_of(revision).session.snapshot_id
    return f"{PREFIX}{revision.repository}@{snapshot}/{revision.path}".rstrip("/")


def store_of(revision: Revision) -> Any:
    """Open a repository at a revision; return a Zarr store that only reads, and can be sent to workers.

    Credentials come from the environment.

    Raises
    ------
    FileNotFoundError
        If there is no such repository.
    ValueError
        If it has no such revision, or a branch and a tag have the same name.
    ImportError
        If Icechunk is missing.
    """
    icechunk = needed("icechunk", "icechunk")
    try:
        repository = icechunk.Repository.open(_storage(icechunk, revision.repository))
    except icechunk.RepositoryNotFoundError as error:
        raise FileNotFoundError(f"there is no Icechunk repository at {revision.repository}; check the path") from error
    tags, branches = sorted(repository.list_tags()), sorted(repository.list_branches())
    kinds = [kind for kind, names in (("tag", tags), ("branch", branches)) if revision.name in names]
    if len(kinds) > 1:
        raise ValueError(
            f"expected a name of one revision of {revision.repository}; got {revision.name}, a tag and a branch: give "
            "the snapshot"
        )
    try:
        return repository.readonly_session(**{kinds[0] if kinds else "snapshot_id": revision.name}).store
    except (icechunk.NotFoundError, icechunk.InvalidInputError) as error:
        raise ValueError(
            f"expected a branch ({', '.join(branches)}), tag ({', '.join(tags) or 'none'}) or snapshot of "
            f"{revision.repository}; got {revision.name}"
        ) from error


def snapshot_of(store: Any) -> str:
    """Return the snapshot at which a Zarr store is read, empty if it has no versions.

    Raises a ValueError for a session with changes that no snapshot holds.
    """
    session = getattr(store, "session", None)
    snapshot = getattr(session, "snapshot_id", None)
    if session is None or snapshot is None:
        return ""
    if not session.read_only:
        raise ValueError(
            "expected an Icechunk session that only reads, whose snapshot is known and which workers can share; got "
            "one that writes: commit, and open repository.readonly_session(...)"
        )
    return str(snapshot)


def _storage(icechunk: Any, place: str) -> Any:
    """Return the storage of a repository at a path or URL."""
    if (folder := local_path(place)) is not None:
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no Icechunk repository at {place}; check the path")
        return icechunk.local_filesystem_storage(str(folder))
    scheme, _, rest = place.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme in ("s3", "s3a"):
        server = os.environ.get("AWS_ENDPOINT_URL")
        return icechunk.s3_storage(
            bucket=bucket, prefix=prefix, from_env=True, endpoint_url=server, force_path_style=server is not None,
            allow_http=server is not None and server.startswith("http://"), region=os.environ.get("AWS_DEFAULT_REGION"),
        )  # fmt: skip
    if scheme in ("gs", "gcs"):
        return icechunk.gcs_storage(bucket=bucket, prefix=prefix, from_env=True)
    if scheme in ("http", "https"):
        return icechunk.http_storage(place)
    raise ValueError(
        f"expected the URL of an Icechunk repository, as icechunk::file:///folder@main or icechunk::s3://bucket/folder"
        f"@tag; got {PREFIX}{place}: open a session in Python for others"
    )
