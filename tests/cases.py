"""Every estimator and feature map of the registry with quick settings, rows for them, and one fit of each."""

from functools import cache

import numpy as np

from mdh_dask import (
    AffinityFeatures,
    BisectingKernelKMeans,
    ConsensusClustering,
    DensityTree,
    DivisiveClustering,
    GowerFeatures,
    HierarchicalKernelMDH,
    HierarchicalMDH,
    HierarchicalSpectral,
    KernelKMeans,
    KernelPCAFeatures,
    NormalisedCutTree,
    PCATree,
    RandomProjectionTree,
    SupportVectorClustering,
)
from mdh_dask.estimators.mapped import transformers
from mdh_dask.estimators.registry import CLASSIFIERS, all_estimators
from mdh_dask.io import codec

MAPS = transformers()
ESTIMATORS = all_estimators()
CLASSES = ESTIMATORS | MAPS

QUICK = {
    "DivisiveClustering": {"n_projections": 60},
    "RandomProjectionTree": {"n_projections": 60},
    "ProjectionPursuitTree": {"n_projections": 20},
    "ICATree": {"n_projections": 3},
    "HierarchicalMDH": {"starts": "pca2"},
    "HierarchicalKernelMDH": {"starts": "pca2"},
    "MinimumDensityHyperplane": {"starts": "pca2"},
    "ConsensusClustering": {"n_trees": 2, "estimator": [RandomProjectionTree(n_projections=60), PCATree()]},
    "HyperplaneEnsemble": {"n_hyperplanes": 6},
    "BisectingKernelKMeans": {"feature_map": None},
    "HierarchicalSpectral": {"feature_map": AffinityFeatures(n_landmarks=100, n_components=20)},
    "KernelKMeans": {"n_clusters": 3},
    "SpectralClustering": {"n_clusters": 3, "n_landmarks": 100},
    "KernelPCAFeatures": {"n_landmarks": 60, "n_components": 4},
    "GowerFeatures": {"n_landmarks": 60},
    "MultidimensionalScaling": {"n_landmarks": 60},
    "SpectralFeatures": {"n_landmarks": 60},
    "AffinityFeatures": {"n_landmarks": 60},
}
"""Parameters that make a fit take milliseconds, by name of the class."""


def new(name, **parameters):
    """Return an unfitted estimator or feature map with quick settings."""
    return CLASSES[name](**QUICK.get(name, {}) | parameters)


