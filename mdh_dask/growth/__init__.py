"""Plans that grow trees, refine them, count rows in them and keep them up to date; `mdh_dask.chunks.run` runs them."""
