"""Read, cluster, write, report: what a command or a job does from its input to its outputs."""
