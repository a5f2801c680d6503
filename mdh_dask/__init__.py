"""Clustering by low-density separators for data that do not fit on one machine."""

from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import dask
import yaml

if TYPE_CHECKING:
    from .clusters import start_cluster as start_cluster
    from .ensembles.labels import consensus as consensus
    from .estimators.drift import drift as drift
    from .estimators.models import load_model as load_model
    from .estimators.profiles import cluster_profiles as cluster_profiles
    from .estimators.registry import *
    from .estimators.targets import Links as Links
    from .tree.structure import Tree as Tree

ELSEWHERE = {
    "Links": ".estimators.targets",
    "Tree": ".tree.structure",
    "cluster_profiles": ".estimators.profiles",
    "consensus": ".ensembles.labels",
    "continued": ".estimators.history",
    "drift": ".estimators.drift",
    "load_model": ".estimators.models",
    "start_cluster": ".clusters",
}
"""Modules of the public names apart from the estimators."""

ROOMS = ("clusters", "images", "io", "jobs", "kernels", "metrics", "plotting", "report", "simulate", "workflows")
"""Public subpackages."""

__version__ = "0.1.0"

# Below the values that a user has set.
dask.config.update_defaults(yaml.safe_load(files(__name__).joinpath("mdh_dask.yaml").read_text()))


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line's help starts without these imports."""
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    if name in ELSEWHERE:
        return getattr(import_module(ELSEWHERE[name], __name__), name)
    if name == "__all__":
        public = import_module(".estimators.registry", __name__).public_names()
        return sorted([*public, *ELSEWHERE])
    return import_module(".estimators", __name__).estimator_named(name, __name__, [*ELSEWHERE, *ROOMS])


def __dir__() -> list[str]:
    """Return the public names, which editors and notebooks offer to complete."""
    return sorted([*__getattr__("__all__"), *ROOMS, "__version__"])
