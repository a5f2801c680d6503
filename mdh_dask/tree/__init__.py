"""The binary tree of separators: structure, routing of rows, editing and export."""
