"""Clusters to compute on: this process, this machine, SLURM, or a running scheduler."""

from .kinds import start_cluster

__all__ = ["start_cluster"]
