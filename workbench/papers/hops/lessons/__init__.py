"""Small examples of Hops."""
