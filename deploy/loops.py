"""Compile the loops of the usual methods into the cache, so that the pods of an image need not."""

import numpy as np

from mdh_dask import DensityTree, HierarchicalKernelMDH, HierarchicalMDH, RandomProjectionTree

METHODS = RandomProjectionTree, HierarchicalMDH, HierarchicalKernelMDH, DensityTree

X = np.random.default_rng(0).normal(size=(3000, 10)) + np.repeat([[0], [9], [18]], 1000, axis=0)

for method in METHODS:
    for rows in (X, X.astype(np.float32)):
        method(random_state=0).fit(rows).predict(rows)
        method(random_state=0, sample_size=1000).fit(rows)  # of more rows than the sample, in several passes
