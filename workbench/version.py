"""The version, in one place (pyproject.toml reads it)."""

VERSION = "0.1.0"
