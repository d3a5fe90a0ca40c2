"""What Hare says of a job at a time: its rounds of tasks, the order of tasks, and what its next task waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.base.errors import counted
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.scheduling.decision import task_parts
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Link, Order

if TYPE_CHECKING:
    import pandas as pd

BARRIER = "tasks of a round start only when all of the round before have synchronised (7)"
ONE_TASK = "a GPU runs one task at a time, in the plan's order (8)"
NEXT = "its task was next in the plan's order on this GPU (8)"
NEXT_OF_SEVERAL = "its tasks were next in the plan's order on these GPUs (8)"
DOWN = "the nodes on which it runs are down"
ARRIVAL = "its first task comes after those that the plan has before it (4)"


def explain(job_at: JobAtTime) -> Explained:
    """The plan for the job, how far it is, and whether its next task waits for a GPU or for its own round."""
    tasks = _tasks(job_at)
    done = tasks[(tasks["kind"] == "run") & (tasks["end_s"] <= job_at.at_s)]
    facts = [Fact("tasks computed", float(len(done)), "tasks")]
    by_model = bool((job_at.run.decisions["made_by"] == "model").any())  # an own formulation, not Algorithm 1
    of_what = "by the model's starts" if by_model else "x^ of the relaxation"
    for name, label, unit in (
        ("planned_finish_s", "planned completion", "s"),
        ("first_middle_s", f"middle completion time of its first task, {of_what}", "s"),
        ("steps_per_round", "steps of a task", "steps"),
        ("profile_s", "wait for its profile", "s"),
    ):
        value = job_at.signal(name)
        facts += [] if value is None else [Fact(label, value, unit)]
    switches = [str(event["reason"]) for event in job_at.events("switch")]
    if switches:
        hits = sum(reason.startswith("hit") for reason in switches)
        facts.append(Fact("switches to it so far", float(len(switches)), f"of which {hits} found its model (hits)"))
    by = "their starts in the model" if by_model else "the relaxation's middle completion times (Algorithm 1)"
    sentences = [f"GPUs run tasks in the order of {by}."]
    binding = ""
    if job_at.state == "waiting":
        sentence, binding = _next(job_at, tasks)
        if job_at.said is not None and job_at.said.code == "stranded":
            binding = DOWN
        sentences += [sentence] if sentence else []
    elif job_at.state == "synchronising":
        binding = BARRIER
    elif job_at.state in HOLDS:
        binding = NEXT if sum(job_at.held.values()) < 2 else NEXT_OF_SEVERAL
    order = job_at.order("first_middle_s", "middle completion time of the first task to come", "s", "lowest")
    links, anyway = _links(job_at, order, binding, by_model), binding in (BARRIER, ARRIVAL)
    not_on = _not_on(job_at, tasks)
    return Explained(tuple(sentences), tuple(facts), binding, order, links=links, not_on=not_on, anyway=anyway)


def _links(job_at: JobAtTime, order: Order | None, binding: str, by_model: bool) -> tuple[Link, ...]:
    """The order of the jobs' first tasks to come, how long a task takes, and the slots that they got."""
    placed = job_at.placement()
    slot = Link("slot", f"{placed.text} Of {job_at.job}: {binding or 'the plan has no task of it now'}.", placed.facts)
    task = _task(job_at)
    if order is None:
        return (*task, slot)
    names = sorted(order.values, key=lambda name: order.values[name])
    listed = ", ".join(f"{name} {short_number(order.values[name])}" for name in names)
    what = "Middles, by the model's starts," if by_model else "Middle completion times H"
    of = "middle" if by_model else "H"
    facts = tuple(Fact(f"{of} of the first task of {name}", order.values[name], "s") for name in names)
    first = Link("order", f"{what} of the first tasks to come, in s: {listed}.", facts)
    return (first, *task, slot)


def _task(job_at: JobAtTime) -> tuple[Link, ...]:
    """How long one task of the job computes on each type (nodes of speed 1), by its true speeds, where known."""
    steps, row = job_at.signal("steps_per_round"), job_at.run.scenario.table.row
    speed = {kind: row(job_at.spec.model, kind, 1) for kind in job_at.usable}
    train_s = {} if steps is None else {kind: steps / each for kind, each in speed.items() if each > 0}
    listed = ", ".join(f"{short_number(each)} on {kind}" for kind, each in train_s.items())
    slow = any(node.speed != 1 for node in job_at.run.scenario.cluster.nodes)
    on_speed_1 = ", on nodes of speed 1" if slow else ""
    facts = tuple(Fact(f"T^c of {job_at.job} on {kind}", each, "s") for kind, each in train_s.items())
    says = f"A task of {job_at.job} computes for T^c, in s{on_speed_1}: {listed}."
    return (Link("task", says, facts),) if train_s else ()


