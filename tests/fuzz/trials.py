"""One trial: a random world under a scheduler with random knobs, and whether the run keeps every rule."""

from __future__ import annotations

import signal
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.explanations import check_explanations
from tests.fuzz.measuring import check_numbers
from tests.fuzz.worlds import world
from tests.simulation.support import check as check_laws
from workbench.analysis import charts
from workbench.base.errors import InputError, WorkbenchError
from workbench.papers.gavel.formulations.min_cost_slo import SloConflictError
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import in_sequences
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.knob import Knob
from workbench.scheduling.solvers import TimeLimitError
from workbench.session.registry import find_scheduler, is_own, schedulers
from workbench.simulation.conservation import check as conserved
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.state import State
from workbench.simulation.stop import Stalled

MOST_DECISIONS = 60
"""A run is cut after so many: what is there must keep the rules just as well."""
PATIENCE_S = 300.0
"""Of CPU time: a run that never ends is told; says nothing about speed."""
STATED = (InputError, Stalled, SloConflictError, TimeLimitError)
"""How a run may end early: an input that is refused, no end to wait for, SLOs that cannot be met
together (where a knob wants that told), and a solver that found nothing in the time that a knob gives it."""


class Outcome(NamedTuple):
    """What came of a trial. kind: finished, cut, the class of a stated failure, or `bug`; text: what was said."""

    world: int
    scheduler: str
    knobs: Mapping[str, Any]
    belief: str
    kind: str
    text: str = ""


class TookTooLong(Exception):
    """A run that used up its CPU time."""


class Cut:
    """Ends a run after so many decisions (`workbench.simulation.stop.Stop`)."""

    def latest_s(self) -> float:
        return float("inf")

    def __call__(self, state: State) -> bool:
        return state.book.unfinished == 0 or state.recorder.decisions >= MOST_DECISIONS


def built_in() -> tuple[str, ...]:
    """Names of the schedulers that a trial may have."""
    return tuple(scheduler.name for scheduler in schedulers() if not is_own(scheduler.name))


def trial(number: int, name: str) -> Outcome:
    """Run a world under a scheduler and check it; whatever goes wrong beyond a stated failure is a `bug`."""
    scheduler = find_scheduler(name)
    rng = np.random.default_rng([number, built_in().index(name)])
    knobs, belief = random_knobs(scheduler, rng), _belief(rng)
    found = Outcome(number, name, knobs, belief, "finished")
    try:
        with _cpu_limit(PATIENCE_S):
            scenario = world(number)
            if not scenario.core.space_sharing and rng.random() < 0.95:
                knobs.pop("space_sharing", None)  # else it is refused
            run = _run(scenario, scheduler, knobs, belief)
            check_run(run)
            check_numbers(run)
            if rng.random() < 0.2:
                _check_more(run, _run(scenario, scheduler, knobs, belief))
                check_explanations(run, rng)
    except STATED as error:
        wrong = _without_reason(world(number), error) if isinstance(error, Stalled) else ""
        return found._replace(kind="bug" if wrong else type(error).__name__, text=f"{wrong}{error}")
    except (WorkbenchError, AssertionError) as error:
        return found._replace(kind="bug", text=f"{type(error).__name__}: {_place(error)} {error}")
    except Exception:
        return found._replace(kind="bug", text=traceback.format_exc(limit=-6))
    whole = bool((run.jobs["finish_s"].notna() | (run.jobs["verdict"] == "refused")).all())
    return found if whole else found._replace(kind="cut")


def _without_reason(scenario: Scenario, error: Stalled) -> str:
    """Of the jobs that wait for ever by a statement, those that have a speed on the nodes of one type; else empty."""
    names = str(error.value).split(" and ")[0].split(", ")
    able = [job.name for job in scenario.jobs if job.name in names and _runs_on_one_type(scenario, job)]
    return f"{', '.join(able)} could run on one type. " if able else ""


def _runs_on_one_type(scenario: Scenario, job: Job) -> bool:
    """Whether a job's gang has a speed on the largest nodes of a type."""
    for kind in scenario.cluster.types:
        left, gpus = job.gpus, {}
        for node in sorted(scenario.cluster.each_node, key=lambda node: -node.gpus):
            if node.accelerator == kind and left:
                gpus[node.name] = min(left, node.gpus)
                left -= gpus[node.name]
        if not left and scenario.table.on_nodes(job.model, gpus) > 0:
            return True
    return False


