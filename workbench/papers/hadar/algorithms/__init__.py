"""Hadar's algorithms: prices, FIND_ALLOC, the dual subroutine; HadarE's forker, and its tracker (how copies
share a job's steps)."""
