"""What Chronus does in each cycle: profile, admit, promise, plan, lease and place."""
