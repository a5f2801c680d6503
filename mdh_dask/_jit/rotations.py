"""Joint diagonalisation of several symmetric matrices by Jacobi rotations."""

import math

from .._numba import jit


@jit
def diagonalise(matrices, axes, smallest_angle, max_sweeps):
    """Rotate the matrices (k x k x number of matrices) until they are as diagonal as possible; return the sweeps.

    The rows of `axes` are rotated too. The last sweep is the one that turns no pair by more than `smallest_angle`.
    """
    k = axes.shape[0]
    for sweep in range(max_sweeps):
        largest = 0.0
        for p in range(k - 1):
            for q in range(p + 1, k):
                angle = best_angle(matrices[p, p], matrices[q, q], matrices[p, q])
                largest = max(largest, abs(angle))
                cosine, sine = math.cos(angle), math.sin(angle)
                for i in range(k):
                    turn(matrices[i, p], matrices[i, q], cosine, sine)
                for i in range(k):
                    turn(matrices[p, i], matrices[q, i], cosine, sine)
                turn(axes[p], axes[q], cosine, sine)
        if largest <= smallest_angle:
            return sweep + 1
    return max_sweeps


@jit
def best_angle(first, second, off):
    """Return the angle in the plane of two axes that minimises their off-diagonal entries in all matrices.

    A rotation by t turns (difference of the diagonal entries, twice the other) of a matrix by 2 t; the squares of the
    second, summed over the matrices, are least if the first axis is the one along which these points vary most.
    """
    spread = tilt = 0.0
    for m in range(off.shape[0]):
        across, beside = first[m] - second[m], 2 * off[m]
        spread += across * across - beside * beside
        tilt += 2 * across * beside
    return 0.25 * math.atan2(tilt, spread) if spread != 0 or tilt != 0 else 0.0


@jit
def turn(first, second, cosine, sine):
    """Rotate pairs of numbers in place."""
    for m in range(first.shape[0]):
        a, b = first[m], second[m]
        first[m], second[m] = cosine * a + sine * b, cosine * b - sine * a
