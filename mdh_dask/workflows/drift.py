"""From new rows and a model to what is different."""

import logging
from collections.abc import Mapping
from time import perf_counter

from .. import __version__
from .._locations import name_of
from ..chunks import announced
from ..estimators import drift, load_model
from ..report import write_report
from ..summaries.drift import Drift
from .estimates import telling_of_memory
from .fit import Cluster
from .outputs import Outputs
from .reading import Reading, rows_for_model

logger = logging.getLogger(__name__)


def drift_of_features(
    features: str,
    model: str,
    reading: Reading,
    outputs: Outputs,
    limits: Mapping[str, float],
    progress: bool,
    cluster: Cluster,
) -> Drift:
    """Compare what is at a path or URL with the rows of a saved model, and write a report if one was asked for."""
    estimator = load_model(model)
    rows = rows_for_model(estimator, model, features, reading)
    started = perf_counter()
    with cluster as where, telling_of_memory(rows, estimator):
        found = drift(estimator, rows, **limits, progress=announced("counting", progress))
    if outputs.report:
        facts = {
            "New rows": f"{features}, {rows.shape[0]:,} rows of {rows.shape[1]} {rows.dtype} features",
            "Model": f"{model}, {type(estimator).__name__}",
            "Limits": ", ".join(f"{name} {value:g}" for name, value in limits.items()),
            "Ran on": where,
            "Time": f"{perf_counter() - started:.1f} s",
            "Software": f"mdh_dask {__version__}",
        }
        write_report(
            outputs.report, estimator.tree_, title=f"Drift of {name_of(features)}", facts=facts, drift=found,
            feature_map=getattr(estimator.feature_map_, "map_", None), overwrite=outputs.overwrite,
        )  # fmt: skip
        logger.info("report in %s", outputs.report)
    return found
