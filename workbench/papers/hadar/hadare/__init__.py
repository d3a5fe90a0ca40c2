"""HadarE (section V of Hadar): every job is forked into copies that train on several nodes at once, in rounds."""
