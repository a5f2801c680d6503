"""Figures that the papers print; NaN where none is printed."""

from math import nan

Printed = dict[str, tuple[tuple[float, ...], tuple[float, ...]]]

JMLR_METHODS = ("MDP²", "iSVR-L", "iSVR-G", "SCn", "LDA-2m", "2-means++", "PDDP", "dePDDP")

JMLR_TABLE: Printed = {
    "banknote": ((0.79, 0, 0.35, 0.46, 0, 0.37, 0.40, 0), (0.55, 0, 0, 0.10, 0.01, 0.01, 0.03, 0.03)),
    "breast_cancer_wisconsin": (
        (0.91, 0.73, 0.73, 0, 0.87, 0.87, 0.91, 0.90),
        (0.79, 0.56, 0.56, 0.13, 0.71, 0.72, 0.78, 0.77),
    ),
    "forest_type": ((0.78, 0.90, 0.91, 0.56, 0.76, 0.72, 0.64, 0), (0.67, 0.72, 0.74, 0.41, 0.63, 0.58, 0.36, 0)),
    "image_segmentation": (
        (0.89, 0.82, 0.88, 0.92, 0.78, 0.78, 0.87, 1),
        (0.72, 0.59, 0.71, 0.87, 0.58, 0.71, 0.67, 1),
    ),
    "ionosphere": ((0.48, 0.47, 0.47, 0.55, 0.47, 0.47, 0.47, 0.42), (0.13, 0.13, 0.13, 0.22, 0.12, 0.12, 0.12, 0.09)),
    "optdigits": ((0.93, 0.63, 0.82, 0, 0.81, 0.92, 0.68, 0), (0.85, 0.29, 0.60, 0, 0.62, 0.82, 0.30, 0)),
    "pendigits": ((0.74, 0.79, 0.88, 0.80, 0.79, 0.78, 0.79, 0.61), (0.39, 0.55, 0.68, 0.68, 0.55, 0.57, 0.54, 0.42)),
    "synthetic_control": ((0.98, 0.94, 0.94, 1, 0.88, 1, 0.69, 1), (0.94, 0.83, 0.83, 1, 0.76, 1, 0.51, 1)),
    "voting": ((0.70, 0.46, 0, 0, 0.69, 0, 0.70, 0.68), (0.43, 0.09, 0, 0.05, 0.41, 0, 0.40, 0.38)),
    "wine": ((0.77, 0.70, 0.69, 0.67, 0.66, 0.68, 0.65, 0.68), (0.61, 0.52, 0.50, 0.48, 0.48, 0.49, 0.46, 0.49)),
    "yeast_cell_cycle": ((0.92, 0.89, 0.91, 0.84, 0.86, 0.91, 0.87, 0), (0.76, 0.68, 0.72, 0.61, 0.63, 0.73, 0.65, 0)),
}
"""JMLR 17(156), table 2, of the sets we know: success ratios and V-measures in the order of `JMLR_METHODS`."""

KERNEL_METHODS = ("KMDH (PCA)", "KMDH (random)", "S-KMDH", "kernel k-means", "spectral")

KERNEL_TABLE: Printed = {
    "banknote": ((0.702, 0, 0.661, 0.640, 0), (0.487, 0, 0.449, 0.418, 0)),
    "breast_cancer_wisconsin": ((0.305, 0.286, 0.305, 0.290, 0.285), (0.007, 0.004, 0.007, 0.005, 0.004)),
    "dermatology": ((1, 0.978, 1, 0.991, 1), (1, 0.941, 1, 0.973, 1)),
    "forest_type": ((0.297, 0, 0.297, 0.290, 0.179), (0.009, 0, 0.009, 0.007, 0.010)),
    "image_segmentation": ((0.912, 0.952, 0.912, 0.783, 0), (0.760, 0.889, 0.760, 0.574, 0)),
    "ionosphere": ((0.540, 0.527, 0.533, 0, 0), (0.276, 0.267, 0.258, 0, 0)),
    "iris": ((1, 1, nan, nan, nan), (1, 1, nan, nan, nan)),
    "mfeat_fac": ((0.871, 0.868, 0.866, 0.838, 0.852), (0.657, 0.651, 0.662, 0.575, 0.615)),
    "optdigits": ((0.917, 0.895, 0.810, 0.688, 0), (0.809, 0.766, 0.639, 0.464, 0)),
    "pendigits": ((0.821, 0.832, 0.821, 0.785, 0.783), (0.622, 0.629, 0.623, 0.576, 0.538)),
    "synthetic_control": ((1, 0.873, 1, 0.863, 1), (1, 0.718, 1, 0.704, 1)),
    "voting": ((0.798, 0.798, 0.767, 0.787, 0.780), (0.522, 0.522, 0.418, 0.493, 0.478)),
    "wine": ((0.983, 0.983, 0.931, 0.674, 0.727), (0.951, 0.951, 0.857, 0.353, 0.588)),
}
"""Yates and Pavlidis 2016, table 2, of the sets we know; the last columns of *iris* are not legible in our copy."""

