"""The kinds of input that a job file can name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .._fields import Field
from .inputs import Input, open_image_input, open_rows_input
from .outputs import ImageJobOutputs, JobOutputs
from .scenes import SceneOutputs, open_scenes_input
from .tables import FIELDS


@dataclass(frozen=True)
class InputKind:
    """A kind of input.

    Parameters
    ----------
    fields, outputs : dict
        The keys of ``[input]`` beside ``kind``, and of ``[output]``.
    open : callable
        Returns the `Input` from the values of the keys.
    outputs_type : type
        Class of the outputs, made from the values of ``[output]``.
    """

    fields: Mapping[str, Field]
    outputs: Mapping[str, Field]
    open: Callable[[Mapping[str, Any]], Input]
    outputs_type: type[JobOutputs]


INPUTS = {
    "rows": InputKind(*FIELDS["rows"], open_rows_input, JobOutputs),
    "image": InputKind(*FIELDS["image"], open_image_input, ImageJobOutputs),
    "scenes": InputKind(*FIELDS["scenes"], open_scenes_input, SceneOutputs),
}
"""Values of ``input.kind``, the default first."""
