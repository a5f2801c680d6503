"""A folder for commands."""

import pytest


@pytest.fixture
def here(store, tmp_path, monkeypatch):
    """An empty current folder; the inputs, which the fixture ``store`` of a module makes, are in ``in`` beside it."""
    (tmp_path / "in").symlink_to(store)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path / "out"
