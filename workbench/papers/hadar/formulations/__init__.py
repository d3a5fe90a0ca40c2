"""Hadar's problems: P1 to P3 over all slots, and the round (8)."""
