"""Hare's Algorithm 1 and what it is compared with; how rounds synchronise; what switches cost."""
