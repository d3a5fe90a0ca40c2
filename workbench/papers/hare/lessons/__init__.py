"""Small examples and the numbers that are expected of them."""
