"""Where the work is done: this process, this machine, SLURM, Kubernetes, or a scheduler that runs already."""
