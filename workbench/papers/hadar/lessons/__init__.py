"""Small examples of Hadar."""
