"""Repositories of Icechunk, Zarr stores with versions, and fingerprints of what is stored, which change with it."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from .._errors import SettingError
from .._locations import hiding_credentials, missing, name_of, without_query
from .._process import needed
from .paths import CHANGES, REPOSITORY, filesystem, local_path, reaching

ABOUT = "mdh_dask"
"""The key of what this package says in the metadata of a commit."""


class Revision(NamedTuple):
    """A branch, tag or snapshot of a repository, and the path of an array or group in it."""

    repository: str
    name: str
    path: str

    def __str__(self) -> str:
        return f"{REPOSITORY}{self.repository}@{self.name}/{self.path}".rstrip("/")

    @property
    def outside(self) -> str:
        """Return a path or URL beside the repository, of the array or group alone."""
        return f"{self.repository}-{self.path.replace('/', '-')}"

    def hidden(self, what: str) -> str:
        """Return a hidden path or URL beside the repository."""
        parent, slash, name = self.outside.rpartition("/")
        return f"{parent}{slash}.{name}.{what}"


def revision_of(location: object) -> Revision | None:
    """Return what the location of a repository names; None for any other location.

    Examples
    --------
    >>> revision_of("icechunk::s3://bucket/repo@v1/embeddings")
    Revision(repository='s3://bucket/repo', name='v1', path='embeddings')
    >>> revision_of("icechunk::file:///data/repo").name
    'main'
    """
    if not isinstance(location, str) or not location.startswith(REPOSITORY):
        return None
    place, at, rest = location.removeprefix(REPOSITORY).rpartition("@")
    name, _, path = rest.partition("/") if at else ("main", "", "")
    return Revision(place if at else rest, name, path)


def pinned(location: str) -> str:
    """Return the location of a repository with the snapshot in place of a branch or tag; others stay as they are."""
    revision = revision_of(location)
    if revision is None:
        return location
    snapshot = store_of(revision).session.snapshot_id
    return str(revision._replace(name=snapshot))


def store_of(revision: Revision) -> Any:
    """Open a repository at a revision; return a Zarr store that only reads, and can be sent to workers.

    Credentials come from the environment. A FileNotFoundError says that there is no such repository.
    """
    icechunk = needed("icechunk", "icechunk")
    repository = open_repository(revision.repository)
    tags, branches = sorted(repository.list_tags()), sorted(repository.list_branches())
    kinds = [kind for kind, names in (("tag", tags), ("branch", branches)) if revision.name in names]
    if len(kinds) > 1:
        raise ValueError(
            f"expected a name of one revision of {revision.repository}; got {revision.name}, a tag and a branch: give "
            "the snapshot"
        )
    if kinds == ["branch"]:
        return repository.readonly_session(snapshot_id=_latest(repository, revision)).store
    try:
        return repository.readonly_session(**{kinds[0] if kinds else "snapshot_id": revision.name}).store
    except (icechunk.NotFoundError, icechunk.InvalidInputError) as error:
        raise ValueError(
            f"expected a branch ({', '.join(branches)}), tag ({', '.join(tags) or 'none'}) or snapshot of "
            f"{revision.repository}; got {revision.name}"
        ) from error


def open_repository(place: str, create: bool = False) -> Any:
    """Return the repository at a path or URL, or raise a FileNotFoundError unless it is to be created."""
    icechunk, folder = needed("icechunk", "icechunk"), local_path(place)
    icechunk.set_logs_filter(os.environ.get("ICECHUNK_LOG", "icechunk=error"))  # it warns of local folders at each use
    storage = _storage(icechunk, place)
    if create:
        return icechunk.Repository.open_or_create(storage)
    try:
        if folder is None or folder.is_dir():
            return icechunk.Repository.open(storage)
    except icechunk.RepositoryNotFoundError:
        pass
    raise FileNotFoundError(f"there is no Icechunk repository at {place}; check the path")


def check_branch(revision: Revision) -> None:
    """Raise a SettingError unless a commit can be made to a revision, a branch; a new repository has one, main."""
    branches = {"main"}
    with suppress(FileNotFoundError):
        branches = open_repository(revision.repository).list_branches()
    if revision.name not in branches:
        raise SettingError(
            f"expected a branch of {revision.repository}, {' or '.join(sorted(branches))}, to commit to; got "
            f"{revision.name}: name a branch"
        )


def _latest(repository: Any, revision: Revision) -> str:
    """Return the latest snapshot of a branch, apart from those in which this package has written other nodes only.

    So an input is the same after its labels have been committed beside it.
    """
    for snapshot in repository.ancestry(branch=revision.name):
        written = snapshot.metadata.get(ABOUT, {}).get("nodes")
        if written is None or any(_overlap(revision.path, own) for own in written):
            break
    return str(snapshot.id)


def _overlap(path: str, other: str) -> bool:
    one, two = (PurePosixPath("/", part) for part in (path, other))
    return one.is_relative_to(two) or two.is_relative_to(one)


def snapshot_of(store: Any) -> str:
    """Return the snapshot at which a Zarr store is read, empty if it has no versions."""
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
        f"@tag; got {REPOSITORY}{place}: open a session in Python for others"
    )


METADATA = ("zarr.json", ".zarray", ".zattrs", ".zmetadata")


@hiding_credentials()
def fingerprint(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fingerprint of a file or folder, or of several files with an asterisk, from one listing.

    ``"objects"`` and ``"bytes"`` are the numbers of stored objects and bytes; ``"metadata"`` is a digest of Zarr's
    metadata files, ``"listing"`` of all names, sizes and entity tags or, without these, times of modification: a file
    replaced by its copy counts as changed. That of an Icechunk repository is its ``"snapshot"``.
    """
    if (revision := revision_of(source)) is not None:
        return {"snapshot": store_of(revision).session.snapshot_id}
    store, root = filesystem(source)
    store.invalidate_cache()
    try:
        with reaching(source):
            objects = _objects(store, root)
    except FileNotFoundError as error:  # of HTTP; it has no words of its own
        raise missing(source) from error
    listing, metadata = hashlib.sha256(), hashlib.sha256()
    for name in sorted(objects):
        about = objects[name]
        changes = next((str(about[key]) for key in CHANGES if about.get(key) is not None), None)
        listing.update(json.dumps([name.removeprefix(root), about.get("size"), changes]).encode())
        if name.rpartition("/")[2] in METADATA:
            metadata.update(store.cat_file(name))
    return {
        "objects": len(objects),
        "bytes": sum(about.get("size") or 0 for about in objects.values()),
        "metadata": metadata.hexdigest(),
        "listing": listing.hexdigest(),
    }


def _objects(store: Any, root: str) -> dict[str, Any]:
    """Return the properties of a file, of all files in a folder, or of those that match a pattern."""
    if "*" in without_query(root):
        return store.glob(root, detail=True)
    if "http" in store.protocol and PurePosixPath(name_of(root)).suffix not in ("", ".zarr"):
        # Listing an HTTP URL would read all of it to search for links.
        return {root: store.info(root)}
    return store.find(root, detail=True)
