"""What a lab says about a scenario and a run, in words."""

from __future__ import annotations

import html
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pandas as pd

from workbench.analysis.metrics.rounds import who_decided
from workbench.base.errors import counted
from workbench.base.rounding import short_number
from workbench.base.units import clock
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Formulation, Route, Scheduler
from workbench.scheduling.notation import equations
from workbench.session.read_and_ignored import ignored
from workbench.session.registry import formulations, rooms
from workbench.simulation.run import Run
from workbench.simulation.slot_at_time import SlotAtTime

WORSE = {"optimal": 0, "feasible": 1, "time_limit": 3}
"""How far a solution's status is from the best; 2: any other, of an own scheduler."""
PROPERTIES: Mapping[str, str] = {
    "user": "Users",
    "gpu_choices": "Elastic sizes",
    "weight": "Weights",
    "entity": "Entities",
    "rewards": "Deadlines",
    "tasks_per_round": "Tasks per round",
    "entities.weight": "Entities' weights",
    "entities.policy": "Entities' policies",
    "entities.quota_gpus": "Entities' quotas",
    "models.load_s": "Loading times",
    "models.memory_gb": "Models' memory",
    "cluster.network_gbps": "Network",
}
"""Properties in the words of the tables; others are named as in a scenario's file."""
TRYING, NO_ROW = "each row that binds is being loosened or taken away, to see what changes", "none to show"
"""Said in the place of the decisive row until rows have been tried, so that nothing moves then; and without one."""
DECISIVE = (
    "The row without which this would be otherwise, found by trying: each row that binds is loosened a little or "
    "taken away from that decision on, and the problem solved again, all before as it was (the page Model changes it "
    "from the start of the run). What no run can do without is not decisive. A dual does not tell: it is what the "
    "objective gains, and of two rows with the same dual one may move this bar and the other none."
)
SOLVED = ("model", "assembly")
"""Who made a decision by solving a problem."""


OF_ALL: Mapping[str, str] = {
    "profiling_gpus": "GPUs kept for profiling",
    "guaranteed_gpus": "GPUs in guaranteed leases",
    "spot_gpus": "GPUs left for best effort",
    "plan_gpus": "GPUs that the plan may lease now",
    "plan_gpus_later": "GPUs that it may lease later",
    "profiling_waiting": "jobs waiting to be profiled",
    "profiling_held": "jobs held back from profiling",
}
"""What an algorithm records of no single job, in more words than its name."""
MEANT: Mapping[str, str] = {
    "epigraph": "To make the smallest of several numbers as large as can be, t is maximised, and a row for each of "
    "them keeps t from rising above it",
    "priority": "The highest goes first: by share of time / time had so far, by what the knob of that name says, or by "
    "a sum of weighted factors, as the scheduler has it",
    "rho": "Finish-time fairness: completion time / that on an equal part of the cluster, at least its gang; of a "
    "plan: speed with all GPUs in one node / speed over several",
    "lambda": "What priority counts against throughput: 0 throughput alone, infinite the higher priority always first",
    "latency ratio": "Time without GPUs / the run time that was expected: the lower, the better",
    "reward": "What being done by a deadline is worth",
    "rewards": "What being done by a deadline is worth",
    "spot": "Best effort: on GPUs that guaranteed leases leave over",
    "(ours)": "Not in the paper: added here",
    "erratum": "The paper prints this otherwise, by mistake: what is put right is told below the equations",
    "payoff": "What a job, or one more copy of it, is worth: utility less price of its GPUs, or by knob Payoff",
    "payoffs": "What jobs, or copies of them, are worth: utility less price of their GPUs, or by knob Payoff",
    "last round steps": "Steps of training (iterations) that its copies did together in the last round that they had",
    "utility": "What it is worth that a job is done by some time, as the knob of that name says; with neg_jct rounds "
    "from its end to a horizon, which the exact problem may have nearer",
    "Price": "Of a GPU for a round, in units of utility, once this decision is made: its own steps paid lower ones",
    "queue": "The line that a job stands in; with promises 0 the profiler's, 1 guaranteed jobs', 2 best-effort jobs'",
    "next lease": "From now to when its next lease in the plan begins",
    "T^c": "How long one task computes, without switching to it",
    "first middle": "The middle of its first task in the relaxed problem: the earlier, the sooner it is placed",
    "in a pair": "Two jobs on one GPU at the same time (space sharing)",
    "level t": "The speed, as a part of what is fair, that every job has at least",
    "dual": "What the objective would gain by one unit more on a row's right side",
    "attained": "The GPU time that a job has had so far",
    "renewals": "Times that a job kept its GPUs for another round or lease",
    "fragments": "GPUs that stand idle while a job waits",
    "CRU": "The part of the time in which a node has a GPU at work, over all nodes",
}
"""Words of the papers, and what they mean to somebody who has not read these."""
EQUATION = re.compile(r"\((\d+(?:, (?:\d+|ours|erratum|s\.t\.))*)\)")
OF_PAPER = "The number of the paper's equation, which the page Model has"
WORDS = re.compile(rf"{EQUATION.pattern}|(?<!\w)(?:{'|'.join(map(re.escape, MEANT))})(?!\w)")


