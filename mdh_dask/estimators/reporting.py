"""Reports of fitted models and rows."""

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..chunks import announced
from ..io.staging import check_file
from ..report import write_report
from .profiles import model_story
from .validation import as_rows


def why_one(model: Any) -> dict[str, str]:
    """Return the fact why there is one cluster, if there is."""
    return {"Why one cluster": model.why()} if model.n_clusters_ == 1 else {}


def write_model_report(model: Any, path: str | Path, X: Any, title: str, overwrite: bool) -> Path | str:
    """Write the report of a model and rows; see `ClusterEstimator.report`."""
    check_is_fitted(model)
    check_file(path, overwrite, "report.html")
    rows = as_rows(model, X, reset=False)
    story = model_story(model, rows, progress=announced("profiling", model.progress))
    facts: dict[str, str | dict[str, str]] = {
        "Rows": f"{rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features",
        "Method": type(model).__name__,
        "Parameters": {name: str(value) for name, value in model.get_params(deep=False).items() if name != "progress"},
        **why_one(model),
        "Passes of the fit": str(model.n_passes_),
    }
    return write_report(
        path, model.state_.tree, title=title, facts=facts, profiles=story.profiles, sample=(story.rows, story.labels),
        feature_map=getattr(model.state_, "feature_map", None), images=model.report_pictures(), overwrite=overwrite,
    )  # fmt: skip
