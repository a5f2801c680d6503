"""Scores of clusterings against known labels, computed from one pass over labels of any size."""

from .binary import binary_v_measure, success_ratio
from .contingency import Contingency, ContingencyTable, contingency_table
from .scores import (
    HomogeneityCompleteness,
    adjusted_rand_index,
    homogeneity_completeness,
    matching_accuracy,
    normalized_mutual_information,
    purity,
    rand_index,
    v_measure,
)

__all__ = [
    "Contingency",
    "ContingencyTable",
    "HomogeneityCompleteness",
    "adjusted_rand_index",
    "binary_v_measure",
    "contingency_table",
    "homogeneity_completeness",
    "matching_accuracy",
    "normalized_mutual_information",
    "purity",
    "rand_index",
    "success_ratio",
    "v_measure",
]
