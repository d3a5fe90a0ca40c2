"""When a job would have run with more nodes from a time on, or without other jobs: the run simulated again."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from workbench.analysis.metrics.two_runs import completions, gains
from workbench.base.errors import InputError, counted
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster, NodeGroup
from workbench.scenario.faults import Outage
from workbench.scenario.scenario import Scenario
from workbench.session.api import Beliefs, simulate
from workbench.session.replay import repeatable
from workbench.simulation.job_at_time import HOLDS, JobAtTime
from workbench.simulation.run import OWN, Run


@dataclass(frozen=True)
class CounterfactualAnswer:
    """What one more node (or as many as it asks for), or having the cluster to itself, would have changed for a job.

    accelerator, gpus: of the node, or of each of `nodes`, there from `at_s` on; empty and 0 for a job alone, asked from
    its arrival `at_s` on; start_s: when the job then has GPUs next, finish_s: when it is done (None: not in the run);
    before: the same of the run itself; gains: who of all jobs gains by the nodes and who pays; same_past: whether
    everything until `at_s` went as in the run; wall_s: what it took to find out.
    """

    job: str
    at_s: float
    accelerator: str
    gpus: int
    start_s: float | None
    finish_s: float | None
    before_start_s: float | None
    before_finish_s: float | None
    same_past: bool
    wall_s: float
    nodes: int = 1
    gains: str = ""

    def as_json(self) -> dict[str, Any]:
        """Its fields, as JSON has them."""
        return asdict(self)

    def text(self) -> str:
        """In one or two sentences."""
        each = f"{counted(self.gpus, 'GPU')} {self.accelerator}{'' if self.nodes == 1 else ' each'}"
        more = "one more node" if self.nodes == 1 else f"{self.nodes} more nodes"
        node = f"With {more} of {each} from {_clock(self.at_s)} on"
        what = node if self.gpus else "With no other job on the cluster"
        started = "would get no GPUs" if self.start_s is None else f"would have GPUs at {_clock(self.start_s)}"
        done = "would not finish" if self.finish_s is None else f"would be done at {_clock(self.finish_s)}"
        was = f"{_clock(self.before_start_s)} and {_clock(self.before_finish_s)} in the run"
        text = f"{what} {self.job} {started} and {done} ({was}; simulated again in {self.wall_s:.1f} s)."
        text += f" Of all jobs: {self.gains}" if self.gains else ""
        if not self.same_past:
            text += (
                " What came before that time went differently in this simulation, so the two are not one course of "
                "events: the scheduler knew of the node."
            )
        return text


@dataclass(frozen=True)
class CounterfactualQuestion:
    """A question about a job of a run: the scenario to simulate instead, until `until_s` (None: until all is done)."""

    run: Run
    job: str
    at_s: float
    accelerator: str
    gpus: int
    scenario: Scenario
    until_s: float | None
    nodes: int = 1

    def answered(self, again: Run, wall_s: float) -> CounterfactualAnswer:
        """What the simulation of that scenario says."""
        run, job, at_s = self.run, self.job, self.at_s
        same = not self.gpus or _past(run, at_s).equals(_past(again, at_s))
        courses = (*_course(again, job, at_s), *_course(run, job, at_s))
        said = gains(completions(run, again)) if self.gpus else ""
        return CounterfactualAnswer(job, at_s, self.accelerator, self.gpus, *courses, same, wall_s, self.nodes, said)


def with_node(
    run: Run, job: str, at: float, *, accelerator: str | None = None, gpus: int | None = None
) -> CounterfactualQuestion:
    """The question of `one_more`, with the same arguments and errors."""
    job_at = JobAtTime(run, job, at)
    kinds = run.scenario.cluster.types
    if accelerator is not None and accelerator not in kinds:
        raise InputError("accelerator", accelerator, f"one of {', '.join(kinds)}")
    kind = accelerator or max(job_at.usable, key=lambda each: job_at.usable[each])
    asked = job_at.spec.attributes.get("nodes")  # of a log: on how many it was
    fits = gpus is None and isinstance(asked, (int, float)) and asked >= 1 and job_at.spec.gpus % asked == 0
    nodes = int(asked) if fits and asked is not None else 1
    size = job_at.spec.gpus // nodes if gpus is None else gpus
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1024:
        raise InputError("gpus", gpus, "a whole number of GPUs from 1 to 1024")
    partition = str(job_at.spec.attributes.get("partition", ""))
    like = [group for group in run.scenario.cluster.nodes if group.accelerator == kind]
    inside = [each for each in like if partition in str(each.attributes.get("partitions", "")).split(",")]
    facts = dict((inside or like)[0].attributes)  # else no job of its partition could have it
    more = NodeGroup(name="more", accelerator=kind, gpus=size, count=nodes, attributes=facts)
    scenario = _with_nodes(run.scenario, more, job_at.at_s)
    return CounterfactualQuestion(run, job, job_at.at_s, kind, size, scenario, _end_s(run), nodes)


def on_its_own(run: Run, job: str) -> CounterfactualQuestion:
    """The question when the job would have run with the cluster to itself; raises InputError for a job not there."""
    job_at, scenario = JobAtTime(run, job, 0.0), run.scenario
    alone = scenario.replace(
        jobs=[job_at.spec],
        running=[held for held in scenario.running if held.job == job],
    )
    arrival_s = min(float(job_at.row["arrival_s"]), run.end_s)
    return CounterfactualQuestion(run, job, arrival_s, "", 0, alone, _end_s(run))


def one_more(
    run: Run,
    job: str,
    at: float,
    *,
    accelerator: str | None = None,
    gpus: int | None = None,
    belief: Beliefs | None = None,
) -> CounterfactualAnswer:
    """Simulate again with one more node, which comes up at `at` seconds, and look when the job then runs.

    accelerator: default: the type on which the job is fastest; gpus: of the node, default: as many as the job asks for,
    on as many nodes as it was on in the log; its attributes are those of a node of the type, in the job's partition;
    belief: the object of a run that was shown speeds by one (its name is kept). It costs as long as the run did. Raises
    InputError for a job, time, type, number of GPUs or belief that cannot be, and what `simulate` raises.
    """
    return _simulated(with_node(run, job, at, accelerator=accelerator, gpus=gpus), belief)


def alone(run: Run, job: str, *, belief: Beliefs | None = None) -> CounterfactualAnswer:
    """Simulate again without the other jobs, and look when the job then runs; see `one_more`."""
    return _simulated(on_its_own(run, job), belief)


def _simulated(asked: CounterfactualQuestion, belief: Beliefs | None) -> CounterfactualAnswer:
    run = asked.run
    if (belief is not None) != (run.belief == OWN):
        raise InputError("belief", belief, "the object that the run was made with, and only if it was one")
    began = time.perf_counter()
    again = simulate(
        asked.scenario,
        run.scheduler,
        run.knobs,
        seed=run.seed,
        until_s=asked.until_s,
        belief=belief or run.belief,
        charge_decisions=repeatable(run),
    )
    return asked.answered(again, time.perf_counter() - began)


def _with_nodes(scenario: Scenario, more: NodeGroup, at_s: float) -> Scenario:
    """The same with nodes that are down until a time."""
    taken = {group.name for group in scenario.cluster.nodes} | {node.name for node in scenario.cluster.each_node}
    name = next(each for i in range(len(taken) + 1) if (each := f"more{i}") not in taken)
    old = scenario.cluster
    cluster = Cluster(
        accelerators=old.accelerators,
        nodes=(*old.nodes, more.model_copy(update={"name": name})),
        network_gbps=old.network_gbps,
    )
    faults = scenario.core.faults
    if at_s > 0:
        down = (Outage(node=f"{name}-{i}", from_s=0.0, to_s=at_s) for i in range(more.count))
        faults = faults.model_copy(update={"list": (*faults.list, *down)})
    core = scenario.core.model_copy(update={"faults": faults})
    return scenario.replace(cluster=cluster, core=core)


def _end_s(run: Run) -> float | None:
    """When the run was ended, None if it went on until every job had finished."""
    over = run.jobs["finish_s"].notna() | (run.jobs["verdict"] == "refused")
    return None if over.all() else run.end_s


def _past(run: Run, at_s: float) -> pd.DataFrame:
    """Who held which GPUs until a time."""
    rows = run.timeline[(run.timeline["start_s"] < at_s) & (run.timeline["kind"] != "down")]
    rows = rows.assign(end_s=rows["end_s"].clip(upper=at_s))
    return rows[["node", "slot", "unit", "kind", "start_s", "end_s"]].reset_index(drop=True)


def _course(run: Run, job: str, at_s: float) -> tuple[float | None, float | None]:
    """When a job has GPUs from a time on, and when it is done."""
    job_at = JobAtTime(run, job, min(at_s, run.end_s))
    start_s = job_at.at_s if job_at.state in HOLDS else job_at.next_start_s
    finish_s = float(job_at.row["finish_s"])
    return start_s, finish_s if finish_s == finish_s else None


def _clock(seconds: float | None) -> str:
    return "never" if seconds is None else format_duration(seconds, parts=2)
