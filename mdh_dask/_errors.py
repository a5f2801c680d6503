"""Errors that have no name in Python."""


class CannotCreateError(OSError):
    """An output cannot be made where it is to be."""
