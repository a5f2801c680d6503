"""A minimum density hyperplane that leaves labelled rows on their sides: a classifier for few labels."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, Tags

from .._typing import AnyArray, Floats, RowArray
from ..chunks import Plan
from ..density.kde import resolve_bandwidth
from ..growth.branches import GrowthSettings
from ..growth.growth import Grown, split_by_labels
from ..growth.passes import FirstLook
from ..projections.mdh import Solver, Starts
from ..projections.pursuit import GAMMAS, MARGIN, MDHResult, labelled_hyperplane
from ..splits.rules import SplitRule
from ..tree.structure import Tree
from .hyperplane import MinimumDensityHyperplane
from .models import part
from .parameters import Interval, StrOptions, documented
from .tables import renamed
from .targets import encoded


@documented
class SemiSupervisedMDH(MinimumDensityHyperplane):
    """The hyperplane of least density that leaves the labelled rows on their sides: a classifier for two classes.

    Few rows are labelled, but all rows contribute to the density, so the hyperplane follows both the labels and the
    shape of the data.

    Parameters
    ----------
    gamma : sequence of float
        Successive weights of the labels, in units in which the first principal component has variance one: the pursuit
        continues from each to the next. ``(0.1, 1, 10)`` in the paper.
    margin : float
        Labelled rows nearer to the hyperplane than this many bandwidths have a penalty, even on their side; 0 in the
        paper.
    bandwidth : {"normal", "multimodal", "silverman", "principal"} or float
        Rule for the bandwidth of the pursuit, from the projections on the first principal component, and of densities.
    alpha_max : float
        Hyperplanes beyond this many standard deviations from the mean are penalised; 0.9 in the paper.
    max_labelled : int
        Most labelled rows to use; among more, they are chosen by a hash of their numbers.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels; the second is predicted if ``x @ direction_ > offset_``.
    offset_ : float
        Threshold along `direction_`.
    relative_depth_ : float
        How much the lower mode beside the hyperplane exceeds the density on it, as a share of this density; zero if
        only the labels hold the hyperplane.
    labels_ : ndarray or dask Array of shape (n_samples,), int32
        Index in `classes_` of the class of every row.
    n_clusters_ : int
        2.

    Notes
    -----
    Passes: one to draw a sample and find the labelled rows. If the sample does not hold all rows, a second counts all
    rows along the hyperplane, which minimises the density of the sample and of the labelled rows.

    References
    ----------
    N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis, Minimum density hyperplanes, Journal of Machine Learning Research
    17(156), 2016, sections 2.2 and 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mdh_dask import SemiSupervisedMDH
    >>> rng = np.random.default_rng(0)
    >>> sides = np.repeat([0, 1], 200)
    >>> X = rng.normal(size=(400, 2)) + np.where(sides, 3.0, -3.0)[:, None] * [1, 0]
    >>> y = np.full(400, -1)
    >>> y[[0, 399]] = [0, 1]
    >>> model = SemiSupervisedMDH().fit(X, y)
    >>> bool((model.predict(X) == sides).mean() > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": ["array-like"],
        "missing": [StrOptions({"error", "mean"})],  # its labels are those of all rows
        "margin": [Interval(Real, 0, None, closed="left")],
        "max_labelled": [Interval(Integral, 2, None, closed="left")],
    }

    threshold_rule = "proposed"
    starts: Starts = field(init=False, default="pca2")
    max_components: int | None = field(init=False, default=None)
    solver: Solver = field(init=False, default="pursuit")
    decay: float = field(init=False, default=0.7)
    refine: bool = field(init=False, default=False)
    gamma: Sequence[float] = GAMMAS
    margin: float = MARGIN
    alpha_max: float = 0.9
    max_labelled: int = 100_000
    uses_labels = "always"
    updates = False  # the hyperplane belongs to the labels of one fit

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]  # labels do not go with weights
        """Find the hyperplane.

        Parameters
        ----------
        X : array-like, Dask array or Zarr array of shape (n_samples, n_features)
            Numbers without NaN and infinities. Dask arrays need known row chunks.
        y : array-like or Dask array of shape (n_samples,)
            Two classes, as integers or strings; -1 (for strings, "-1" or "") for rows without a label. Dask arrays
            must hold integers.
        """
        return self._fit(X, y)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> RowArray:
        """Fit the hyperplane and return the class of every row; see `fit` and `predict`."""
        return self.fit(X, y, **kwargs).predict(X)

    def predict(self, X: Any) -> RowArray:
        """Return the class of every row, of `classes_`; of lazy rows lazily, with one pass to compute."""
        return renamed(self.cluster_labels(X), self.classes_)

    def decision_function(self, X: Any) -> RowArray:
        """Return the signed distance of every row from the hyperplane, in units of the projections; positive above.

        NumPy for NumPy input, otherwise lazy with one pass to compute.
        """
        return self._of_rows(X, "decision", "float64")

    def score(self, X: Any, y: Any) -> float:
        """Return the share of rows whose class, in `y`, is predicted."""
        from sklearn.metrics import accuracy_score  # imported late: predictions do not need it

        return float(accuracy_score(np.asarray(y), np.asarray(self.predict(X))))

    def _saved_state(self) -> dict[str, Any]:
        return super()._saved_state() | {"classes": self.classes_.tolist()}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        super()._restore(saved)
        self.classes_ = np.array(part(saved, "classes", list))
        if self.classes_.shape != (2,) or self.classes_.dtype.kind not in "iuU":
            raise ValueError(f"expected two integers or texts for classes, got {self.classes_.tolist()}")

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn's checks need to know."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.target_tags.required = True
        return tags

    def _validate_params(self) -> None:
        super()._validate_params()
        if not len(self.gamma) or not all(isinstance(g, Real) and 0 < g < np.inf for g in self.gamma):
            raise ValueError(f"gamma must be positive numbers, got {self.gamma!r}")

    def _rule(self) -> SplitRule:
        # Labels may hold the hyperplane a little beyond the bound, where the penalty begins.
        return replace(super()._rule(), alpha=None)

    def _take_target(self, y: Any, n_rows: int) -> None:
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: labels of some rows, -1 for the others. "
                "MinimumDensityHyperplane needs none."
            )
        self._target = encoded(y, n_rows)

    def _grown(
        self, settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
    ) -> Plan[Grown]:
        return split_by_labels(settings, shape, check, self.max_labelled, self._two_classes, self._pursue)

    def _numbered(self, tree: Tree) -> Tree:
        return tree  # its clusters are the classes

    def _two_classes(self, labels: AnyArray) -> AnyArray:
        """Set the classes and return their codes."""
        codes = np.unique(labels)
        assert self._target is not None
        self.classes_ = self._target.named(codes)
        if len(codes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected labelled rows "
                f"of two classes; got those of {self.classes_.tolist()}. Fit one model for each pair of classes."
            )
        if len(codes) < 2:
            got = f"those of {self.classes_.tolist()}" if len(codes) else "none"
            raise ValueError(f"expected labelled rows of two classes; got {got}. Label a row of another class.")
        return codes

    def _pursue(self, rows: AnyArray, labelled: AnyArray, signs: Floats) -> MDHResult:
        return labelled_hyperplane(
            rows, labelled, signs, starts=_linear_classifier(labelled, signs), gammas=self.gamma, margin=self.margin,
            alpha_max=self.alpha_max, bandwidth=resolve_bandwidth(self.bandwidth),
        )  # fmt: skip


def _linear_classifier(labelled: AnyArray, signs: Floats) -> list[Floats]:
    """Return the direction of a linear support vector machine on the labelled rows, if it has one."""
    from sklearn.svm import LinearSVC  # imported late: no other estimator needs it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is only a start
        normal = LinearSVC(random_state=0).fit(labelled, signs).coef_[0]
    return [normal] if np.linalg.norm(normal) > 0 else []
