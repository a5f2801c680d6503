"""Growing one node of a finished tree again."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..chunks import Pass, Plan
from ..tree.structure import Tree
from ..tree.turning import multiplied
from .branches import SampleRows, State, branch_pass
from .examine import Examiner
from .growth import Grown, first_pass, first_sample, grow_branch, rows_wanted
from .lattices import lattices_of
from .passes import FirstLook, smallest_hashes
from .settings import GrowthSettings
from .sweeps import UpdatePass
from .trees import branches_of, tree_of


def regrow(
    tree: Tree, node: int, settings: GrowthSettings, shape: tuple[int, int], check: Callable[[FirstLook], None]
) -> Plan[Grown]:
    """Plan the growth of the branch below a node, on the rows that the tree was grown on.

    Parameters
    ----------
    tree : Tree
    node : int
        The splits below it are forgotten.
    settings : GrowthSettings
        Numbers of clusters are those in the node; levels are counted from the root of the tree.
    shape : (n_rows, n_features)
        Shape of the rows.
    check : callable
        Raises an error if the first pass finds rows that cannot be clustered.

    Returns
    -------
    generator
        A plan for `mdh_dask.chunks.run`; its result is a `Grown` with the tree of the node, for `Tree.graft`.

    Notes
    -----
    One pass, which draws a sample of the rows in the node; further ones as for `mdh_dask.growth.growth.grow`.
    """
    bare = tree.prune(node)
    wanted = rows_wanted(settings, shape)
    branches = list(branches_of(bare, settings.bandwidth).walk())
    drawing = branch_pass(branches, settings.seed, {branches[node]: wanted})
    look, counts = yield Pass("reading", UpdatePass(first_pass(settings, shape), drawing))
    check(look)
    standardise = replace(first_sample(settings, shape, look)[1], lattices=lattices_of(tree.steps))
    root = branches_of(multiplied(bare, standardise.unit), settings.bandwidth)
    own = list(root.walk())[node]
    drawn = counts.sample.take(np.flatnonzero(counts.leaf == node))
    own.sample, own.n_rows = SampleRows.of_all(smallest_hashes(drawn, wanted)), int(counts.arrivals[node])
    own.state, own.candidates, own.verdict, own.deviation = State.OPEN, None, None, None
    yield from grow_branch(own, root, Examiner(settings, standardise))
    grown = replace(multiplied(tree_of(own), 1 / standardise.unit), steps=tree.steps)
    return Grown(grown, standardise)
