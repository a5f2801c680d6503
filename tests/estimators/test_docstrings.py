"""The help of the estimators: complete, and true about the defaults."""

import inspect
import re

import pytest
from cases import fitted
from numpydoc.docscrape import NumpyDocString

import mdh_dask
from mdh_dask.estimators.mapped import transformers
from mdh_dask.estimators.parameters import documented, entries, sections
from mdh_dask.estimators.registry import all_estimators
from mdh_dask.estimators.tree_estimator import TreeEstimator


@pytest.fixture(params=all_estimators().values(), ids=all_estimators())
def estimator(request):
    """Each of the estimators."""
    return request.param


@pytest.fixture(params=(transformers() | all_estimators()).values(), ids=transformers() | all_estimators())
def configured(request):
    """Each of the estimators and feature maps."""
    return request.param


def test_every_parameter_is_described_in_order_with_its_real_default(configured):
    described = {p.name: p for p in NumpyDocString(inspect.getdoc(configured))["Parameters"]}
    assert list(described) == list(inspect.signature(configured).parameters)
    for name, value in configured().__dict__.items():
        kind, default = described[name].type.split(", default=")
        assert eval(default, {}) == value
        assert kind
        assert re.fullmatch(r"[A-Z].*[^:]\.", " ".join(described[name].desc)), name


@pytest.mark.slow
def test_every_attribute_of_the_help_is_there_after_a_fit(configured):
    model = fitted(configured.__name__)
    shown = ", ".join(entries(sections(configured.__doc__)["Attributes"])).split(", ")
    assert [name for name in shown if not hasattr(model, name)] == []


def test_help_has_what_a_reader_looks_for_and_every_choice_of_a_parameter(estimator):
    parsed = NumpyDocString(inspect.getdoc(estimator))
    assert re.fullmatch(r"[A-Z].*\.", " ".join(parsed["Summary"]))
    assert "Passes:" in " ".join(parsed["Notes"])
    assert re.search(r"[12][0-9]{3}", " ".join(parsed["References"]))
    assert f"{estimator.__name__}(" in " ".join(parsed["Examples"])
    attributes = {attribute.name for attribute in parsed["Attributes"]}
    assert attributes >= {"labels_", "n_clusters_", "n_passes_", "n_features_in_"}
    assert ("tree_" in attributes) == issubclass(estimator, TreeEstimator)
    for name, entry in entries(sections(estimator.__doc__)["Parameters"]).items():
        for constraint in estimator._parameter_constraints[name]:
            for choice in getattr(constraint, "options", ()):
                if name != "projection" or estimator is not mdh_dask.DivisiveClustering:
                    assert f'"{choice}"' in entry, (name, choice)


def test_what_a_class_describes_itself_comes_first():
    class Base:
        """A base.

        Parameters
        ----------
        a : int
            The base's.
        b : str or None
            Text of
            two lines.

        Attributes
        ----------
        c_ : int
        """

    @documented
    class Own(Base):
        """A class.

        More.

        Parameters
        ----------
        a : float
            Its own.

        Notes
        -----
        Some.
        """

        b: str = "x"
        a: float | None = None

    assert Own.__doc__ == (
        'A class.\n\nMore.\n\nParameters\n----------\nb : str or None, default="x"\n    Text of\n    two lines.\n'
        "a : float, default=None\n    Its own.\n\nAttributes\n----------\nc_ : int\n\nNotes\n-----\nSome."
    )
