"""Gavel's problems, a file each; `<name>_assembly` is a faster way to the same allocation as the stated model."""
