"""States that no fit gives: each array and number of a fitted model is checked before anything is computed with it."""

from dataclasses import replace

import numpy as np
import pytest
from cases import fitted

VOTES, CONTOURS = {"combine": "votes"}, {"width": 0.5}

HARM = [
    ("DensityTree", {}, "model.peak_reach", lambda x: x * np.nan, "peak_reach"),
    ("DensityTree", {}, "model.peak_numbers", lambda x: x - 9, "peak_numbers"),
    ("DensityTree", {}, "model.cells", lambda x: x + 10**6, "cells"),
    ("DensityTree", {}, "model.counts", lambda x: x - 5, "counts"),
    ("DensityTree", {}, "model.clusters", lambda x: x + 3, "clusters"),
    ("DensityTree", {}, "model.threshold", lambda x: x * np.nan, "threshold"),
    ("DensityTree", {}, "model.points", lambda x: x * np.nan, "points"),
    ("DensityTree", {}, "model.peaks", lambda x: x + np.inf, "peaks"),
    ("SupportVectorClustering", CONTOURS, "point_labels", lambda x: np.full(3, 5, np.int32), "shape"),
    ("SupportVectorClustering", CONTOURS, "width", lambda x: -1.0, "expected a width above 0, got -1.0"),
    ("SupportVectorClustering", CONTOURS, "sweep", lambda x: np.zeros((2, 2)), "columns of float64 in the array sweep"),
    ("SupportVectorClustering", CONTOURS, "points", lambda x: np.zeros((0, 3)), "expected points in rows"),
    ("SupportVectorClustering", CONTOURS, "coefficients", lambda x: np.zeros(2), "an array coefficients"),
    ("SupportVectorClustering", CONTOURS, "leaves_outside", lambda x: 1, "expected true or false for leaves_outside"),
    ("KernelKMeans", {}, "centroids", lambda x: x[:, :1], "expected"),
    ("KernelKMeans", {}, "counts", lambda x: -x, "expected"),
    ("KernelKMeans", {}, "scale", lambda x: x[:0], "expected"),
    ("ConsensusClustering", {}, "linked", lambda x: x[1:], "shape"),
    ("ConsensusClustering", {}, "linked", lambda x: x * 1.0, "linked"),
    ("ConsensusClustering", {}, "linked", lambda x: x - x, "expected rows in every cluster of the array linked"),
    ("ConsensusClustering", {}, "linked", lambda x: -x, "none below 0"),
    ("ConsensusClustering", VOTES, "clusters", lambda x: (x[0] + np.int32(9), x[1]), "below 3 in the array clusters.0"),
    ("ConsensusClustering", VOTES, "clusters", lambda x: tuple(map(np.zeros_like, x)), "votes for each of 3 clusters"),
    ("ConsensusClustering", VOTES, "clusters", lambda x: (x[0], x[1] - np.int32(3)), "none below -1"),
    ("ConsensusClustering", VOTES, "clusters", lambda x: x[:1], "expected clusters for the leaves"),
    ("ConsensusClustering", VOTES, "agreement", lambda x: -x, "none below 0"),
    ("HyperplaneEnsemble", {}, "offsets", lambda x: x * np.nan, "finite numbers in the array offsets"),
    ("HyperplaneEnsemble", {}, "planes", lambda x: x[:1], "array planes of numbers and of shape"),
    ("HyperplaneEnsemble", {}, "log_weights", lambda x: x[:0], "at least 1 cluster"),
    ("HyperplaneEnsemble", {}, "n_rows", lambda x: -x, "array n_rows, none below 0"),
    ("HyperplaneEnsemble", {}, "cluster", lambda x: x + 1, "clusters numbered from 0"),
]


@pytest.mark.parametrize(("name", "parameters", "field", "change", "message"), HARM)
def test_a_state_that_no_fit_gives_is_refused(name, parameters, field, change, message):
    state = fitted(name, **parameters).state_
    *inner, field = field.split(".")
    for part in inner:
        state = getattr(state, part)
    state.check()
    with pytest.raises(ValueError, match=message):
        replace(state, **{field: change(getattr(state, field))}).check()
