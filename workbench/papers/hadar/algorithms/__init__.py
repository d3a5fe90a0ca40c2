"""Hadar's algorithms: prices, FIND_ALLOC, the dual subroutine; HadarE's forker and tracker."""
