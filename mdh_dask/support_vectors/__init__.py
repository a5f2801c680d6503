"""Support vector clustering: contours around the rows, their connected components, and the choice of the width."""
