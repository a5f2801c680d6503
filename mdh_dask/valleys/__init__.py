"""The test of a valley of the density between two groups of cells, and the plan of merging cells without one."""