def _not_on(job_at: JobAtTime, tasks: pd.DataFrame) -> dict[str, str]:
    """By type why nothing of a job that runs is on an idle GPU of it: the plan has no task left, or the next one waits
    for its round; and when the tasks that run would have ended there at the soonest, where that is later."""
    steps, line = job_at.signal("steps_per_round"), job_at.run.timeline
    if job_at.state not in HOLDS or steps is None:
        return {}
    at_s, row = job_at.at_s, job_at.run.scenario.table.row
    later = tasks[(tasks["kind"] == "run") & (tasks["start_s"] > at_s)]
    now = tasks[(tasks["kind"] == "run") & (tasks["start_s"] <= at_s) & (tasks["end_s"] > at_s)]
    why = f"its next tasks wait: {BARRIER}" if len(later) else "none of its tasks is left to begin"
    found = {}
    for kind, speeds in ((kind, row(job_at.spec.model, kind, 1)) for kind in job_at.usable):
        free_s = {}
        for node in job_at.run.scenario.cluster.each_node:
            for slot in range(node.gpus) if node.accelerator == kind and speeds > 0 else ():
                here = line[(line["node"] == node.name) & (line["slot"] == slot) & (line["kind"] != "sync")]
                if not ((here["start_s"] <= at_s) & (here["end_s"] > at_s)).any():
                    before_s = max([0.0, *here["end_s"][here["start_s"] <= at_s]])
                    free_s[node.name, slot] = before_s, steps / (speeds * node.speed)
        sooner = []
        for unit, start_s, end_s in now[["unit", "start_s", "end_s"]].itertuples(index=False, name=None):
            there_s = min((max(before_s, start_s) + takes_s for before_s, takes_s in free_s.values()), default=0.0)
            if there_s > end_s:
                clocks = [format_duration(each_s, parts=2) for each_s in (there_s, end_s)]
                sooner.append(f"task {unit} would end there at {clocks[0]} at the soonest, not at {clocks[1]}")
        found[kind] = "; ".join([why, *sooner])
    return found


def _tasks(job_at: JobAtTime) -> pd.DataFrame:
    """The intervals of the job's tasks, with round and task."""
    rows = job_at.run.timeline[job_at.run.timeline["job"] == job_at.job]
    parts = task_parts(rows["unit"])
    return rows.assign(round=parts["round"].astype("Int64"), task=parts["task"].astype("Int64"))


def _next(job_at: JobAtTime, tasks: pd.DataFrame) -> tuple[str, str]:
    """What the next task waits for, as a sentence and as the row of the model that holds it."""
    later = tasks[(tasks["start_s"] > job_at.at_s) & tasks["kind"].isin(["run", "switch"])].sort_values("start_s")
    if later.empty:
        return "", ""
    first = later.iloc[0]
    number, slot = int(first["round"]), f"{first['node']}/{first['slot']}"
    what = f"Its next task, of round {number}, starts on {slot} at {format_duration(float(first['start_s']), parts=2)}"
    of_gpu = job_at.run.timeline
    here = of_gpu[(of_gpu["node"] == first["node"]) & (of_gpu["slot"] == first["slot"]) & (of_gpu["kind"] != "sync")]
    between = here[(here["end_s"] > job_at.at_s) & (here["start_s"] < first["start_s"])]
    before = between[between["kind"] != "down"]
    if len(before):
        names = list(dict.fromkeys(before["unit"]))
        shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
        return f"{what}, after {counted(len(names), 'task')} of others on that GPU: {shown}.", ONE_TASK
    if len(between):
        return f"{what}, once that node is back.", DOWN
    last = tasks[tasks["round"] == number - 1]
    if len(last) and last["end_s"].max() > job_at.at_s:
        return f"{what}, when round {number - 1} has synchronised.", BARRIER
    return f"{what}.", ARRIVAL
