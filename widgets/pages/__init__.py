"""Pages that a paper's lab shows beside its runs: a package of the paper's name, found by it, with its `PAGES`."""
