"""The workflow that labels new rows, or the pixels of an image, with a model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import SettingError
from .._typing import Integers
from ..clusters.current import current_cluster
from ..clusters.suited import suited
from ..estimators.models import load_model
from ..images.rows import all_rows
from ..images.validity import Nodata
from ._fit import Cluster, check_confidence, write_labels
from .estimates import telling_of_memory
from .outputs import ImageOutputs, Outputs
from .pixels import labelled, write_preview
from .reading import MissingChunks, Reading, image_for_model, rows_for_model


def predict(
    features: str,
    model: str,
    labels: str,
    *,
    preview: str | None = None,
    confidence: str | None = None,
    columns: Sequence[str | int] | None = None,
    axes: str | None = None,
    index: Mapping[str, int] | None = None,
    missing_chunks: MissingChunks = "error",
    nodata: Nodata = None,
    mask: str | None = None,
    overwrite: bool = False,
    progress: bool = False,
    cluster: Cluster | None = None,
) -> str:
    """Label stored rows, or the pixels of an image, with a saved model, in one pass.

    Parameters
    ----------
    features : str
        Path or URL of rows, as for `fit`, where a table needs only the columns of the model; or of an image,
        if the model was fitted by `segment`.
    model : str
        Path or URL of the model.
    labels : str
        Path or URL of the output: a Zarr array of int32, shape (n_rows,), or an image of labels.
    preview : str, optional
        Path or URL of a PNG to write for an image: the segments in their mean colours.
    confidence : str, optional
        Path or URL of a Zarr array of float32, shape (n_rows,), to write for rows: how sure each label is.
    columns : sequence of str or int, optional
        As in `fit`.
    axes, index : optional
        As in `segment`.
    missing_chunks : {"error", "fill"}, default="error"
        As in `fit`.
    nodata, mask : optional
        As in `segment`; by default the `nodata` of the model.
    overwrite : bool, default=False
        Whether to replace existing outputs.
    progress : bool, default=False
        Whether to show progress bars.
    cluster : context manager, optional
        A cluster from `start_cluster`, not yet entered. By default the current Dask scheduler is used.

    Returns
    -------
    str
        One line with the number of clusters that have rows and the path of the labels.

    Raises
    ------
    ValueError
        If the columns or bands differ from those of the model, or a parameter is for the other kind of input.
    FileNotFoundError, FileExistsError
        If the input or the model is missing, or an output exists and `overwrite` is False; before any work.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mdh_dask import PCATree
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, axis=0)
    >>> with TemporaryDirectory() as folder:
    ...     PCATree().fit(X).save(f"{folder}/model.zarr")
    ...     np.save(f"{folder}/new.npy", X[:200])
    ...     predict(f"{folder}/new.npy", f"{folder}/model.zarr", f"{folder}/labels.zarr").split(":")[0]
    '200 rows in 1 of 2 clusters'
    """
    estimator = load_model(model)
    reading = Reading(missing_chunks, columns, axes, index or {}, nodata, mask)
    cluster = cluster or current_cluster()
    if estimator.pixel_columns_ is None:
        if preview is not None:
            raise SettingError(f"{model} was fitted to rows, and not to an image: leave out preview=...")
        outputs = Outputs(labels, overwrite=overwrite, confidence=confidence)
        check_confidence(estimator, outputs)
        outputs.check(features, model)
        return _rows(estimator, model, features, reading, outputs, progress, cluster)
    if confidence is not None:
        raise SettingError(f"{model} was fitted to an image, whose confidence is not written: leave out confidence=...")
    pictures = ImageOutputs(labels, overwrite=overwrite, preview=preview)
    pictures.check(features, model, *([mask] if mask else []))
    return _image(estimator, model, features, reading, pictures, progress, cluster)


def _rows(
    estimator: Any, model: str, path: str, reading: Reading, outputs: Outputs, progress: bool, cluster: Cluster
) -> str:
    rows = rows_for_model(estimator, model, path, reading)
    with suited(cluster, rows.nbytes), telling_of_memory(rows, estimator):
        counts = write_labels(estimator, estimator._labels_of_valid_rows(rows), outputs, progress, rows=rows)
    return f"{len(rows)} rows in {_found(counts, estimator, 'clusters')}: {outputs.kept()}"


def _found(counts: Integers, estimator: Any, groups: str) -> str:
    """Return how many groups have rows, and how many rows are in none if there may be any."""
    noise = int(estimator.noise)
    found = f"{np.count_nonzero(counts[noise:])} of {estimator.n_clusters_} {groups}"
    return f"{found}, {counts[0]} in none" if noise else found


def _image(
    estimator: Any, model: str, path: str, reading: Reading, outputs: ImageOutputs, progress: bool, cluster: Cluster
) -> str:
    image, features = image_for_model(estimator, model, path, reading)
    rows = all_rows(image, features)
    with suited(cluster, rows.nbytes), telling_of_memory(rows, estimator):
        seen = labelled(image, features, estimator, outputs, progress)
    write_preview(seen, outputs)
    found = _found(seen.sizes, estimator, "segments")
    if seen.n_without:
        found += f", {seen.n_without} without data"
    return f"{image.shape[1]} x {image.shape[0]} pixels in {found}: {outputs.kept()}"
