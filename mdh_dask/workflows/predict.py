"""From new data and a model to labels: of rows, or of the pixels of an image."""

from typing import Any

import numpy as np

from .._errors import SettingError
from ..estimators import load_model
from ..images import pixel_rows
from .estimates import telling_of_memory
from .fit import Cluster, write_labels
from .outputs import ImageOutputs, Outputs
from .reading import Reading, image_for_model, rows_for_model
from .segment import labelled, write_preview


def predict_features(
    path: str,
    model: str,
    reading: Reading,
    out: str,
    preview: str | None,
    *,
    overwrite: bool,
    progress: bool,
    cluster: Cluster,
) -> str:
    """Label what is at a path or URL with a saved model, of an image if it was fitted to one; return a summary."""
    estimator = load_model(model)
    if estimator.pixel_columns_ is None:
        if preview is not None:
            raise SettingError(f"{model} was fitted to rows, and not to an image: leave out preview=...")
        outputs = Outputs(out, overwrite=overwrite)
        outputs.check(path, model)
        return _rows(estimator, model, path, reading, outputs, progress, cluster)
    pictures = ImageOutputs(out, overwrite=overwrite, preview=preview)
    pictures.check(path, model)
    return _image(estimator, model, path, reading, pictures, progress, cluster)


def _rows(
    estimator: Any, model: str, path: str, reading: Reading, outputs: Outputs, progress: bool, cluster: Cluster
) -> str:
    rows = rows_for_model(estimator, model, path, reading)
    with cluster, telling_of_memory(rows, estimator):
        counts = write_labels(estimator, estimator.predict(rows), outputs, progress)
    return f"{len(rows)} rows in {np.count_nonzero(counts)} of {estimator.n_clusters_} clusters: {outputs.kept()}"


def _image(
    estimator: Any, model: str, path: str, reading: Reading, outputs: ImageOutputs, progress: bool, cluster: Cluster
) -> str:
    image, features = image_for_model(estimator, model, path, reading)
    rows = pixel_rows(image, features)
    with cluster, telling_of_memory(rows, estimator):
        seen = labelled(image, features, estimator, outputs, progress)
    write_preview(seen, outputs)
    found = f"{np.count_nonzero(seen.sizes)} of {estimator.n_clusters_} segments"
    return f"{image.shape[1]} x {image.shape[0]} pixels in {found}: {outputs.kept()}"
