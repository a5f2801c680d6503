"""Profiles of the rows in every cluster, and reports of fitted models."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._sparse import SparseRows
from .._typing import AnyArray, Integers, RowArray
from ..chunks import Progress, Statistic, Together, announced, is_dask, merge_chunks, reduce_rows
from ..growth.passes import SamplePass, sample_limit
from ..io.staging import check_file
from ..report import write_report
from ..summaries.moments import MomentPass
from ..summaries.passes import FrequencyPass
from ..summaries.profiles import Profiles, entries_of_rows, with_levels
from ..summaries.words import named
from .explaining import IN_NONE
from .parameters import check_model
from .tables import column_names


def cluster_profiles(model: Any, X: Any, *, progress: Progress | None = None) -> Profiles:
    """Return means and standard deviations of the columns in every cluster, and its differences from the others.

    Parameters
    ----------
    model : estimator
        A fitted or loaded model.
    X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
        The rows that the model was fitted to, or others.
    progress : callable, optional
        Returns the progress bar of the pass, as for `mdh_dask.chunks.reduce_rows`.

    Returns
    -------
    Profiles
        `mean`, `sd` and `difference` have shape (n_clusters, n_features) and are in the units of `X`; if the model
        labels rows -1, they come first; `top` names the
        columns in which a cluster differs most from all other rows; the levels of categorical columns take the place of
        the column, with their frequencies as means, and `lift`; `to_text` returns a table of these, and
        `to_pandas` a frame of everything.

    Notes
    -----
    One pass, after reading the first row. The result has the same bits for any chunks.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import RandomProjectionTree, cluster_profiles
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal([0, 0, 5], 1, (500, 3)), rng.normal([7, 0, 5], 1, (1500, 3))])
    >>> profiles = cluster_profiles(RandomProjectionTree().fit(X), X)
    >>> profiles.mean.round(1)
    array([[ 7. ,  0. ,  5. ],
           [-0.1,  0.1,  5. ]])
    >>> print(profiles.to_text(n_top=1))
    cluster   rows  feature   mean    sd  mean of others  difference
          0  1,500       x0    7.0   1.0           -0.13       +7.07
          1    500       x0  -0.13  0.98             7.0       -7.07
    """
    check_model(model, "cluster_profiles(model, X)")
    rows = model._read(X).array
    of_clusters, merged = moments_of(model, rows), merge_chunks(rows)
    return profiles_of(model, reduce_rows(of_clusters, model._labels_of_valid_rows(merged), merged, progress=progress))


def moments_of(model: Any, rows: RowArray) -> Statistic:
    """Return the statistic of labels and rows for profiles; reads the first row."""
    first = rows[:1].compute() if is_dask(rows) else rows[:1]
    first = first.dense() if isinstance(first, SparseRows) else first
    shift, noise = np.nan_to_num(np.asarray(first, dtype=np.float64)[0]), model.noise
    n_clusters, missing = model.n_clusters_ + noise, model.missing == "drop" or model.state_.missing
    moments = MomentPass(n_clusters, shift, lowest=-int(noise), missing=missing)
    if model.columns is None:
        return moments
    columns = tuple(np.flatnonzero(model.columns.mask("categorical")).tolist())
    n_levels = tuple(len(model.columns.levels[j]) for j in columns)
    return Together((moments, FrequencyPass(n_clusters, columns, n_levels, lowest=-int(noise))))


def profiles_of(model: Any, moments: Any) -> Profiles:
    """Return profiles with the names of the model's columns, or ``x0``, ``x1`` and so on without names."""
    names = column_names(model)
    lowest = -int(model.noise)
    if model.columns is None:
        profiles = Profiles(tuple(names), moments, lowest)
    else:
        profiles = with_levels(names, moments[0], model.columns, moments[1], lowest)
    own = named(getattr(model, "_words", ()), names) or ("",) * model.n_clusters_
    outside = LEFT_OUT if model.missing == "drop" else IN_NONE
    return replace(profiles, words=(outside,) * model.noise + own)


LEFT_OUT = "rows that lack values, left out of the fit"
"""What the label -1 means, unless it is `IN_NONE`."""

DRAWN_ROWS = 1500
"""Number of rows in the picture of a report."""


class ReportData(NamedTuple):
    """What a report shows of the rows, all from one pass."""

    profiles: Profiles
    rows: AnyArray
    """A sample of the rows."""
    labels: Integers
    """The labels of the sample."""


def report_pass(model: Any, rows: RowArray) -> Together:
    """Return the statistic of labels and rows for the data of a report; reads the first row."""
    return Together((moments_of(model, rows), SamplePass(0, sample_limit(DRAWN_ROWS, len(rows)), array=1)))


def report_data_of(model: Any, value: Any) -> ReportData:
    """Return the data of a report from the value of `report_pass`."""
    moments, drawn = value
    sample, profiles = drawn.first(DRAWN_ROWS), profiles_of(model, moments)
    labels = model._block_labels()(sample.rows)
    if model.columns is None and model.missing != "drop":
        return ReportData(profiles, sample.rows, labels)
    return ReportData(profiles, entries_of_rows(sample.rows, profiles, column_names(model), model.columns), labels)


def report_data(model: Any, rows: RowArray, *, progress: Progress | None = None) -> ReportData:
    """Return what a report shows of a model and its valid rows, in one pass after reading the first row."""
    statistic, merged = report_pass(model, rows), merge_chunks(rows)
    return report_data_of(model, reduce_rows(statistic, model._labels_of_valid_rows(merged), merged, progress=progress))


def why_one(model: Any) -> dict[str, str]:
    """Return the fact why there is one cluster, if there is, and that of other fits."""
    why = {"Why one cluster": model.why()} if model.n_clusters_ == 1 else {}
    return why if model._repeats is None else why | {model._repeats.name: str(model._repeats)}


def write_model_report(model: Any, path: str | Path, X: Any, title: str, overwrite: bool) -> Path | str:
    """Write the report of a model and rows; see `ClusterEstimator.report`."""
    check_is_fitted(model)
    check_file(path, overwrite, "report.html")
    rows = model._read(X).array
    data = report_data(model, rows, progress=announced("profiling", model.progress))
    facts: dict[str, str | dict[str, str]] = {
        "Rows": f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features",
        "Method": type(model).__name__,
        "Parameters": {name: str(value) for name, value in model.get_params(deep=False).items() if name != "progress"},
        **why_one(model),
        "Passes of the fit": str(model.n_passes_),
    }
    return write_report(
        path, model.state_.tree, title=title, facts=facts, profiles=data.profiles, sample=(data.rows, data.labels),
        feature_map=model.state_.feature_map, images=model.report_pictures(), history=model.history_,
        merges=model.merges_, overwrite=overwrite,
    )  # fmt: skip
