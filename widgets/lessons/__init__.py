"""What asks and answers on a page: guesses before a run, exercises, and schedules drawn by hand."""
