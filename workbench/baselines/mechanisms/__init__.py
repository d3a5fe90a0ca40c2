"""How shares or orders become assignments, round by round."""
