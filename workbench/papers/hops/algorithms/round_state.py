"""The plans of one decision of Hops: who waits, whom each plan may serve, who gets what, and what was behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.units import moment
from workbench.papers.hops.algorithms.gains import gain_signals
from workbench.papers.hops.algorithms.learning_rates import learning_rate
from workbench.papers.hops.algorithms.queue import HopsQueue, adjusted_window, sensitivities, service_window
from workbench.papers.hops.algorithms.round_plan import SolvedPlan, fingerprint, make_plan, plan_by
from workbench.papers.hops.instance import HopsInstance, plan_data, previous_layouts, sizes_of
from workbench.papers.hops.knobs import power_of
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.decision import Reason
from workbench.scheduling.job_orders import take
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import KEPT, Solver, SolveReport, TimeLimitError

Placements = Mapping[str, Mapping[str, int]]
"""`{job: {server: GPUs}}`."""


class MadePlan(NamedTuple):
    """One plan that was made: whom it could choose from, what they got, how it was found."""

    data: HopsInstance
    planned: SolvedPlan


class FirstPlan(NamedTuple):
    """A first plan. key: of its problem, see `fingerprint`."""

    key: str
    placed: Placements
    solution: SolveReport


class DuePlan(NamedTuple):
    """A plan that is to be carried out at `due_s`."""

    placed: Placements
    due_s: float


class RoundState:
    """The state of one round being decided: the plans of a decision.

    placed: what jobs get; before: GPUs of the jobs whose time on them ends now; solved: whether the first plan was made
    anew; planned_gpus: how many it could give out; taken: free GPUs that are given out; listed: jobs whose gains have
    been recorded when a round began, an earlier one or this. instead: the own formulation that plans.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        line: HopsQueue,
        knobs: Knobs,
        profiled: Collection[str],
        listed: Collection[str] = (),
        instead: Formulation[Any] | None = None,
    ) -> None:
        self._snapshot, self._line, self._knobs, self._profiled = snapshot, line, knobs, profiled
        self._instead = instead
        self.placed: dict[str, Mapping[str, int]] = {}
        self.before: Placements = {unit: end.gpus for unit, end in snapshot.ended.items() if isinstance(unit, str)}
        self.solved, self.planned_gpus = False, 0
        self.taken: Counter[str] = Counter()
        self._made: list[MadePlan] = []
        self._again: FirstPlan | None = None
        self._late = False
        self._inside: dict[str, bool] = {}  # of the jobs planned for, whether they had a configuration in any plan
        self._rho: dict[str, float] = {}
        self._place: dict[str, float] = {}  # of the jobs that waited when the first plan was made
        self._window: dict[str, float] = {}  # number of the first plan whose service window a job was in, 0 for none
        self._let_in: dict[str, float] = {}  # 1 for jobs that only the adjustment has let in
        self._gains: dict[str, dict[str, float]] = {}
        self._noted: set[str] = set()
        self._plans = 0
        self.listed = frozenset(listed)
        self._total = int(snapshot.capacity.sum())

    @property
    def first(self) -> MadePlan | None:
        """The first plan that was made, whose objective the decision reports."""
        return self._made[0] if self._made else None

    def take(self, gpus: Mapping[str, int]) -> None:
        """Take GPUs that are free now out of what may be planned."""
        self.taken.update(gpus)

    def begin(self, past: FirstPlan | None) -> tuple[Placements, FirstPlan | None]:
        """The first plan of a round, and what to remember of it; past: of the one a round ago.

        The same problem as a round ago has the same answer. If no plan is found in time, jobs stay where they were.
        """
        line = self._waiting()
        inside = self._inside_window(line)
        rows = np.sort(line[:inside])
        self.planned_gpus = self._idle()
        if not len(rows) or self.planned_gpus == 0:
            return {}, None
        self._note_window(line, inside)
        data = self._data(rows)
        self._note_gains(self._data(self._unlisted(rows), all_free=True) if self.taken else data, whole=True)
        key = fingerprint(data, power_of(self._knobs))
        if past is not None and past.key == key and self._instead is None:
            self._again = past
            return past.placed, past
        found = self._plan(data, self.before)
        if found is None:
            return self.before, None
        self.solved = True
        report = self._made[0].planned.solved
        return found, None if report.status == "time_limit" else FirstPlan(key, found, report)

    def fill(self, adjust: bool) -> None:
        """Plans for the jobs that wait on the GPUs that are idle, until one of them places nobody."""
        while not self._late:
            rows, idle = self._waiting(), self._idle()
            if not len(rows) or idle == 0:
                return
            inside = self._inside_window(rows)
            self._note_window(rows, inside)
            if adjust:
                chosen = adjusted_window(inside, self._sensitivity(rows), self._least(rows), idle)
                self._note_let_in(rows[chosen[chosen >= inside]])
                rows = rows[chosen]
            else:
                rows = rows[:inside]
            data = self._data(np.sort(rows))
            self._note_gains(data, whole=False)
            found = self._plan(data, {})
            if not found:
                return
            self.carry_out(found)

    def carry_out(self, found: Placements) -> None:
        """Take the GPUs of those who are still there, as far as they are free."""
        nodes = self._snapshot.nodes
        free = dict(zip(nodes.names, np.where(nodes.up, nodes.free, 0).tolist(), strict=True))
        for name, gpus in found.items():
            fits = all(free[node] - self.taken[node] >= count for node, count in gpus.items())
            if name in self._at and name not in self.placed and fits:
                self.placed[name] = gpus
                self.taken.update(gpus)

    @property
    def _at(self) -> Mapping[str, int]:
        return self._snapshot.jobs.at

    def _waiting(self) -> IntArray:
        """Rows of the jobs without GPUs that have been profiled, in the order of the queue."""
        names = self._snapshot.jobs.names
        held = {*self._snapshot.leases, *self.placed, *self._profiled}
        return np.array([row for row in self._line.order.tolist() if names[row] not in held], dtype=np.int64)

    def _least(self, rows: IntArray) -> IntArray:
        jobs = self._snapshot.jobs.jobs
        return np.array([sizes_of(jobs[row], self._knobs)[0] for row in rows.tolist()], dtype=np.int64)

    def _sensitivity(self, rows: IntArray) -> FloatArray:
        """(rows,) rho, each asked for once."""
        names = self._snapshot.jobs.names
        new = [row for row in rows.tolist() if names[row] not in self._rho]
        view = take(self._snapshot.jobs, new)
        found = sensitivities(view, self._snapshot.belief, self._snapshot.cluster)
        self._rho.update(zip(view.names, found.tolist(), strict=True))
        return np.array([self._rho[names[row]] for row in rows.tolist()], dtype=float)

    def _inside_window(self, rows: IntArray) -> int:
        if not self._knobs["service_window"]:
            return len(rows)
        return service_window(self._least(rows), self._total) if self._total else 0

    def _idle(self) -> int:
        nodes = self._snapshot.nodes
        return int(nodes.free[nodes.up].sum()) - self.taken.total()

    def _data(self, rows: IntArray, all_free: bool = False) -> HopsInstance:
        """The data of a plan on what is idle; `all_free`: also on the GPUs that profiles have just been given."""
        priority, rho = self._line.priority[rows], self._sensitivity(rows)
        taken = {} if all_free else self.taken
        return plan_data(self._snapshot, rows, priority, rho, self._knobs, taken)

    def _unlisted(self, rows: IntArray) -> IntArray:
        """Those whose gains are still to be recorded."""
        names = self._snapshot.jobs.names
        return np.array([row for row in rows.tolist() if names[row] not in self.listed], dtype=np.int64)

    def _plan(self, data: HopsInstance, before: Placements) -> Placements | None:
        """What a plan gives these jobs; before: where jobs were until now. None, and late, if time ran out."""
        for name, able in zip(data.jobs, data.able.tolist(), strict=True):
            self._inside[name] = able or self._inside.get(name, False)
        previous = previous_layouts(data, before)
        solver = Solver(time_limit_s=self._knobs["time_limit_s"])
        try:
            if self._instead is None:
                planned = make_plan(data, self._knobs, solver, previous)
            else:
                planned = plan_by(self._instead, data, self._knobs, solver)
        except TimeLimitError:
            self._late = True
            return None
        self._made.append(MadePlan(data, planned))
        return {data.jobs[row]: data.named(placed.layout) for row, placed in planned.plan.items()}

    # What was behind it ----------------------------------------------------------------------------------------------

    def _note_window(self, rows: IntArray, inside: int) -> None:
        """A plan is made for the first `inside` of those who wait."""
        names = [self._snapshot.jobs.names[row] for row in rows.tolist()]
        self._plans += 1
        if not self._place:
            self._place = {name: float(place) for place, name in enumerate(names, start=1)}
            self._window = dict.fromkeys(names, 0.0)
        for name in names[:inside]:
            self._window[name] = self._window[name] or float(self._plans)

    def _note_let_in(self, rows: IntArray) -> None:
        names = [self._snapshot.jobs.names[row] for row in rows.tolist()]
        self._let_in.update({name: 1.0 for name in names if not self._window[name]})

    def _note_gains(self, data: HopsInstance, whole: bool) -> None:
        """Keep the gains of jobs that no plan of the whole cluster has listed yet; `whole`: this is one."""
        new = [name for name in data.jobs if name not in self.listed and name not in self._noted]
        for signal, gains in gain_signals(data, self._snapshot, new).items() if new else ():
            self._gains.setdefault(signal, {}).update(gains)
        self._noted.update(new)
        if whole:
            self.listed |= set(new)

    def signals(self) -> dict[str, dict[str, float]]:
        """Numbers of each job, by name.

        priority, latency_ratio (6) and age_s of all. Of those who waited when the first plan was made: place in the
        queue, window (number of the first plan whose service window the job was in, 0: none) and let_in (1 for those
        whom only the adjustment let in); sensitivity (10) as far as it was looked at. Weight `W_i` (lambda finite) and
        gain `G_ij` of those planned for; learning_rate of elastic jobs that get GPUs, over that of their smallest size.
        The gains of all configurations, see `gain_signals`, of a job's first plan at the beginning of a round, and
        until then of the plans within rounds.
        """
        jobs, line = self._snapshot.jobs, self._line
        found = {
            "priority": dict(zip(jobs.names, line.priority.tolist(), strict=True)),
            "latency_ratio": dict(zip(jobs.names, (jobs.waited_s / line.age_s).tolist(), strict=True)),
            "age_s": dict(zip(jobs.names, line.age_s.tolist(), strict=True)),
            "place": self._place,
            "window": self._window,
            "let_in": {name: said for name, said in self._let_in.items() if not self._window[name]},
            "sensitivity": self._rho,
            "weight": {},
            "gain": {},
            "learning_rate": self._learning_rates(),
            **self._gains,
        }
        power = power_of(self._knobs)
        for data, planned in self._made:
            if np.isfinite(power):
                found["weight"].update(zip(data.jobs, data.weights(power).plain.tolist(), strict=True))
            found["gain"].update({data.jobs[row]: placed.gain for row, placed in planned.plan.items()})
        return {name: values for name, values in found.items() if values}

    def _learning_rates(self) -> dict[str, float]:
        rule, found = self._knobs["learning_rate"], {}
        for name, gpus in self.placed.items():
            sizes = self._snapshot.jobs.jobs[self._at[name]].sizes
            if len(sizes) > 1:
                found[name] = learning_rate(1.0, sizes[0], sum(gpus.values()), rule)
        return found

    def solution(self) -> SolveReport:
        """How the plans were found; the objective is the first one's."""
        if not self._made:
            if self._again is not None:
                before = self._again.solution
                return replace(KEPT, objective=before.objective, bound=before.bound, gap=before.gap)
            return replace(KEPT, status="time_limit") if self._late else KEPT
        first, makers = self._made[0].planned.solved, [made.planned.solved.made_by for made in self._made]
        made_by = next((maker for maker in makers if maker != KEPT.made_by), KEPT.made_by)
        status = KEPT.status if made_by == KEPT.made_by else first.status
        return replace(
            first,
            status="time_limit" if self._late else status,
            build_s=sum(made.planned.solved.build_s for made in self._made),
            solve_s=sum(made.planned.solved.solve_s for made in self._made),
            passes=len(self._made),
            made_by=made_by,
        )

    def why(self, due: DuePlan | None) -> dict[str, Reason]:
        """Why those who got nothing wait, and who goes by a plan that time did not suffice for.

        due: a plan that is not carried out yet.
        """
        found: dict[str, Reason] = self._shortened()
        for place, row in enumerate(self._waiting().tolist(), start=1):
            name = self._snapshot.jobs.names[row]
            found[name] = self._waits(name, {"place": float(place)}, due)
        for name in filter(self._profiled.__contains__, self._snapshot.jobs.names):
            found[name] = Reason("profiled", "it is profiled first, and enters the queue then")
        return found

    def _waits(self, name: str, facts: Mapping[str, float], due: DuePlan | None) -> Reason:
        """Why a job of the queue has no GPUs."""
        if due is not None and name in due.placed:
            return Reason("coming", f"a plan that is carried out at {moment(due.due_s)} has GPUs for it", facts)
        if name in self._inside:
            if not self._inside[name]:
                return Reason("no_room", "no idle GPUs on which it runs at one of its sizes", facts)
            more = "the weighted gains of others add up to more"
            own = more if self._instead is None else f"the answer of {self._instead.name} is without it"
            return Reason("not_chosen", f"it could be chosen, but {own}", facts)
        if name in self._window:
            return Reason("outside", "beyond the service window: those before it ask for all GPUs", facts)
        if due is not None:
            text = f"until {moment(due.due_s)}, when the next plan is carried out, all goes on as before"
            return Reason("between_plans", text, facts)
        if self._idle() == 0:
            return Reason("no_idle", "no GPU is idle, and within a round nobody gives up any", facts)
        return Reason("no_plan", "no plan is made before the next round", facts)

    def _shortened(self) -> dict[str, Reason]:
        """Those who go on because no plan was found in time, or who get what the best plan until then gives them."""
        if self._late and not self._made:
            text = "the solver's time ran out before there was a plan: the last round's goes on"
            return {name: Reason("out_of_time", text) for name in self.placed}
        found: dict[str, Reason] = {}
        for data, planned in self._made:
            solved = planned.solved
            if solved.status == "time_limit":
                gap = "unknown" if solved.gap is None else f"{solved.gap:.2%} at most"
                text = f"the solver's time ran out: the best plan until then, its distance from the best {gap}"
                names = (data.jobs[row] for row in planned.plan)
                found.update({name: Reason("incumbent", text) for name in names if name in self.placed})
        return found
