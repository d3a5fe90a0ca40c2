"""The lab of a paper: editors, Solve, results, and the pages beside them; what the other labs share with it."""
