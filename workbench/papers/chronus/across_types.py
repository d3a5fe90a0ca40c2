"""One plan over all accelerator types: the programme chooses what each guaranteed job runs on (section 7, ours).

Each type keeps the promises of the jobs that are on it, as `guarantees` has them. Two questions look at all types: a
job that is refused on each of them by itself is guaranteed if all that are guaranteed, who may change their type for
it, can be so together; and a plan of leases may move jobs to other types where that earns more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.papers.chronus.guarantees import Claims, Promises
from workbench.papers.chronus.instance import Asked, Instance, Leases
from workbench.papers.chronus.options import Choice, Pool, Run
from workbench.papers.chronus.terms import seconds_up
from workbench.papers.chronus.typed import variables
from workbench.scheduling.contract import Knobs
from workbench.scheduling.knob import Knob

TYPES = Knob(
    "types",
    "programme",
    "On several accelerator types: one programme chooses the type of each guaranteed job; each: a plan for each type "
    "by itself, a job is tried on its fastest first",
    kind="str",
    choices=("programme", "each"),
)
MOST_VARIABLES = 3000
"""Variables of `typed` up to which all types are looked at together; with more each type is planned by itself."""


def pooled(
    pools: Sequence[Pool],
    promises: Sequence[Promises],
    claims: Sequence[Claims | None],
    start_s: float,
    knobs: Knobs,
    sure: Sequence[str],
) -> Instance:
    """The plan's instance over all types, with what has been promised as the last plan.

    pools, promises, claims: of each type; claims: of the jobs that run there, None where none does; sure: who is
    guaranteed. A job has the types it runs on as its options.
    """
    runs: dict[str, list[Run]] = {}
    steps: dict[str, Sequence[Sequence[float]]] = {}
    for kind, own in enumerate(claims):
        if own is None:
            continue
        left_s = seconds_up(own.left_s).clip(1).tolist()
        for name, gpus, seconds, deadlines in zip(own.names, own.gpus, left_s, own.steps, strict=True):
            runs.setdefault(name, []).append(Run(kind, gpus, seconds))
            steps[name] = deadlines
    certain = set(sure)
    asked = [Asked(own[0].gpus, own[0].runtime_s, steps[name], 0, name in certain, own) for name, own in runs.items()]
    running = {
        name: Choice(*pools[kind], run.gpus)
        for kind, promised in enumerate(promises)
        for name in promised.leases
        for run in runs.get(name, ())
        if run.pool == kind
    }
    return Instance.pooled(
        {pool: promised.gpus for pool, promised in zip(pools, promises, strict=True)},
        int(knobs["slo_lease_s"]),
        asked,
        names=tuple(runs),
        miss_reward=float(knobs["miss_reward"]),
        reserved_s=int(knobs["reserve_overhead"]),
        start_s=start_s,
        previous={name: own for promised in promises for name, own in promised.leases.items() if name in runs},
        running=running,
    )


def small_enough(data: Instance) -> bool:
    """Whether all types are looked at together."""
    return variables(data) <= MOST_VARIABLES


def parted(
    pools: Sequence[Pool], promises: Sequence[Promises], leases: Leases, choices: Mapping[str, Choice]
) -> list[Promises]:
    """The promises of each type in a plan over all of them, jobs in their order; changed where they are others."""
    found = []
    for pool, promised in zip(pools, promises, strict=True):
        own = {name: at for name, at in leases.items() if choices[name][:2] == pool}
        found.append(replace(promised, leases=own, changed=promised.changed or own != promised.leases))
    return found
