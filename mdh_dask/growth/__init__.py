"""Plans that grow, refine, recount and update trees; `mdh_dask.chunks.run` runs them."""
