"""Multidimensional scaling on landmarks, as a scikit-learn transformer."""

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from .._state import FeatureMap
from .._typing import Floats, RowArray
from ..kernels import KERNELS, Kernel, Polynomial, Precomputed, resolve_kernel
from ..kernels.mds import ScalingMap, Squares, scaling_map
from .constraints import StrOptions
from .docstrings import documented
from .kernel_pca_features import KernelPCAFeatures


@documented
class MultidimensionalScaling(KernelPCAFeatures):
    """Places of rows whose distances fit given dissimilarities: classical scaling, or Kruskal's non-metric scaling.

    The places of some rows, the landmarks, are found from all dissimilarities among them; every other row is placed by
    its dissimilarities to the landmarks.

    Parameters
    ----------
    metric : bool, default=True
        True: classical scaling, the leading components of the doubly centred squared dissimilarities. False: distances
        fit a monotone function of the dissimilarities, found from the classical places by isotonic regression and
        majorising steps.
    dissimilarity : str, Kernel or callable, default="euclidean"
        Dissimilarity of two rows. ``"euclidean"``: distances of the columns. ``"gower"``: Gower's, of mixed columns.
        ``"precomputed"``: `X` holds the dissimilarities of all rows in `fit`, and those of new rows to these in
        `transform`. Another kernel by name, a kernel of `mdh_dask.kernels` or a function: distances in its feature
        space.
    max_iter : int, default=100
        Most majorising steps.
    tol : float, default=1e-4
        The steps end when the stress falls by less than this share of it.
    n_landmarks : int, default=1000
        Number of landmarks. Non-metric scaling takes time in proportion to their square in every step.
    variance : float, default=0.9
        Share of the variance of the classical places that the components explain.

    Attributes
    ----------
    map_ : ScalingMap
        The function from a block of rows to their places.
    landmarks_ : ndarray of shape (n_landmarks,), int64
        Row numbers of the landmarks.
    stress_ : float or None
        Kruskal's stress of the landmarks, for ``metric=False``.
    stresses_ : list of float
        The stress before every step.
    n_iter_ : int
        Number of steps; 1 for metric scaling, which has a closed form.

    See Also
    --------
    sklearn.manifold.MDS : For rows in memory, without a rule for others.

    Notes
    -----
    Passes: one for `fit`, and one to compute the result of `transform`. Places of landmarks, mapped as rows, are their
    own in classical scaling, and near them in non-metric scaling, where each row moves alone. For
    ``dissimilarity="gower"``, trees find a valley only where it is wider than half the change by a level of any single
    column, as with `GowerFeatures`.

    References
    ----------
    W. Torgerson, Multidimensional scaling: I, Psychometrika 17, 1952. J. Kruskal, Nonmetric multidimensional scaling,
    Psychometrika 29, 1964. J. Gower, Adding a point to vector diagrams in multivariate analysis, Biometrika 55, 1968.
    K. Yates, PhD thesis, Lancaster University, 2017, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import MultidimensionalScaling
    >>> places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> D = np.sqrt(((places[:, None] - places) ** 2).sum(axis=2))
    >>> Z = MultidimensionalScaling(dissimilarity="precomputed", variance=1.0).fit_transform(D)
    >>> np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)).round(3).tolist()
    [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    """

    map_type = ScalingMap
    kernel_parameter = "dissimilarity"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "metric": ["boolean"],
        "dissimilarity": [StrOptions({"euclidean", *KERNELS}), Kernel, callable],
    }

    kernel: Any = field(init=False, default=None)
    metric: bool = True
    dissimilarity: str | Kernel | Callable = "euclidean"
    max_iter: int = 100
    tol: float = 1e-4

    def _kernel(self) -> Kernel:
        if self.dissimilarity == "euclidean":
            return Polynomial(degree=1, coef0=0.0, gamma=1.0)
        return resolve_kernel(self.dissimilarity)

    def _check_rows(self, rows: RowArray) -> None:
        if isinstance(self._kernel(), Precomputed) and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"expected a square array of the dissimilarities of all rows; got shape {rows.shape}. For rows of "
                "columns, choose dissimilarity='euclidean' or 'gower'."
            )
        super()._check_rows(rows)

    def _map_of(self, landmarks: Floats, kernel: Kernel, centre: Floats, scale: Floats) -> FeatureMap:
        squares: Squares = "complement" if kernel.typed else "kernel"
        if isinstance(kernel, Precomputed):
            squares = "given"
            _check_dissimilarities(kernel.gram(landmarks))
        made, course = scaling_map(
            landmarks, kernel, squares, centre, scale, variance=self.variance, n_components=self.n_components,
            metric=self.metric, max_iter=self.max_iter, tol=self.tol,
        )  # fmt: skip
        self.stresses_ = [] if course is None else course.stresses
        self.stress_ = self.stresses_[-1] if self.stresses_ else None
        self.n_iter_ = max(len(self.stresses_), 1)
        return made


def _check_dissimilarities(matrix: Floats) -> None:
    """Raise an error unless dissimilarities are non-negative, and zero of every row to itself."""
    if (matrix < 0).any() or (np.abs(np.diag(matrix)) > 1e-6 * np.abs(matrix).max(initial=0.0)).any():
        raise ValueError(
            f"expected dissimilarities of at least 0, and 0 of every row to itself; got {matrix.min():g} as the least "
            f"and {np.abs(np.diag(matrix)).max():g} of a row to itself. For similarities, choose a kernel."
        )
