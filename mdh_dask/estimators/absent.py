"""Attributes that some estimators do not have, with the reason."""

from typing import NoReturn


class Absent:
    """An attribute that is not there; whoever asks is told why, and what to use.

    Examples
    --------
    >>> class Sides:
    ...     outliers = Absent("outliers needs distances: fit a tree")
    >>> hasattr(Sides(), "outliers")
    False
    """

    def __init__(self, why: str) -> None:
        self.why = why

    def __get__(self, instance: object, owner: type) -> NoReturn:
        """Raise the error."""
        raise AttributeError(f"{owner.__name__} has no {self.why}")
