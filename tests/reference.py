"""One naive twin in plain Python for each compiled loop of hashing, branches, binning and columns."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np


def hash_rows(seed, start, n_rows):
    """SplitMix64 in unbounded integers, reduced modulo 2**64."""
    offset = seed * 0xD1342543DE82EF95 + 1
    return [mixed(offset + row * 0x9E3779B97F4A7C15) for row in range(start, start + n_rows)]


def hash_again(hashes, repeat):
    """The hashes taken for states of SplitMix64, as many steps further."""
    return [mixed(int(z) + repeat * 0x9E3779B97F4A7C15) for z in hashes]


def mixed(z):
    """The output function of SplitMix64."""
    word = 2**64
    z %= word
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % word
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % word
    return z ^ (z >> 31)


def project(row, direction):
    """The scalar product, summed over the features in their order."""
    total = 0.0
    for x, v in zip(row, direction, strict=True):
        total += float(v) * float(x)
    return total


def bin_of(value, origin, width, n_bins):
    """The bin of a value; the outermost bins take the tails."""
    return int(min(max((value - float(origin)) * (1.0 / float(width)), 0.0), n_bins - 1.0))


def nearest_columns(row, k):
    """The columns of the least values, of equal ones the first."""
    return sorted(range(len(row)), key=lambda column: (row[column], column))[:k]


def order_of(values):
    """The places of values in ascending order, of equal ones the first."""
    return sorted(range(len(values)), key=values.__getitem__)


def quantile_of(values, share):
    """The value at a share of the way through the sorted ones, or between the two there."""
    ordered, place = sorted(values), (len(values) - 1) * share
    k = int(place)
    beyond = place - k
    return ordered[k] if beyond == 0 else ordered[k] * (1 - beyond) + ordered[k + 1] * beyond


def squares_of_products(products, own, others, rounding):
    """Squared distances, of which the rounding errors of zero are zero."""
    squares = own[:, None] + others - 2 * products
    return np.where(squares <= (own[:, None] + others) * rounding, 0, squares)


def offset_within(row_hash, key):
    """The hash of a hash, as a number between -1/2 and 1/2."""
    word = 2**64
    z = ((int(row_hash) ^ (int(key) // 2)) + 0x9E3779B97F4A7C15) % word
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % word
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % word
    return (((z ^ (z >> 31)) // 2**12 + 0.5) / 2**52 - 0.5) * (-1 if key % 2 else 1)


def jitter_rows(rows, hashes, jitter):
    """One value after the other: forth by its leader, and back by its neighbours in the tree of columns if it leads."""
    columns = [dict(zip(jitter._fields, own)) for own in zip(*jitter, strict=True)]
    for row, row_hash in zip(rows, hashes, strict=True):
        values = {own["columns"]: float(row[own["columns"]]) for own in columns}
        for own in columns:
            drawn_by(row, row_hash, own, values, own["keys"], [own] if own["leaders"] >= 0 else [])
        for own in columns[::-1]:
            edges = [edge for edge in columns if edge["leaders"] == own["columns"]]
            if edges:
                edges = ([own] if own["leaders"] >= 0 else []) + edges[::-1]
                drawn_by(row, row_hash, own, values, (int(own["keys"]) + 2) % 2**64, edges)


def drawn_by(row, row_hash, own, values, key, edges):
    """Draw a value from the numbers rounded to it, by the columns at the other ends of some edges, if any."""
    j, step, means, weights = own["columns"], float(own["steps"]), [], []
    offset = offset_within(row_hash, key)
    for edge in edges:
        slope, place, error = (float(edge[name]) for name in ("slopes", "places", "errors"))
        led = edge is own
        means.append(place + slope * float(row[edge["leaders"]]) if led else float(row[edge["columns"]]) - place)
        weights.append((1.0 if led else slope) / error**2)
        means[-1], weights[-1] = (means[-1], weights[-1]) if led else (means[-1] / slope, weights[-1] * slope)
    if not edges:
        row[j] = values[j] + step * offset
        return
    mean, scale = np.average(means, weights=weights), math.sqrt(3 / sum(weights)) / math.pi
    row[j] = of_logistic(values[j] - step / 2, values[j] + step / 2, mean, max(scale, step / 1000), offset + 0.5)


def of_logistic(low, high, mean, scale, share):
    """A share of a truncated logistic distribution, from the side that is farther from the mean."""
    if (low + high) / 2 > mean:
        return -of_logistic(-high, -low, -mean, scale, 1 - share)
    ends = -np.logaddexp(0, -(np.array([low, high]) - mean) / scale)  # logarithms of the distribution function
    at = np.logaddexp(math.log1p(-share) + ends[0], math.log(share) + ends[1])
    return mean + scale * (at - math.log(-math.expm1(at)))


def sweep_branches(rows, routes, measures, hashes, jitter):
    """Follow one row after the other from the root to its leaf."""
    leaves = []
    for row, row_hash in zip(rows, hashes, strict=True):
        node = 0
        while True:
            goes_left = visit_node([row], [0], node, None, [row_hash], jitter, routes, measures)
            if routes.left[node] < 0:
                break
            node = routes.left[node] if goes_left else routes.right[node]
        leaves.append(int(node))
    return leaves


def visit_node(rows, here, node, spare, hashes, jitter, routes, measures):
    """Count each row once along each direction, in the half that its hash names; then left rows first."""
    for i in here:
        half = (int(hashes[i]) >> int(measures.bit[node])) % 2
        spread = [[float(x) for x in rows[i]]]
        jitter_rows(spread, [hashes[i]], jitter)
        for c in range(measures.first[node], measures.first[node + 1]):
            direction, counts, own = measures.directions[c], measures.counts[c], (measures.origin[c], measures.width[c])
            x, n_bins = project(spread[0], direction), len(counts[half])
            counts[half][bin_of(x, *own, n_bins)] += 1
            widen(x, *own, measures.extremes[c][half])
            if len(counts) > 2:
                counts[2][bin_of(project(rows[i], direction), *own, n_bins)] += 1
    if routes.left[node] < 0:
        return 0
    is_left = [project(rows[i], routes.planes[node]) <= routes.thresholds[node] for i in here]
    here[:] = [i for i, x in zip(here, is_left) if x] + [i for i, x in zip(here, is_left) if not x]
    return sum(is_left)


def widen(value, origin, width, extremes):
    """Let the bin of a value take it, if there are bins; the outermost bins take the tails."""
    smallest, largest = extremes
    if len(smallest):
        k = bin_of(value, origin, width, len(smallest))
        smallest[k], largest[k] = min(smallest[k], value), max(largest[k], value)


def add_multiple(sums, share, vector):
    """One entry at a time."""
    for j, x in enumerate(vector):
        sums[j] += float(share) * float(x)


def bin_projections(projections, origin, width, counts):
    """Count value by value."""
    for c, line in enumerate(projections):
        for value in line:
            # The difference is taken in the dtype of the projections.
            counts[c][bin_of(float(value - origin[c]), 0.0, width[c], len(counts[c]))] += 1


def bin_extremes(projections, origin, width, extremes):
    """Collect the values of every bin."""
    for c, line in enumerate(projections):
        held = {}
        for value in line:
            k = bin_of(float(value - origin[c]), 0.0, width[c], len(extremes[c][0]))
            held.setdefault(k, []).append(float(value))
        for k, values in held.items():
            extremes[c][0][k], extremes[c][1][k] = min(values), max(values)


def projection_ranges(projections):
    """Exact rational sums, rounded at the end."""
    out = []
    for line in projections.tolist():
        exact = [Fraction(x) for x in line]
        mean = sum(exact) / len(exact)
        variance = sum((x - mean) ** 2 for x in exact) / len(exact)
        out.append([float(mean), math.sqrt(variance), min(line), max(line)])
    return [list(column) for column in zip(*out)]


def count_beyond(rows, low, high, below, above):
    """A count for every column."""
    for j, column in enumerate(zip(*rows.tolist())):
        below[j] += sum(x <= low[j] for x in column)
        above[j] += sum(x >= high[j] for x in column)


def certainly_distinct(words, enough, n_bits):
    """A set for every column, as if no two words had the same hash."""
    return [len(set(column)) > enough for column in zip(*words.tolist())]


def gaussian_density(sample, bandwidth, positions):
    """A kernel density estimate by direct summation."""
    scale = len(sample) * bandwidth * math.sqrt(2 * math.pi)
    return [sum(math.exp(-0.5 * ((x - s) / bandwidth) ** 2) for s in sample) / scale for x in positions]


def relative_depth(density, floor=0.0):
    """The definition at each grid point: the lower of the highest densities on both sides, over the density there."""
    depths = []
    for k, p in enumerate(density):
        lower_mode = min(max(density[: k + 1]), max(density[k:]))
        depths.append((lower_mode - p) / (p + floor) if lower_mode > p else 0.0)
    return depths


def lower_ratios(density, floor, doubt):
    """Lower bounds of the lower mode by upper bounds of the density, from the square roots of both above a floor."""
    root, unit = [(p + floor) ** 0.5 for p in density], floor**0.5
    modes = [min(max(root[: k + 1]), max(root[k:])) for k in range(len(root))]
    return [((mode - doubt * unit) / (r + doubt * unit)) ** 2 for mode, r in zip(modes, root)]


def modes(density):
    """Middles of the plateaus whose neighbours are all lower."""
    found = []
    for first in range(len(density)):
        for last in range(first, len(density)):
            plateau = density[first : last + 1]
            before = density[first - 1] if first else -math.inf
            after = density[last + 1] if last + 1 < len(density) else -math.inf
            if min(plateau) == max(plateau) and max(plateau) > max(before, after, 0):
                found.append((first + last) // 2)
    return found


def add_to_labels(labels, rows, sizes, sums):
    for label, row in zip(labels.tolist(), rows):
        if label < len(sizes):
            sizes[label] += 1
            for j in range(sums.shape[1]):
                sums[label, j] += float(row[j])


def joint_diagonaliser(matrices, smallest_angle, max_sweeps):
    """The rotation R that makes all ``R.T @ M @ R`` as diagonal as Jacobi rotations of pairs of axes can."""
    k = matrices.shape[1]
    rotation = np.eye(k)
    for _ in range(max_sweeps):
        largest = 0.0
        for p, q in combinations(range(k), 2):
            turned = rotation.T @ matrices @ rotation
            across, beside = turned[:, p, p] - turned[:, q, q], 2 * turned[:, p, q]
            angle = math.atan2((2 * across * beside).sum(), (across**2 - beside**2).sum()) / 4
            turn = np.eye(k)
            turn[[p, p, q, q], [p, q, p, q]] = math.cos(angle), -math.sin(angle), math.sin(angle), math.cos(angle)
            rotation = rotation @ turn
            largest = max(largest, abs(angle))
        if largest <= smallest_angle:
            break
    return rotation


def row_margin(row, node, scale, tails):
    """Distance, agreement and rarity of a row on its way from a node, whose `tails` map bins to shares."""
    distance, agreement, rarity = math.inf, 1.0, 1.0
    while True:
        along = project(row, node["plane"])
        if node["bins"]:
            k = bin_of(along, node["origin"], node["width"], len(tails[node["id"]]))
            rarity = min(rarity, tails[node["id"]][k])
        if "children" not in node:
            return distance, agreement, rarity
        if scale[node["id"]] > 0:
            z = abs(along - node["threshold"]) / scale[node["id"]]
            distance, agreement = min(distance, z), agreement * 0.5 * (1 + math.erf(z / math.sqrt(2)))
        node = node["children"][int(along > node["threshold"])]


def project_sparse(data, columns, starts, matrix):
    """Products of sparse rows with a matrix, by those of their dense twins, added column by column."""
    rows = np.zeros((len(starts) - 1, len(matrix)))
    for i, (start, stop) in enumerate(pairwise(starts)):
        rows[i, columns[start:stop]] = data[start:stop]
    out = np.zeros((len(rows), matrix.shape[1]))
    for j in range(len(matrix)):
        out += rows[:, j, None] * matrix[j]
    return out
