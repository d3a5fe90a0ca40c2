"""Whole offline schedules side by side, and the same jobs on another network or with other batches."""
