"""Trees with the settings of the publications; each function takes other parameters of `DivisiveClustering`."""

from typing import Any

from mdh_dask import (
    DivisiveClustering,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    KernelPCAFeatures,
    MinimumDensityHyperplane,
    ProjectionPursuitTree,
    RandomProjectionTree,
)

OF_PURSUITS: dict[str, Any] = {
    "starts": "pca2", "alpha_max": 1.0, "alpha": 1.0, "bandwidth": "principal",
    "threshold_rule": "minimum_density", "stop_rule": "hold-out-uniform", "n_candidates": 2, "min_cluster_size": 1,
    "min_relative_depth": 0.0, "sample_size": 100_000,
}  # fmt: skip
"""Parameters of the thesis, with pursuits on at most this many rows of a branch."""


def random_projections(n_projections: int = 1000, **changes: Any) -> DivisiveClustering:
    """Return the tree of the thesis, sections 6.1 to 6.3.1, with 100, 500 or 1000 directions there.

    They are uniform on the sphere and the same for all branches. The best of all by the criterion is split at its
    deepest valley, if that is deeper than in as many uniform rows as there are in all. The text does not bound
    thresholds, and so splits off many tails; here ``alpha=1``, as for the hyperplanes of its chapter 4.
    """
    of_thesis: dict[str, Any] = {
        "projection": "uniform_sphere", "criterion_first": True, "fixed_directions": True, "order": "criterion",
        "stop_rule": "fixed", "n_candidates": 1, "min_cluster_size": 1, "min_relative_depth": 0.0, "alpha": 1.0,
        "sample_size": None,
    }  # fmt: skip
    return RandomProjectionTree(n_projections=n_projections).as_divisive(**of_thesis | changes)


def mdh(**changes: Any) -> DivisiveClustering:
    """Return the tree of the thesis, algorithms 1 and 2: two pursuits, tested against uniform rows on held-out rows."""
    return HierarchicalMDH().as_divisive(**OF_PURSUITS | changes)


def kernel_mdh(**changes: Any) -> DivisiveClustering:
    """Return the tree of the thesis, algorithm 4; algorithm 5 with ``feature_map="local_scaling"``."""
    features = KernelPCAFeatures(kernel="local_scaling", variance=1.0)
    return HierarchicalKernelMDH().as_divisive(**OF_PURSUITS | {"feature_map": features, "merge": False} | changes)


def hyperplane(**changes: Any) -> MinimumDensityHyperplane:
    """Return the hyperplane of JMLR 17(156), section 5.1.1, on all of at most 100,000 rows."""
    return MinimumDensityHyperplane(**{"starts": "pca2", "alpha_max": 0.9, "sample_size": 100_000} | changes)


def projection_pursuit(max_clusters: int | None = None, **changes: Any) -> DivisiveClustering:
    """Return the tree of TR-2003009 with its test (section 3.3.6), or with the known number of clusters (3.3.1).

    The test, which the report used, splits nearly every cloud; the number of the classes gives the accuracies it
    reports, or better (``python -m tests.benchmarks hppc``).
    """
    of_paper: dict[str, Any] = {"whiten": False, "min_cluster_size": 1, "sample_size": 100_000}
    if max_clusters is None:
        of_paper |= {"stop_rule": "null", "quantile": 0.995}
    else:
        of_paper |= {"stop_rule": "known-number", "order": "criterion", "max_clusters": max_clusters}
    return ProjectionPursuitTree().as_divisive(**of_paper | changes)
