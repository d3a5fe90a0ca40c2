"""What a user edits: a scenario's tables, the core, a scheduler with its knobs, a belief, a file."""
