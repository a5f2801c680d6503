"""Jobs that may be killed at any moment and go on when they are run again."""
