"""What a scheduler believes about speeds."""
