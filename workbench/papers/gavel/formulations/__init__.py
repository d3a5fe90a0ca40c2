"""Gavel's problems, a file each: the statement, its model, and `assemble`, the same programme as arrays."""
