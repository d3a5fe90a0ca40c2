"""One room for each paper; `paper.py` holds the contract and the registry that finds the rooms."""
