"""Scores of clusterings against known labels, computed from one pass over labels of any size."""

from .contingency import Contingency, ContingencyTable, contingency_table
from .scores import (
    adjusted_rand_index,
    binary_v_measure,
    matching_accuracy,
    normalized_mutual_information,
    purity,
    success_ratio,
    v_measure,
)

__all__ = [
    "Contingency",
    "ContingencyTable",
    "adjusted_rand_index",
    "binary_v_measure",
    "contingency_table",
    "matching_accuracy",
    "normalized_mutual_information",
    "purity",
    "success_ratio",
    "v_measure",
]
