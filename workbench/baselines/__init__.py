"""Schedulers without a paper's room, one file each."""
