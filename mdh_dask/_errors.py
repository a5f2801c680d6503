"""Errors of the package."""


class SettingError(ValueError):
    """A setting is missing, wrong or contradicts another."""


class CannotCreateError(OSError):
    """An output cannot be created at its path."""
