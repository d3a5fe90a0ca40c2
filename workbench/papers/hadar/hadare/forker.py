"""The Job Forker (section V-A): a job becomes copies, each with an id of its own.

    job_ID = max_job_count x i + parent_job_id    for all i = 1 .. forks

`max_job_count` is the most jobs that may be there at once, so that no two copies have the same id. A copy that holds
GPUs is the unit `(job, i)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.base.errors import InputError
from workbench.scheduling.decision import Unit
from workbench.scheduling.knob import Knob

FORKS = Knob(
    "forks",
    None,
    "Copies of each job, so on how many nodes it may run at once (none: as many as there are nodes)",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    optional=True,
    main=True,
)
MAX_JOB_COUNT = Knob(
    "max_job_count",
    None,
    "Most jobs that may be there at once, for the ids of copies (none: all jobs of the scenario)",
    source="paper",
    kind="int",
    minimum=1,
    maximum=1_000_000_000,
    optional=True,
)


def copy_ids(parent_id: int, forks: int, max_job_count: int) -> tuple[int, ...]:
    """The ids of a job's copies 1 .. forks.

    Raises InputError for fewer than one copy, and for a parent id that is not from 0 to max_job_count.
    """
    if forks < 1:
        raise InputError("forks", forks, "a whole number >= 1")
    if max_job_count < 1:
        raise InputError("max_job_count", max_job_count, "a whole number >= 1")
    if not 0 <= parent_id <= max_job_count:
        raise InputError("parent_job_id", parent_id, f"a number from 0 to max_job_count ({max_job_count})")
    return tuple(max_job_count * i + parent_id for i in range(1, forks + 1))


def register(names: Sequence[str], forks: int, max_job_count: int | None = None) -> dict[int, Unit]:
    """The copies of jobs by id, as the Job Tracker registers them; a job's parent id is its position from 0.

    Raises InputError for more jobs than max_job_count (None: their number), whose ids could be the same.
    """
    most = max(len(names), 1) if max_job_count is None else max_job_count
    if len(names) > most:
        raise InputError("knob max_job_count", most, f"at least the number of jobs ({len(names)})")
    return {
        job_id: (name, i)
        for parent, name in enumerate(names)
        for i, job_id in enumerate(copy_ids(parent, forks, most), start=1)
    }
