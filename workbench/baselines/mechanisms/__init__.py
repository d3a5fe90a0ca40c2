"""What schedulers are made of: how shares or orders become assignments, round by round (`priority/`, `line`, `rounds`
and what is beside them); `backfill`, which ours use in FIFO alone and is offered to own schedulers too; and what is too
long to stand in the file of its one scheduler: `three_sigma_instance`, `slurm/`."""
