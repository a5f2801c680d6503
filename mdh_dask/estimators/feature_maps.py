"""The list of feature maps, with their names for the parameter ``feature_map``, ``--feature-map`` and job files.

To add one, import its transformer here and add a line to `FEATURE_MAPS`; other packages add theirs to the same
dict. The name of every kernel also stands for `KernelPCAFeatures` with this kernel.
"""

from collections import ChainMap
from collections.abc import KeysView
from typing import Any

from ..kernels import KERNELS
from .affinity_features import AffinityFeatures as AffinityFeatures
from .gower_features import GowerFeatures as GowerFeatures
from .kernel_pca_features import KernelPCAFeatures as KernelPCAFeatures
from .mixed_pca import MixedPCA as MixedPCA
from .multidimensional_scaling import MultidimensionalScaling as MultidimensionalScaling
from .quadratic_features import QuadraticFeatures as QuadraticFeatures
from .spectral_features import SpectralFeatures as SpectralFeatures
from .transformer import FeatureTransformer
from .truncated_svd_features import TruncatedSVDFeatures as TruncatedSVDFeatures

FEATURE_MAPS: dict[str, type[FeatureTransformer]] = {
    "products": QuadraticFeatures,
    "gower": GowerFeatures,
    "mixed_pca": MixedPCA,
    "scaling": MultidimensionalScaling,
    "spectral": SpectralFeatures,
    "affinities": AffinityFeatures,
    "truncated_svd": TruncatedSVDFeatures,
}
"""Transformers by name, without those of kernels."""


def feature_map_names() -> KeysView[str]:
    """Return a view of all names, which includes names registered later."""
    named: ChainMap[str, Any] = ChainMap(KERNELS, FEATURE_MAPS)
    return named.keys()


def transformers() -> dict[str, type[FeatureTransformer]]:
    """Return the classes of feature maps by name."""
    known: list[type[FeatureTransformer]] = [KernelPCAFeatures, *FEATURE_MAPS.values()]
    return {cls.__name__: cls for cls in known}


def feature_map_named(name: str, **settings: Any) -> FeatureTransformer:
    """Return an unfitted feature map with those settings that it accepts.

    Examples
    --------
    >>> feature_map_named("rbf", scale=False, colour="red")
    KernelPCAFeatures(kernel='rbf', scale=False)
    """
    cls: Any = FEATURE_MAPS.get(name, KernelPCAFeatures)
    own = {key: value for key, value in settings.items() if key in cls._get_param_names()}
    return cls(**own) if name in FEATURE_MAPS else cls(kernel=name, **own)