def hinted(text: str, scheduler: str = "") -> str:
    """A text as HTML, with what words of the papers mean on hover, each where it stands first; (8) as (equation 8).

    scheduler: whose problems have the equations; another number in brackets may be of a name.
    """
    said: set[str] = set()

    def hint(found: re.Match[str]) -> str:
        tags = found[1].split(", ") if found[1] else []
        meant = ". ".join([OF_PAPER, *(MEANT[tag] for tag in tags if tag in MEANT)]) if tags else MEANT[found[0]]
        if not {*tags} <= _tags(scheduler):
            return found[0]
        text = f"(equation {found[1]})" if tags else found[0]  # which no one takes for a count
        if meant in said:
            return text
        said.add(meant)
        return f"<abbr title='{html.escape(meant, quote=True)}'>{text}</abbr>"

    return WORDS.sub(hint, html.escape(text))


def _tags(scheduler: str) -> set[str]:
    """Tags of the equations of a scheduler's problems."""
    of_room = (room.formulations for room in rooms() if scheduler in {each.name for each in room.schedulers})
    found = [*itertools.chain(*of_room), *(each for each in formulations() if each.name == scheduler)]
    return set().union(*map(_tags_of, found))


@lru_cache(64)
def _tags_of(formulation: Formulation[Any]) -> frozenset[str]:
    return frozenset(tag for equation in equations(formulation) for tag in equation.tag.split(", "))


SHORT = 160
"""Characters that take two lines beside the file browser."""


def decisive_html(text: str, about: str = "", scheduler: str = "") -> str:
    """What is decisive, with what that means on hover and for a screen reader; a long text is folded after its first
    sentence. about: of what, from a blank on; scheduler: as for `hinted`."""
    said = f"<b><span title='{html.escape(DECISIVE, quote=True)}' tabindex='0'>Decisive</span>"
    first, stop, more = text.partition(". ")
    begin = f"{said}{html.escape(about)}:</b> {hinted(first, scheduler)}."
    if not stop or len(text) < SHORT:
        return f"<p class='wb-decisive'>{begin}{' ' + hinted(more, scheduler) + '.' if stop else ''}</p>"
    return f"<details class='wb-decisive'><summary>{begin}</summary> {hinted(more, scheduler)}.</details>"


def ignored_note(scheduler: Scheduler, scenario: Scenario, belief: str, left_out: str) -> str:
    """What is set but read neither by the scheduler nor by the estimator of its belief; and what was left out. HTML."""
    named = [PROPERTIES.get(name, name) for name in ignored(scenario, scheduler.name, belief)]
    said = ", ".join(name[:1].lower() + name[1:] for name in named)
    sentences = [f"{scheduler.title} makes no use of: {said}."] if named else []
    return "".join(f"<p class='wb-note'>{html.escape(text)}</p>" for text in [*sentences, left_out] if text)


def about(scenario: Scenario) -> str:
    """Name and description, as HTML."""
    name = f"<b>{html.escape(scenario.name)}</b>" if scenario.name else ""
    text = ": ".join(filter(None, [name, html.escape(scenario.description)]))
    return f"<p class='wb-note'>{text}</p>" if text else ""


def noted(notes: Sequence[str]) -> str:
    """Where a scenario comes from: the first of its notes, which opens to show the others. HTML."""
    if not notes:
        return ""
    first, *others = (html.escape(text) for text in notes)
    more = f"<ul>{''.join(f'<li>{text}</li>' for text in others)}</ul>"
    if not others:
        return f"<p class='wb-note'>{first}</p>"
    count = counted(len(others), "more note")
    return f"<details class='wb-note'><summary>{first} ({count})</summary>{more}</details>"


