"""Hops's algorithms: configurations, the queue, the profiler, plans and their rounds."""
