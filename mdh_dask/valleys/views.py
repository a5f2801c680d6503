"""What one half of the rows shows of pairs of groups: in all columns, or in a view of each pair.

In four to eight columns, balls hold too few rows to show a valley, and a line may leave a curve whose other columns are
noise. In a view, the plane along which two groups differ and extend most, balls hold as many rows as in two columns,
and a curve is still a curve.
"""

import numpy as np

from .._jit.lines import WITHIN
from .._jit.rows import quantile_of
from .._typing import Booleans, Floats, Integers
from .landmarks import ELSEWHERE, LANDMARKS, RADII, Found, Half, Landmarks
from .lines import N_KINDS, Bandwidth, Slabs, whitening
from .neighbours import Distances

LANDMARKS_OF_VIEW = 500
"""Largest number of landmarks in a view."""

NEAREST = 192
"""Rows of each group, nearest to the contact, that choose a view: groups of many clusters turn away elsewhere."""

BOTH, NOBODY = np.array([[0, 1]]), np.zeros((1, 2), dtype=np.bool_)
"""The only pair of a view, and that no group of it is left out."""


class Whole:
    """The rows of one half in all columns.

    Parameters
    ----------
    half : Half
    distances : Distances
        Those of the rows, which several halves share.
    normal : array of shape (n_rows,), optional
        A random number of each row, normal with variance one. Without them, rows are counted in balls only.
    axes, n_landmarks
        As for `Slabs` and `Landmarks`.
    """

    def __init__(
        self,
        half: Half,
        distances: Distances,
        normal: Floats | None,
        axes: Floats | None = None,
        n_landmarks: int = LANDMARKS,
    ) -> None:
        self.landmarks = Landmarks(half, distances, n_landmarks)
        self.slabs = None if normal is None else Slabs(half, self.landmarks, normal, axes)

    def found(self, group: Integers, pairs: Integers, left_out: Booleans) -> Found:
        """Return what the rows show of pairs of groups, in slabs without those of groups that are left out."""
        cuts = self.landmarks.cuts(group, pairs)
        found = [self.landmarks.errors(group, pairs, cuts)]
        if self.slabs is not None:
            found.append(self.slabs.errors(group, pairs, cuts, left_out))
        return Found(*(np.concatenate(kinds, axis=1) for kinds in zip(*found)))

    def smoothed(self, group: Integers, pair: Integers, bandwidth: Bandwidth) -> Floats:
        """Return the errors of a pair in slabs along which rows are displaced, shape (n_kinds, 2 groups)."""
        assert self.slabs is not None
        pairs, none = pair[None], np.zeros((1, len(group)), dtype=np.bool_)
        errors, _ = self.slabs.errors(group, pairs, self.landmarks.cuts(group, pairs), none, bandwidth)
        return np.asarray(errors[0])


