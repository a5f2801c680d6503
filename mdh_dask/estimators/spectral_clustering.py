"""Spectral clustering of any number of rows."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

from ..kernels import Kernel
from ..kernels.registry import AFFINITIES
from ..kernels.spectral import NUMBER_RULES, SAMPLE
from .constraints import StrOptions
from .docstrings import documented
from .kernel_k_means import KernelKMeans
from .spectral_features import SpectralFeatures


@documented
class SpectralClustering(KernelKMeans):
    """K-means of the leading eigenvectors of the normalised affinities among rows, for any number of rows.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters, and of eigenvectors; None to find it by `number_rule`, a heuristic that may also divide a
        single cluster.
    max_clusters : int, default=20
        Most clusters to find.
    kernel : str, Kernel or callable, default="local_scaling"
        Affinity of two rows, without negative values: ``"local_scaling"``, ``"rbf"``, ``"nearest_neighbors"``,
        ``"gower"`` or ``"precomputed"``; a kernel of `mdh_dask.kernels` or a function, as for `KernelPCAFeatures`.
    n_landmarks : int, default=1000
        Number of rows to which the affinities of all rows are computed. The time of a pass is in proportion to it.
    number_rule : {"alignment", "gap"}, default="alignment"
        Rule for the number of eigenvectors. ``"alignment"``: the largest number of eigenvectors, at least two, that can
        be rotated until every row has one large entry (Zelnik-Manor and Perona). ``"gap"``: as many as there are before
        the largest gap between eigenvalues.

    Attributes
    ----------
    feature_map_ : SpectralFeatures
        The embedding, with `eigenvalues_`.

    See Also
    --------
    sklearn.cluster.SpectralClustering : For rows in memory.

    Notes
    -----
    Passes: one or two for the eigenvectors, and one that maps all rows if the features are cached; then k-means, as for
    `KernelKMeans`.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, On spectral clustering: analysis and an algorithm, 2001. C. Fowlkes, S. Belongie, F.
    Chung and J. Malik, Spectral grouping using the Nyström method, IEEE TPAMI 26, 2004. L. Zelnik-Manor and P. Perona,
    Self-tuning spectral clustering, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SpectralClustering
    >>> rng = np.random.default_rng(0)
    >>> angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 4.0], 300)
    >>> X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + rng.normal(0, 0.1, (600, 2))
    >>> np.bincount(SpectralClustering(n_clusters=2).fit_predict(X))
    array([300, 300])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(AFFINITIES), Kernel, callable],
        "number_rule": [StrOptions(set(NUMBER_RULES))],
    }

    kernel_parameter: ClassVar[str | None] = "kernel"
    feature_map: Any = field(init=False, default=None)
    kernel: str | Kernel | Callable = "local_scaling"
    n_landmarks: int = 1000
    number_rule: str = "alignment"

    def _new_feature_map(self, seed: int) -> SpectralFeatures:
        return SpectralFeatures(
            kernel=self.kernel,
            n_components=self.n_clusters,
            max_components=self.max_clusters,
            n_landmarks=self.n_landmarks,
            number_rule=self.number_rule,
            scale=self.scale,
            random_state=seed,
            progress=self.progress,
        )

    @property
    def _compares_features(self) -> bool:
        return False  # the eigenvectors give the number

    def _wanted(self) -> int | None:
        assert self.feature_map_ is not None
        return self.n_clusters or self.feature_map_.n_components_

    def _reason(self) -> str:
        values = ", ".join(f"{value:.2g}" for value in self.feature_map_.eigenvalues_)  # type: ignore[union-attr]
        if self.n_clusters_ == 1 and self.number_rule == "alignment":
            return f"all rows have the same affinities; the eigenvalue is {values}"
        rules = {
            "alignment": "is the most eigenvectors that can be turned until every row has one large entry, and never 1",
            "gap": "is the number of eigenvalues before the largest gap",
        }
        return f"with number_rule={self.number_rule!r} this {rules[self.number_rule]}; the eigenvalues are {values}"

    def _passes(self, n_rows: int, n_columns: int) -> tuple[int, int | None]:
        fewest, most = super()._passes(n_rows, n_columns)
        degrees = int(n_rows > SAMPLE * self.n_landmarks)
        return fewest + degrees, None if most is None else most + degrees
