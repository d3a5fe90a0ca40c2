"""One room for each paper: its formulations in Pyomo, its algorithms, its schedulers."""
