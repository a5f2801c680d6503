"""What is said about the rows of a tree: drift and profiles of clusters."""
