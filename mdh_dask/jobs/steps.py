"""What runs of jobs have in common: outputs that appear when they are complete, and steps that can be done again."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..workflows.outputs import check_writable
from .job import Job
from .outputs import JobOutputs
from .state import READY, Fence, Work

logger = logging.getLogger(__name__)


@dataclass
class Run:
    """A run of a job, begun by `run_job`: a subclass says what it makes, and checks."""

    job: Job
    work: Work
    outputs: Any
    progress: bool = False
    opened: Any = field(init=False)
    """Set once the outputs are checked."""
    fence: Fence = field(init=False)
    """Set once the run is the latest attempt."""

    def check(self) -> None:
        """Raise an error if an output cannot be written, or overlaps with another path of the job."""
        check_writable(str(self.job.work))
        self.outputs.check(*self.job.inputs(), str(self.job.work), str(self.job.path))

    def begins_anew(self, about: dict[str, Any]) -> bool:
        """Return whether the job has changed since it began; it may replace the outputs that it made itself.

        Raises a JobError if `on_change` does not allow that.
        """
        if not (found := self.work.changes(about)):
            self.outputs = replace(self.outputs, own=tuple(self.work.replaces()))
            return False
        if self.job.run["on_change"] == "error":
            self.work.check(about)
        logger.info("the job begins anew: %s", "; ".join(found))
        self.outputs = replace(self.outputs, own=tuple(self.work.made()))
        return True

    def is_ready(self) -> bool:
        """Return whether all outputs are complete, so that they only need to be published."""
        return self.work.manifest(READY) is not None

    def begin(self, about: dict[str, Any], anew: bool) -> None:
        """Record a new attempt; if the job begins anew, remove the earlier work."""
        self.work.begin(about, self.fence.attempt, self.outputs.replaceable(), anew)
        if anew:
            self.work.clear()

    def end(self) -> None:
        """Do what follows the publication."""

    @contextmanager
    def staging(self, outputs: JobOutputs, name: str) -> Iterator[JobOutputs]:
        """Yield the outputs of a step at their staging paths, where an earlier attempt may have begun them.

        `name` differs for steps with other results.
        """
        with outputs.growing(name, self.fence) as growing:
            yield growing
            self.fence.check()
