"""Small examples for lessons."""