def also(scenario: Scenario) -> str:
    """What the scenario holds besides the tables and controls: kept as it is, not edited here. HTML."""
    core = scenario.core
    counts = {
        "co-located pairs": scenario.colocated,
        "jobs running at the start": scenario.running,
        "facts of models": scenario.models,
        "listed outages": core.faults.list,
    }
    found = [f"{len(rows)} {name}" for name, rows in counts.items() if rows]
    found += [f"scaling law {scenario.scaling.law}"] if scenario.scaling.law != "none" else []
    text = f"Also in this scenario, kept as it is: {', '.join(found)}." if found else ""
    return f"<p class='wb-note'>{html.escape(text)}</p>"


def done(run: Run, wall_s: float) -> str:
    """Who decided, with the worst status and gap, and how long it took: one line."""
    solved = run.decisions[run.decisions["made_by"].isin(SOLVED)]
    statuses, gaps = sorted(set(solved["status"]) - {""}), solved["gap"].dropna()
    worst = max(statuses, key=lambda status: WORSE.get(status, 2), default="")
    gap = f", gap {gaps.max():.2%}" if len(gaps) and gaps.max() > 0 else ""
    status = f" ({worst.replace('_', ' ')}{gap})" if worst else ""
    return f"Done: {who_decided(run, status)}; {_seconds(wall_s)}."


def quoted(formulation: str) -> str:
    """A formulation by its title; what is none stays."""
    return next((f"\u201c{found.title}\u201d" for found in formulations() if found.name == formulation), formulation)


def told(route: Route) -> str:
    """How a scheduler comes to its decisions, with the title of what is solved."""
    return replace(route, formulation=quoted(route.formulation)).sentence


def cost(wall_s: float) -> str:
    """What a solve costs, as far as one was made; wall_s: of the last, infinite without one."""
    return f" The last solve took {_seconds(wall_s)}." if math.isfinite(wall_s) else ""


def first_cost(tried: Mapping[str, Any]) -> str:
    """What the first solve will cost, by how far a trial came: `cost` of `workbench.cli.lab_process`."""
    wall_s, finished, jobs = float(tried["wall_s"]), int(tried["finished"]), int(tried["jobs"])
    if finished == 0:
        return f" A solve takes long: after {_seconds(wall_s)} none of {counted(jobs, 'job')} was done."
    about = "" if finished == jobs else "about "
    by = "" if finished == jobs else f", as {_seconds(wall_s)} got {finished} of {counted(jobs, 'job')} done"
    return f" A solve takes {about}{short_number(float(f'{wall_s * jobs / finished:.1g}'))} s{by}."


def _seconds(seconds: float) -> str:
    """To a hundredth at most, as nobody reads a wall time closer: the status is one line."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{short_number(seconds)} s"


def held(run: Run, gpu: str, at_s: float) -> str:
    """Who holds a GPU then, with the restart before it."""
    slot = SlotAtTime(run, gpu, at_s)
    now = slot.now
    assert now is not None
    before = SlotAtTime(run, gpu, math.nextafter(now["start_s"], 0.0)).now if now["start_s"] > 0 else None
    restarts = before is not None and before["kind"] in ("restart", "switch") and before["unit"] == now["unit"]
    start_s = before["start_s"] if before is not None and restarts else now["start_s"]
    until = f" ({before['kind']} until {clock(now['start_s'])})" if before is not None and restarts else ""
    many = f", one of {now['gpus']} GPUs," if now["gpus"] > 1 else ""
    return f"{gpu} ({slot.accelerator}){many} from {clock(start_s)}{until} to {clock(now['end_s'])}"


def of_job(run: Run, name: str, here: str) -> str:
    """A job in one line, without what did not happen to it; here: the bar of it that was clicked, empty: none."""
    row = next(iter(run.jobs[run.jobs["job"] == name].to_dict("records")))
    spec = next(job for job in run.scenario.jobs if job.name == name)
    most = max(spec.gpu_choices or (0,))
    unfinished = pd.isna(row["finish_s"])
    took = "not finished" if unfinished else f"took {clock(row['finish_s'] - row['arrival_s'])}"
    facts = [
        *filter(None, [here]),
        str(row["model"]),
        counted(row["gpus"], "GPU") + (f" (elastic: may have {most})" if most > row["gpus"] else ""),
        f"arrived at {clock(row['arrival_s'])}",
        took,
    ]
    if row["waited_s"]:
        facts += [f"without GPUs for {clock(row['waited_s'])}"]
    if row["preemptions"]:
        facts += [f"lost its GPUs {counted(row['preemptions'], 'time')}"]
    if row["moves"]:  # who lost its GPUs may have come back on others, which is no move
        facts += [f"moved at once {counted(row['moves'], 'time')}"]
    return ", ".join(facts)
