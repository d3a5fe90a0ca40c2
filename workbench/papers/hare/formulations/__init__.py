"""Hare's problem stated: the schedule itself, and bounds of it."""
