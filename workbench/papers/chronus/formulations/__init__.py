"""Chronus's selector stated: as printed, with options, and as a master in deadlines alone."""
