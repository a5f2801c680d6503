"""Errors that have no name in Python."""


class SettingError(ValueError):
    """A setting is missing or wrong, or contradicts another; the data are not at fault."""


class CannotCreateError(OSError):
    """An output cannot be made where it is to be."""
