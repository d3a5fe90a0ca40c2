"""Small examples of Chronus."""
