"""Directions on which a branch is projected."""
