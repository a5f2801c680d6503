"""A mixin for estimators and feature maps with a kernel, which is saved by its settings."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from sklearn.utils import Tags

from ..kernels import kernel_from_settings, kernel_settings
from .planned import Planned


class WithKernel(Planned):
    """A mixin that saves and loads a kernel, and says whether rows are those of a precomputed one."""

    kernel_parameter: ClassVar[str | None] = "kernel"
    """Name of the parameter that holds the kernel, or None without one."""

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        return {n: kernel_settings(value) if n == self.kernel_parameter else value for n, value in parameters.items()}

    @classmethod
    def _from_saved(cls, parameters: Mapping[str, Any]) -> Self:
        if (name := cls.kernel_parameter) is not None:
            parameters = {**parameters, name: kernel_from_settings(parameters.get(name))}
        return super()._from_saved(parameters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        name = self.kernel_parameter
        tags.input_tags.pairwise = name is not None and getattr(self, name) == "precomputed"
        return tags
