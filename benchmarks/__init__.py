"""The budgets of this project, measured: `python -m benchmarks` (or `make bench`)."""