TREE_METHODS = ("KMDH_hier", "S-KMDH_hier", "K-dePDDP", "kernel k-means", "spectral")

TREE_TABLE = {
    "banknote": (0.193, 0.225, 0.364, 0.032, 0.566),
    "coil20_32x32": (0.779, 0.780, 0.677, 0.488, 0.573),
    "dermatology": (0.752, 0.759, 0.789, 0.645, 0.042),
    "image_segmentation": (0.507, 0.524, 0.568, 0.152, 0.625),
    "ionosphere": (0.536, 0.366, 0.000, 0.275, 0.368),
    "iris": (0.717, 0.000, 0.451, 0.213, 0.759),
    "mfeat_fac": (0.730, 0.733, 0.597, 0.558, 0.702),
    "optdigits": (0.717, 0.694, 0.613, 0.475, 0.661),
    "pendigits": (0.707, 0.702, 0.338, 0.403, 0.375),
    "synthetic_control": (0.802, 0.851, 0.757, 0.742, 0.765),
    "voting": (0.437, 0.456, 0.000, 0.282, 0.103),
    "wine": (0.000, 0.741, 0.779, 0.892, 0.393),
    "yale_faces": (0.724, 0.710, 0.000, 0.430, 0.039),
}
"""NMI in table 5.2 of the thesis, of the sets we know; ours of faces has more people."""

HPPC = {
    "bolton_2": (0.9812, 0.9915),
    "bolton_4": (0.9689, 0.9723),
    "bolton_8": (0.9608, 0.9568),
    "crabs": (0.4585, 0.6565),
    "glass": (0.4700, 0.4282),
    "diabetes": (0.6248, 0.6276),
    "shuttle": (0.8423, 0.8644),
}
"""CUNY TR-2003009, figures 19 and 20: mean accuracy by matching of 50 runs of the genetic and the combined search."""

HPPC_PEERS = {
    "bolton_2": (1.0, 0.9862, nan),
    "bolton_4": (0.8133, 0.5128, nan),
    "bolton_8": (0.6364, 0.3484, 0.8775),
    "crabs": (0.5263, 0.3321, 0.9150),
    "glass": (0.4656, 0.5120, 0.4533),
    "diabetes": (0.5234, 0.6602, nan),
    "shuttle": (0.6074, 0.6888, nan),
}
"""The same, figures 22, 23 and 25: a mixture by EM, k-means, and orthogonal canonical variates."""

BOUNDS_OF_TREES = {
    "bolton_2": (1.0, 1.0, 1.0),
    "bolton_4": (0.9992, 1.0, 0.9858),
    "bolton_8": (nan, 0.9983, 0.9850),
    "crabs": (0.9850, 0.9800, 0.6900),
    "glass": (0.7850, 0.6822, 0.6589),
    "diabetes": (nan, 0.8125, 0.8346),
    "shuttle": (nan, 0.9959, 0.9997),
}
"""The same, figure 27: decision trees with rules by support vectors, by Fisher's discriminant and by single columns."""

MIXTURES = {
    (5, 10): ((0.353, 3.1), (0.663, 6.7)), (5, 20): ((0.645, 3.5), (0.776, 6.0)), (5, 40): ((0.869, 4.6), (0.919, 5.7)),
    (10, 10): ((0.870, 8.6), (0.875, 10.5)), (10, 20): ((0.973, 9.9), (0.975, 10)),
    (10, 40): ((0.997, 10), (0.998, 10)),
    (20, 10): ((0.985, 20), (0.973, 19.8)), (20, 20): ((0.999, 20), (0.997, 19.8)), (20, 40): ((1.0, 20), (1.0, 19.2)),
}  # fmt: skip
"""Mean NMI and number of clusters in table 4.1 of the thesis, of MDH_hier and of MDH_ens, by components and columns."""

HIERARCHICAL = {
    "optdigits": ((0.753, 12.0), (0.708, 20), (0.000, 3)),
    "pendigits": ((0.792, 18.2), (0.660, 20), (0.625, 41)),
    "image_segmentation": ((0.620, 11.1), (0.641, 7), (0.593, 38)),
    "mfeat_fac": ((0.739, 11.1), (0.583, 7), (0.610, 10)),
}
"""The same in table 4.4 of the thesis, of MDH_hier, MDH_ens and dePDDP, of the sets we know."""