class Views:
    """The rows of one half, which are independent, in a view of each pair of groups; parameters are those of `Whole`.

    Coordinates are combinations of columns that are uncorrelated within the cells of the choosing rows.
    """

    def __init__(self, half: Half, distances: Distances, normal: Floats) -> None:
        self.half, self.normal, self.landmarks = half, normal, Landmarks(half, distances)
        ours = half.choosing[half.cell[half.choosing] != ELSEWHERE]
        self.combinations = whitening(half.rows[ours], half.cell[ours]) if len(ours) else None
        self.placed = half.rows if self.combinations is None else half.rows @ self.combinations
        self.chooses = np.zeros(len(half.rows), dtype=np.bool_)
        self.chooses[half.choosing] = True

    def found(self, group: Integers, pairs: Integers, left_out: Booleans) -> Found:
        """Return what the rows show of pairs of groups, without those of groups that are left out."""
        shape = len(pairs), len(RADII) + N_KINDS, 2
        found = Found(np.zeros(shape), np.zeros((*shape, 2)))
        contacts = self.landmarks.contacts(self.landmarks.cuts(group, pairs))
        for i, pair in enumerate(pairs):
            view = self._of(group, pair, contacts[i], left_out[i])
            if view is not None:
                errors, found.rows[i] = (of[0] for of in view.found(BOTH[0], BOTH, NOBODY))
                found.errors[i] = np.nan_to_num(errors)
        found.errors[np.isnan(contacts[:, 0])] = np.nan
        return found

    def smoothed(self, group: Integers, pair: Integers, bandwidth: Bandwidth) -> Floats:
        """Return the errors of a pair in slabs along which rows are displaced, shape (n_kinds, 2 groups)."""
        contact = self.landmarks.contacts(self.landmarks.cuts(group, pair[None]))[0]
        view = self._of(group, pair, contact, np.zeros(len(group), dtype=np.bool_))
        return np.full((N_KINDS, 2), np.nan) if view is None else view.smoothed(BOTH[0], BOTH[0], bandwidth)

    def _of(self, group: Integers, pair: Integers, contact: Floats, left_out: Booleans) -> Whole | None:
        """Return the view of a pair, None without a contact, and if no rows of some group choose it or are near it."""
        if self.combinations is None or np.isnan(contact).any():
            return None
        own = np.append(group, ELSEWHERE)[self.half.cell]
        side = np.where(own == pair[0], 0, np.where(own == pair[1], 1, ELSEWHERE))
        contact = contact @ self.combinations
        one, other = (nearest_to(contact, self.placed, self.chooses & (side == of)) for of in BOTH[0])
        plane = plane_through(self.placed[one], self.placed[other])
        placed = self.placed - self.placed[np.concatenate([one, other])].mean(axis=0)
        view = placed @ plane
        inside = near_rows(placed, view, np.concatenate([one, other]))
        kept = np.flatnonzero(inside & ~np.append(left_out, False)[own])
        chooses, side = self.chooses[kept], side[kept]
        if not all((chooses & (side == of)).any() for of in BOTH[0]) or chooses.all():
            return None
        rows = view[kept]
        half = Half(rows, np.flatnonzero(chooses), np.flatnonzero(~chooses), side)
        return Whole(half, Distances(rows), self.normal[kept], self.combinations @ plane, LANDMARKS_OF_VIEW)


def nearest_to(place: Floats, rows: Floats, which: Booleans) -> Integers:
    """Return those of some rows that are nearest to a place."""
    some = np.flatnonzero(which)
    away = rows[some] - place
    return some[np.argsort(np.einsum("ij,ij->i", away, away), kind="stable")[:NEAREST]]


def plane_through(one: Floats, other: Floats) -> Floats:
    """Return the directions along which rows of two groups differ most, and extend most beside, shape (n_columns, 2).

    They differ most in comparison with how they vary within the groups, and cells: the variance of these is one, which
    few rows do not tell. There is one direction in one column.

    >>> plane_through(np.array([[0.0, 1, -3], [0, 1, 3]]), np.array([[6.0, 1, -3], [6, 1, 3]])).round(6) ** 2
    array([[1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    means, n_columns = [rows.mean(axis=0) for rows in (one, other)], one.shape[1]
    apart, middle = means[1] - means[0], (means[0] + means[1]) / 2
    within = sum(_products(rows - mean) / len(rows) for rows, mean in zip((one, other), means))
    first = np.linalg.solve(within / 2 + np.eye(n_columns), apart)
    first /= max(float(np.sqrt(first @ first)), np.finfo(np.float64).tiny)
    across = np.eye(n_columns) - np.outer(first, first)
    beside = sum(_products(rows - middle) / len(rows) for rows in (one, other))
    second = np.linalg.eigh(across @ beside @ across)[1][:, -1:]
    return np.column_stack([first, second][:n_columns])


def _products(rows: Floats) -> Floats:
    return np.asarray(rows.T @ rows)


def near_rows(rows: Floats, view: Floats, chosen: Integers) -> Booleans:
    """Return which rows are as near to a view as most of the rows that have chosen it, and in it as near as any."""
    away = np.einsum("ij,ij->i", view, view)
    beside = np.maximum(np.einsum("ij,ij->i", rows, rows) - away, 0)
    return (away <= away[chosen].max()) & (beside <= quantile_of(beside[chosen], WITHIN))