@cache
def groups():
    """Return 240 rows of three groups in three columns, with zeros, and the group of each."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 80)
    rows = np.array([[0.0, 0, 0], [7, 0, 7], [0, 8, 0]])[group] + rng.normal(size=(240, 3))
    rows = np.where(np.abs(rows) < 0.7, 0.0, rows)
    rows.flags.writeable = group.flags.writeable = False
    return rows, group


@cache
def some_labels():
    """Return the labels of some of these rows, of two classes, and -1 for the others."""
    labels = np.where(np.arange(240) % 9, -1, np.minimum(groups()[1], 1))
    labels.flags.writeable = False
    return labels


def fit(model, rows, labels=None, **more):
    """Fit to rows, of which a classifier gets the labels of some."""
    if type(model) in CLASSIFIERS.values():
        return model.fit(rows, some_labels() if labels is None else labels)
    return model.fit(rows, **more)


@cache
def fitted(name, **parameters):
    """Return the model of `groups`, one for all tests of a process: do not change it."""
    return fit(new(name, **parameters), groups()[0])


RP = {"n_projections": 60}

VARIANTS = {
    "refined": DivisiveClustering(**RP, refine=True),
    "merged": RandomProjectionTree(**RP, merge=True),
    "of all rows": DivisiveClustering(**RP, sample_size=None),
    "directions of workers": DivisiveClustering(**RP, sample_size=None, projection="achlioptas"),
    "fixed directions": DivisiveClustering(
        projection="uniform_sphere", n_projections=4, n_candidates=4, fixed_directions=True, scale=False,
        stop_rule="level",
    ),
    "several criteria": DivisiveClustering(**RP, criterion=["relative_depth", "dip"]),
    "fixed quantile": DivisiveClustering(**RP, stop_rule="fixed", criterion="dip"),
    "unscaled, bounded": DivisiveClustering(**RP, scale=False, alpha=2.0, bandwidth="silverman"),
    "gaps": DivisiveClustering(
        projection="kurtosis", n_projections=8, criterion="kurtosis", threshold_rule="spacing", stop_rule="spacing"
    ),
    "untested cuts": NormalisedCutTree(max_clusters=4).as_divisive(stop_rule="none", order="criterion"),
    "centroids of features": BisectingKernelKMeans(max_clusters=4),
    "affinities": HierarchicalSpectral(
        max_clusters=4, feature_map=AffinityFeatures(n_landmarks=100, n_components=30)
    ),
    "products": RandomProjectionTree(**RP, feature_map="products"),
    "local scaling": RandomProjectionTree(**RP, feature_map="local_scaling"),
    "features without a cache": RandomProjectionTree(**RP, feature_map="rbf", cache=None),
    "pairs of Gower": HierarchicalMDH(starts="pca2", feature_map=GowerFeatures(missing="pairs")),
    "explicit Gower": HierarchicalMDH(starts="pca2", feature_map=GowerFeatures(method="explicit")),
    "kernel of Gower": HierarchicalKernelMDH(starts="pca2", feature_map=KernelPCAFeatures(kernel="gower")),
    "means for missing values": RandomProjectionTree(**RP, missing="mean"),
    "rows without missing values": RandomProjectionTree(**RP, missing="drop"),
    "density tree with rows outside": DensityTree(unclassified="leave", share_outside=0.03),
    "contours with rows outside": SupportVectorClustering(width=1.0, share_outside=0.1, unclassified="leave"),
    "consensus of maps": ConsensusClustering(
        estimator=[RandomProjectionTree(n_projections=5, feature_map="products"), HierarchicalKernelMDH(starts="pca2")],
        n_trees=3,
    ),
    "number of centroids by gaps": KernelKMeans(),
}  # fmt: skip
"""Settings whose passes or states are others than those of the defaults."""

FORMS = {
    "rows with integers": np.rint,
    "rows of two values": lambda rows: (rows > 3).astype(float),
    "rows with far ones": lambda rows: np.concatenate([rows, np.full((1, 3), 1e6), [[0, 5000, 0]] * 3]),
    "rows of few distinct ones": lambda rows: np.repeat(rows[::3], 3, axis=0),
}
"""Other rows, on which three kinds of methods are tested."""


def variants():
    """Yield a name, an unfitted model, rows and what else is given to `fit`, for each variant."""
    rows = groups()[0]
    gaps = np.where(np.random.default_rng(1).random(rows.shape) < 0.05, np.nan, rows)
    for name, model in VARIANTS.items():
        yield name, model, gaps if "missing" in name or "Gower" in name else rows, {}
    for form, change in FORMS.items():
        for name in ("RandomProjectionTree", "HierarchicalMDH", "DensityTree"):
            yield f"{name}, {form}", new(name), change(rows), {}
    for name in ("RandomProjectionTree", "HierarchicalMDH"):
        yield f"{name}, some labels", new(name), rows, {"y": some_labels()}
    for name in (
        "RandomProjectionTree", "HierarchicalMDH", "HierarchicalKernelMDH", "DensityTree", "SupportVectorClustering",
        "HyperplaneEnsemble", "ConsensusClustering",
    ):  # fmt: skip
        yield f"{name}, groups of rows", new(name), rows, {"groups": np.arange(240) % 80}


OF_ROWS = ("boundary_distance", "confidence", "score_samples", "outliers", "predict_proba")
"""What estimators may know of single rows; the last is a parameter of some."""


def results(model, rows):
    """Return labels, or features, and all else that a model knows of rows, by name, as arrays in memory."""
    if hasattr(model, "transform"):
        return {"features": np.asarray(model.transform(rows))}
    known = [name for name in OF_ROWS if callable(getattr(model, name, None))]
    return {name: np.asarray(getattr(model, name)(rows)) for name in ("cluster_labels", *known)}


def assert_same_fit(model, expected, *, sources=None):
    """Compare all that two fits found, to the last bit; `sources` has the number of each row of the second."""
    (settings, arrays), (other_settings, others) = (codec.taken_apart(one._fitted()) for one in (model, expected))
    assert settings == other_settings
    assert arrays.keys() == others.keys()
    for name, value in others.items():
        if sources is not None and name.endswith("_numbers"):  # of rows
            value = np.where(value >= 0, sources[value], value)
        np.testing.assert_array_equal(arrays[name], value, err_msg=name)


def assert_same_results(found, expected, **tolerance):
    """Compare results, exactly unless there is a tolerance."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        compare = np.testing.assert_allclose if tolerance else np.testing.assert_array_equal
        compare(found[name], value, err_msg=name, **tolerance)
