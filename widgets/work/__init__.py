"""Where a lab's work is done: in a process, in a thread, in many processes, or as a question about whole schedules."""
