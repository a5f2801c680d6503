"""Where the work is done: this process, this machine, SLURM, Kubernetes, or a scheduler that runs already."""

from .kinds import start_cluster

__all__ = ["start_cluster"]
