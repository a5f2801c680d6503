"""The binary tree of separators: how it is grown and what it says."""
