"""The simulation core: executes decisions, enforces every physical limit, records a run."""
