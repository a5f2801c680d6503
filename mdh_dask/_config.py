"""Defaults in Dask's configuration, under ``mdh-dask``."""

from importlib.resources import files

import dask
import yaml


def load_defaults() -> None:
    """Add the package's defaults to Dask's configuration, below the values that a user has set."""
    dask.config.update_defaults(yaml.safe_load(files(__package__).joinpath("mdh_dask.yaml").read_text()))
