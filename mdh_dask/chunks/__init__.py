"""Statistics that are computed chunk by chunk, and the functions that run them.

A statistic is a frozen dataclass with three methods and one law::

    finalise(combine(chunk(A), chunk(B))) == finalise(chunk(A_then_B))

`reduce_rows` runs any statistic over a NumPy array (the one-chunk case) or a Dask array on whichever scheduler
is current; `run` makes the passes of a plan, which asks for one statistic after another; `map_rows` applies a
function to every chunk and returns row-aligned results. This is the only package that builds task graphs for
numerics.

To add a statistic, subclass `Statistic` as a frozen dataclass and add an instance to
``tests/chunks/test_statistics.py``, which checks the law and chunk invariance for all of them.
"""

from .mapping import Cache as Cache
from .mapping import block_size as block_size
from .mapping import default_block_bytes as default_block_bytes
from .mapping import fit_chunks as fit_chunks
from .mapping import follow_chunks as follow_chunks
from .mapping import holds_compact as holds_compact
from .mapping import is_dask as is_dask
from .mapping import kept as kept
from .mapping import known_chunks as known_chunks
from .mapping import map_rows as map_rows
from .mapping import merge_chunks as merge_chunks
from .mapping import repeated_rows as repeated_rows
from .mapping import select_rows as select_rows
from .mapping import sparse_blocks as sparse_blocks
from .mapping import under_own_names as under_own_names
from .mapping import work_through as work_through
from .plans import Announce as Announce
from .plans import Outcome as Outcome
from .plans import Pass as Pass
from .plans import Plan as Plan
from .plans import run as run
from .plans import run_together as run_together
from .plans import together as together
from .progress import Progress as Progress
from .progress import announced as announced
from .progress import one_bar as one_bar
from .reduction import COMBINE_EVERY as COMBINE_EVERY
from .reduction import Statistic as Statistic
from .reduction import Together as Together
from .reduction import reduce_rows as reduce_rows
