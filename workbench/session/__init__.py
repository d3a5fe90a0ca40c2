"""From a name to a result: load, solve, simulate, the registry of schedulers, many runs."""
