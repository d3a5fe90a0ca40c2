"""How near a log's simulated waits and makespan are to the recorded ones: held against it, in numbers, as a note."""
