"""Scheduling formulations for deep-learning GPU clusters, side by side on one simulation core."""
