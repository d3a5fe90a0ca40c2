"""Slurm as a scheduler: what its configuration says (`site`), what jobs ask for (`asks`), who comes first (`priority`),
who may start (`limits`), where there is room (`free`), and who starts when: the main scheduler, backfill, reservations
(`planning`)."""
