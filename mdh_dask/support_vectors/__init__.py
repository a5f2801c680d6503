"""Support vector clustering: contours around the rows, what connects them, and the choice of their width."""
