"""The simulation core: executes decisions, enforces every physical limit, records a run.

Nodes fail and come back in `nodes`."""
