"""The binary tree of separators: its structure, how rows find their leaf, and what it is written as."""
