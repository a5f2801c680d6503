"""Errors of the package."""


class SettingError(ValueError):
    """A setting is missing, wrong or contradicts another."""


class ContentsError(ValueError):
    """What an input holds is damaged, or cannot be used."""


class CannotCreateError(OSError):
    """An output cannot be created at its path."""