def _place(error: BaseException) -> str:
    """File and line where an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.line or ''}"


def _run(scenario: Scenario, scheduler: Scheduler, knobs: Mapping[str, Any], belief: str) -> Run:
    made = maker(belief)(scenario) if belief else None
    return run_loop(scenario, scheduler, knobs, stop=Cut(), belief=made)


def check_run(run: Run) -> None:
    """Assert every rule that holds of any run: the laws of the core, sums that add up, and nodes down when they are."""
    check_laws(run, tasks=in_sequences(run.timeline))
    violations = conserved(run)
    assert not violations, "; ".join(map(str, violations[:3]))
    _check_down(run)


def _check_down(run: Run) -> None:
    """A listed outage is down from its start to its end or the run's; nothing else is, unless faults are drawn."""
    faults, down = run.scenario.core.faults, run.timeline[run.timeline["kind"] == "down"]
    for node in run.scenario.cluster.each_node:
        mine = down[(down["node"] == node.name) & (down["slot"] == 0)]
        listed = [(each.from_s, min(each.to_s, run.end_s)) for each in faults.list if each.node == node.name]
        wanted = _length([piece for piece in listed if piece[1] > piece[0]])
        have = list(zip(mine["start_s"].tolist(), mine["end_s"].tolist(), strict=True))
        assert abs(_length([*have, *(piece for piece in listed if piece[1] > piece[0])]) - _length(have)) < 1e-6, node
        assert faults.mtbf_s is not None or abs(_length(have) - wanted) < 1e-6, (node.name, have, listed)
        for slot in range(1, node.gpus):
            other = down[(down["node"] == node.name) & (down["slot"] == slot)]
            assert other["start_s"].tolist() == mine["start_s"].tolist(), (node.name, slot)
            assert other["end_s"].tolist() == mine["end_s"].tolist(), (node.name, slot)


def _length(pieces: list[tuple[float, float]]) -> float:
    """Seconds that some piece covers."""
    covered, until_s = 0.0, 0.0
    for start_s, end_s in sorted(pieces):
        covered += max(end_s - max(start_s, until_s), 0.0)
        until_s = max(until_s, end_s)
    return covered


def _check_more(run: Run, again: Run) -> None:
    """Run again it is equal, saved and read back too; it can be drawn."""
    assert again == run, "the same inputs gave another run"
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run")
        assert Run.load(Path(folder) / "run") == run, "saved and read back it is another run"
    for by in ("slot", "job"):
        charts.gantt(run.timeline, run.jobs, run.decisions, run.events, by=by, cluster=run.scenario.cluster).spec()


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLong inside once so much CPU time is used up (works in the main thread, between Python's steps)."""

    def expired(*_: Any) -> None:
        raise TookTooLong(f"more than {seconds:g} s of CPU")

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # or a late one would set the clock again
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


# Random knobs --------------------------------------------------------------------------------------------------------


USUAL: Mapping[tuple[str, str], tuple[Any, ...]] = {
    ("chronus", "slo_lease_s"): (600, 1200),
    ("chronus", "be_lease_s"): (60, 100, 300),
    ("hadar", "horizon_s"): (None, 1e5, 1e6),
    ("hare", "relaxation"): ("fluid",),  # the other one takes minutes
    ("sia", "p"): (-1.0, -0.5, 0.5, 1.0),
}
"""Values of knobs where most others are refused, as one knob must fit another or the scenario, or take too long."""


def random_knobs(scheduler: Scheduler, rng: np.random.Generator) -> dict[str, Any]:
    """Legal values for some knobs of a scheduler, the others at their default."""
    if rng.random() < 0.2:
        return {}
    part = rng.choice([0.15, 0.5])
    return {
        knob.name: _one(USUAL[scheduler.name, knob.name], rng)
        if (scheduler.name, knob.name) in USUAL
        else random_value(knob, rng)
        for knob in scheduler.knobs
        if rng.random() < part
    }


def _one(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def random_value(knob: Knob, rng: np.random.Generator) -> Any:
    """A legal value of a knob: any choice, none if it may be, small and large numbers around its default."""
    if knob.optional and rng.random() < 0.25:
        return None
    if knob.choices is not None:
        return _one(knob.choices, rng)
    if knob.kind == "bool":
        return bool(rng.random() < 0.5)
    if knob.kind == "str":
        return knob.default
    default = knob.default if isinstance(knob.default, (int, float)) else 1.0
    near = [default, default / 3, default * 2, default + 1, 0, 1, 2, 7.5, 60, 360, knob.minimum, knob.maximum]
    if knob.unit == "s" and knob.name.endswith("round_s"):
        near = [default, default / 3, 30.0, 60.0, 100.0, 1000.0, *(() if knob.minimum else (0.0,))]
    values = [value for value in near if knob.minimum <= value <= knob.maximum and value < 1e6]
    value = _one(values, rng)
    return int(value) if knob.kind == "int" else float(value)


def _belief(rng: np.random.Generator) -> str:
    """Mostly the true speeds (an empty text), sometimes an estimator."""
    names = ("low_rank", "low_rank:profiled=0.5", "scaled", "pmi", "layered")
    return _one(names, rng) if rng.random() < 0.12 else ""
