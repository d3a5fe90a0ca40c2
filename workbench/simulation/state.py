"""The state of a simulated cluster: time, jobs, nodes, leases. It moves in straight lines between changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.round_times import TIE, is_tie
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Cause, Decision, Reason, Unit, is_copy, members, unit_name
from workbench.scheduling.snapshot import Belief, JobView, NodeView, Observation, Snapshot, later
from workbench.simulation.enforced_limits import Checker
from workbench.simulation.jobbook import JobBook
from workbench.simulation.leasing import Lease, Leasing, Ran
from workbench.simulation.nodes import NodeChanges, Nodes
from workbench.simulation.recorder import Nothing, Recorder
from workbench.simulation.task_sequences import Sequences

NOT_RENEWED = "its assignment ended and was not renewed"


class State:
    """Everything that changes during a simulation; `advance` moves time, `apply` carries out decisions."""

    def __init__(
        self, scenario: Scenario, scheduler: str, belief: Belief, seed: int = 0, detail: int | None = None
    ) -> None:
        self.scenario, self.belief, self.now_s = scenario, belief, 0.0
        self.book = JobBook(scenario)
        self.nodes = Nodes(scenario)
        self.recorder = Recorder({node.name: node.accelerator for node in scenario.cluster.each_node}, detail)
        self.leasing = Leasing(scenario, self.book, self.nodes, self.recorder)
        self.checker = Checker(scenario, scheduler, self.book.rank.keys())
        self.sequences = Sequences(scenario, self.book, self.nodes, self.recorder, self.checker)
        self.faults = NodeChanges(scenario, seed)
        self._known: dict[str, Any] = {  # with what each snapshot sets, so that its copy need not grow
            **dict.fromkeys(("now_s", "cause", "in_detail", "jobs", "nodes", "finished", "observe", "_read")),
            "cluster": _without_speeds(scenario.cluster),
            "types": scenario.cluster.types,
            "belief": belief,
            "entities": scenario.entities,
            "models": scenario.models,
            "synchronisation_s": scenario.table.synchronisation_s,
        }
        same = ("names", "kind", "gpus", "at", "of_kind", "largest")
        self._nodes = {name: getattr(self.nodes, name) for name in same}
        nodes, leasing = self.nodes, self.leasing
        self._columns: dict[str, Callable[[], Any]] = {  # what else a snapshot and its views ask for is the book's
            **{name: partial(nodes.column, name, leasing) for name in ("free", "up", "by_free", "left")},
            "leases": lambda: {unit: lease.assignment for unit, lease in leasing.leases.items()},
            "ended": lambda: {unit: lease.assignment for unit, lease in leasing.ended.items()},
            "waiting": self.book.waiting,
            "steps_left": self.steps_left,
        }
        self._happened: set[Cause] = set()
        self._new_finished: dict[str, float] = {}
        self._start_running()

    def _start_running(self) -> None:
        """Put `running` jobs on their GPUs with an assignment that ends now: the first decision may renew it."""
        self._admit(self.now_s)
        drained = self._take_faults()
        for held in self.scenario.running:
            down = [node for node in held.gpus if self.nodes.at[node] in self.nodes.down_since_s.keys() - drained]
            if down:
                self.book.preemptions[self.book.rank[held.job]] += 1
                self.recorder.event(self.now_s, "preempt", held.job, held.job, reason=f"{down[0]} is down")
            else:
                a = Assignment(held.job, held.gpus, self.now_s)
                rates = self.leasing.rates(a, [self.book.jobs[self.book.rank[held.job]]])
                self.leasing.start([a], [rates], self.now_s, {}, free=True)
        for node in drained:
            self.nodes.down_since_s[node] = self.now_s, self.nodes.slots.slots(self.nodes.names[node], free=True)
        self.leasing.end_due(self.now_s)
        self._happened.clear()

    # What a scheduler sees -------------------------------------------------------------------------------------------

    def steps_left(self) -> FloatArray:
        """Steps left now of the active jobs."""
        return np.maximum(self.book.left[self.book.active()] - self.leasing.done(self.now_s), 0.0)

    def snapshot(self, cause: Cause, *, future: bool = False) -> Snapshot:
        """What the scheduler may see now."""
        read = self._reader()
        leasing, nodes, known = self.leasing, self._nodes.copy(), self._known.copy()
        if not leasing.ended:  # then they are kept up to date
            nodes["left"], nodes["by_free"], known["ended"] = self.nodes.left(), self.nodes.by_free(), {}
        known["now_s"], known["cause"], known["in_detail"] = self.now_s, cause, self.recorder.in_detail
        known["jobs"] = later(JobView, read, {})
        known["nodes"] = later(NodeView, read, nodes)
        known["finished"], self._new_finished = self._new_finished, {}
        of_tasks: Callable[[], Iterable[Observation]] = tuple
        if self.sequences.used:
            known["tasks"], of_tasks = self.sequences.view(), self.sequences.measured()
        if future:
            known["future"] = tuple(self.book.jobs[self.book.admitted :])
        before = self.recorder.decisions, leasing.measured, leasing.measured_from_s, of_tasks
        known["observe"] = partial(self._observe, *before)
        leasing.measured, leasing.measured_from_s = [], self.now_s
        return later(Snapshot, read, known)

    def _reader(self) -> Callable[[str], Any]:
        """Columns of the snapshot and its two views by name, as long as nothing has been decided."""
        recorder, decisions, columns = self.recorder, self.recorder.decisions, self._columns

        def read(name: str) -> Any:
            if recorder.decisions != decisions:
                raise RuntimeError(f"{name} can be read for the first time only while deciding (see Snapshot.keep)")
            column = columns.get(name)
            return self.book.column(name, self.now_s) if column is None else column()

        return read

    def _observe(
        self, decisions: int, measured: list[Ran], from_s: float, of_tasks: Callable[[], Iterable[Observation]]
    ) -> tuple[Observation, ...]:
        """Measurements since a snapshot before, worked out only if the scheduler asks for them while it decides."""
        if self.recorder.decisions != decisions:
            raise RuntimeError("observations can be read only while deciding")
        running = chain(self.leasing.leases.values(), self.leasing.ended.values())
        ran = chain(measured, ((lease, from_s, self.now_s) for lease in running))
        return tuple(chain(*(self.leasing.measure(*each) for each in ran), of_tasks()))

    def has_stepped(self, from_s: float) -> bool:
        """Whether any job did a part of a step from a time on: since this was last found."""
        booked, self.book.stepped = self.book.stepped, False
        return booked or self.sequences.busy or self.leasing.has_worked(from_s, self.now_s)

    def has_idle_and_waiting(self) -> bool:
        """Whether GPUs are idle on nodes that are up while jobs wait."""
        free = self.nodes.free(self.leasing)
        return self.book.holding < self.book.present and bool(free.sum() > 0)

    def all_finished(self, first: int, last: int) -> bool:
        """Whether the jobs from number `first` to `last` (by arrival) have all finished or been refused."""
        last = min(last, len(self.book.jobs) - 1)
        return last < self.book.admitted and not bool(self.book.alive[first : last + 1].any())

    # Time ------------------------------------------------------------------------------------------------------------

    def next_completion_s(self) -> float:
        """Time of the next completion if nothing changes, or of the next task's end (tasks complete jobs in turn)."""
        if not self.sequences.used:
            return self.book.next_done_s
        return min(self.book.next_done_s, self.sequences.next_s()) if self.book.present else math.inf

    def next_change_s(self) -> float:
        """Time of the next arrival, completion, end of a lease or change of a node."""
        times = (self.book.next_arrival_s, self.next_completion_s(), self.leasing.next_end_s, self.faults.next_s)
        return min(times)

    def advance(self, to_s: float) -> Set[Cause]:
        """Go to a time, completing jobs, ending leases and changing nodes on the way.

        Returns what has happened since the last decision. Leases that end at `to_s` itself can still be renewed. When
        no job is left the simulation stays at the last completion.
        """
        book, leasing, faults, used = self.book, self.leasing, self.faults, self.sequences.used
        while True:
            now_s = self.next_completion_s() if used else book.next_done_s
            if leasing.next_end_s < now_s and not is_tie(leasing.next_end_s, to_s):
                now_s = leasing.next_end_s
            if faults.next_s < now_s:
                now_s = faults.next_s
            there = now_s >= to_s
            if there:
                now_s = to_s
                if book.next_arrival_s <= to_s:
                    self._admit(to_s)
            self.now_s = now_s
            # What happens at an instant, in a fixed order: completions, ends of leases, changes of nodes.
            latest_s = now_s * (1 + TIE)
            if book.next_done_s <= latest_s:
                for rank in book.done_by(latest_s):
                    self._finish(rank)
            if used:
                for rank in self.sequences.happen(now_s):
                    self._finish(rank)
            if leasing.next_end_s <= latest_s:
                leasing.end_due(now_s)
                self._happened.add("lease_end")
            if faults.next_s <= now_s:
                self._take_faults()
            if there:
                return self._happened
            if leasing.ended:
                self.release_ended()
            if not book.unfinished:
                return self._happened

    def _admit(self, now_s: float) -> None:
        for rank in self.book.admit(now_s):
            self._happened.add("arrival")
            self.recorder.event(self.book.one.arrival_s[rank], "arrival", self.book.names[rank])

    def _finish(self, rank: int) -> None:
        """Complete a job: all its units give back their GPUs; the other half of a pair goes on alone."""
        name, leasing, now_s = self.book.names[rank], self.leasing, self.now_s
        for unit in leasing.holder.get(rank, ()):
            if isinstance(unit, str) or is_copy(unit):
                leasing.close(unit, now_s, leaving=True)
                leasing.former.pop(unit, None)
            else:
                leasing.go_on_alone(unit, rank, now_s, f"{name} finished: goes on alone")
                break  # it has no other
        leasing.holder.pop(rank, None)
        leasing.former.pop(name, None)
        self.book.leave(rank, now_s, finished=True)
        self._new_finished[name] = now_s
        self._happened.add("completion")
        self.recorder.event(now_s, "finish", name)

    def _take_faults(self) -> set[int]:
        """Change the nodes that go down or come back now; returns those that are drained."""
        found: set[int] = set()
        for change in self.faults.until(self.now_s):
            name, drained = self.nodes.names[change.node], not change.up and not change.fails
            self.nodes.turn(change.node, change.up)
            self._happened.add("repair" if change.up else "fault")
            reason = "drained: what runs there goes on" if drained else ""
            self.recorder.event(self.now_s, "repair" if change.up else "fault", where=name, reason=reason)
            self._record_down(change.node)
            if not change.up:
                self.nodes.down_since_s[change.node] = self.now_s, self.nodes.slots.slots(name, free=drained)
            found = found | {change.node} if drained else found - {change.node}
            if change.fails:
                self._fail(name)
        return found

    def _fail(self, node: str) -> None:
        """A node failed: what ran there goes, and loses the steps since its last checkpoint (a task: all of it)."""
        for task, lost in self.sequences.fail(node, self.now_s):
            self.recorder.event(self.now_s, "lost_steps", task.job, unit_name(task), reason=f"{lost:g} steps lost")
        for unit, lease in list(self.leasing.leases.items()):
            if node in lease.assignment.gpus:
                self._lose(unit, self._suspend(unit, f"{node} failed"))
        for unit, lease in list(self.leasing.ended.items()):
            if node in lease.assignment.gpus:
                self._lose(unit, self._suspend(unit, f"its assignment ended and {node} failed"))

    def _lose(self, unit: Unit, lease: Lease) -> None:
        for rank, lost in zip(lease.jobs, self.leasing.lose(lease, self.now_s), strict=True):
            if lost > 0:
                reason = f"{lost:g} steps lost"
                self.recorder.event(self.now_s, "lost_steps", self.book.names[rank], unit_name(unit), reason=reason)

    def _record_down(self, node: int) -> None:
        start_s, slots = self.nodes.down_since_s.pop(node, (self.now_s, ()))
        if self.now_s > start_s:
            self.recorder.interval(Nothing, slots, None, (), "down", start_s, self.now_s)

    # Decisions -------------------------------------------------------------------------------------------------------

    def apply(self, decision: Decision, cause: Cause) -> None:
        """Carry out a decision; raises InvalidDecision if it breaks a limit, before anything has changed."""
        self.checker.shape(decision, self.now_s, in_detail=self.recorder.in_detail)
        d = decision
        does = d.assign or d.preempt or d.verdicts or d.sequences is not None or self.leasing.ended
        self.go_on(decision, cause, changed=bool(does) and self._carry_out(decision))

    def go_on(self, decision: Decision, cause: Cause, *, changed: bool = False) -> None:
        """Record a decision that is carried out."""
        book, nodes = self.book, self.nodes
        self._happened.clear()
        row = (self.now_s, cause, book.present, book.present - book.holding, nodes.held, nodes.gpus_up, changed)
        self.recorder.decision(row, decision)

    def _carry_out(self, decision: Decision) -> bool:
        """Returns whether anybody has other GPUs than before."""
        renewed, fresh = self._sort_out(decision)
        dropped: list[Unit] = []
        if decision.preempt or self.leasing.ended:
            preempted = [unit for unit in self.leasing.leases if unit in decision.preempt]
            dropped = [unit for unit in (*self.leasing.ended, *preempted) if unit not in renewed]
        rates = self._check_new(fresh, set(dropped))
        if decision.verdicts:
            self._check_verdicts(decision)
        if decision.sequences is not None:
            self._check_sequences(decision)
        had = {}
        if dropped:
            again = {name for a in fresh for name in members(a.unit)}
            for unit in dropped:
                reason = NOT_RENEWED if unit in self.leasing.ended else "preempted"
                had[unit] = set(self._suspend(unit, reason, decision.why, again).slots)
        if renewed:
            self.leasing.renew(renewed, self.now_s)
        if fresh:
            self.leasing.start(fresh, rates, self.now_s, decision.why)
        moved = had != {a.unit: set(self.leasing.leases[a.unit].slots) for a in fresh} if had else bool(fresh)
        if decision.sequences is not None:
            self.sequences.replace(decision.sequences, self.now_s, decision.why, decision.switching)
        refused = self._take_verdicts(decision) if decision.verdicts else []
        return bool(moved or refused or decision.sequences is not None)

    def _sort_out(self, decision: Decision) -> tuple[dict[Unit, Assignment], list[Assignment]]:
        """Assignments that repeat a lease on the same GPUs, and the new ones."""
        leases, ended, limits = self.leasing.leases, self.leasing.ended, self.checker.limits
        for unit in decision.preempt:
            if unit not in leases:
                self.checker.fail(self.now_s, unit, "preempt", "a unit that holds GPUs beyond now")
        renewed: dict[Unit, Assignment] = {}
        fresh: list[Assignment] = []
        for a in decision.assign:
            lease = ended.get(a[0]) or leases.get(a[0])
            if lease is None:
                fresh.append(a)
            elif lease.assignment.kind == a.kind and (
                lease.assignment.gpus is a.gpus or lease.assignment.gpus == a.gpus
            ):
                limits(a, self.now_s)
                if a.until_s < lease.until_s and a.unit in leases and a.unit not in decision.preempt:
                    self.checker.fail(self.now_s, a.unit, f"until {a.until_s:g} s", "to preempt it to end it sooner")
                renewed[a.unit] = a
            elif a.unit in leases and a.unit not in decision.preempt:
                self.checker.fail(self.now_s, a.unit, dict(a.gpus), "to preempt its lease before moving it")
            else:
                fresh.append(a)
        return renewed, fresh

    def _check_new(self, fresh: list[Assignment], dropped: set[Unit]) -> list[tuple[float, ...]]:
        """New assignments: gangs, arrivals, nodes that are up, free GPUs, each job in one unit; returns their rates."""
        if not fresh:
            return []
        left = self._free_after(dropped) if dropped else {}
        units: dict[str, Unit] = {}
        rates: list[tuple[float, ...]] = []
        for a in fresh:
            jobs, unit = [], a[0]
            for name in (unit,) if isinstance(unit, str) else members(unit):
                jobs.append(self._member(a, name, dropped, units.get(name)))
                units[name] = unit
            self.checker.new(a, self.now_s, jobs, self.nodes, left)
            speeds = self.leasing.rates(a, jobs)
            if min(speeds) <= 0 and a.steps != 0:
                self.checker.fail(self.now_s, a.unit, dict(a.gpus), "nodes on which it has a throughput > 0")
            rates.append(speeds)
        return rates

    def _free_after(self, dropped: set[Unit]) -> dict[str, int]:
        """Free GPUs of the nodes that `dropped` leaves."""
        left: dict[str, int] = {}
        for unit in dropped:
            lease = self.leasing.leases.get(unit) or self.leasing.ended[unit]
            for node, gpus in lease.assignment.gpus.items():
                left[node] = left.get(node, self.nodes.idle[self.nodes.at[node]]) + gpus
        return left

    def _member(self, a: Assignment, name: str, dropped: set[Unit], other: Unit | None) -> Job:
        rank = self.book.rank.get(name)
        if rank is None or not self.book.one.alive[rank]:
            self.checker.fail(self.now_s, a.unit, name, "a job that has arrived and not finished")
        if self.sequences.used and self.sequences.has(name):
            self.checker.fail(self.now_s, a.unit, name, "a job that does not run as tasks in sequences")
        held = self.leasing.holder.get(rank, ())
        for unit in (*held, other) if held or other else ():
            holds = unit is not None and (unit is other or unit not in dropped)
            if holds and not (is_copy(a.unit) and is_copy(unit)):
                self.checker.fail(self.now_s, a.unit, unit_name(unit), f"{name} in one unit only")
        return self.book.jobs[rank]

    def _suspend(
        self, unit: Unit, reason: str, why: Mapping[str, Reason] | None = None, again: set[str] | None = None
    ) -> Lease:
        """Take a unit's GPUs away.

        Its jobs count as preempted if they hold no others, and none at once (`again`); not at the end of profiles that
        come before their first step.
        """
        lease = self.leasing.close(unit, self.now_s)
        if is_copy(unit):
            self.leasing.foresee(lease.jobs, self.now_s)
        for name, rank in zip(lease.names, lease.jobs, strict=True):
            if again is not None and name in again:
                continue
            if self.book.one.held[rank] == 0 and rank in self.book.begun:  # other copies of it may go on
                text = why[name].text if why is not None and name in why else reason
                self.book.preemptions[rank] += 1
                self.recorder.event(self.now_s, "preempt", name, unit_name(unit), reason=text)
        return lease

    def release_ended(self) -> None:
        """Take back the GPUs of leases that have ended and that nobody is asked about."""
        for unit in list(self.leasing.ended):
            self._suspend(unit, "its assignment ended")

    def _check_verdicts(self, decision: Decision) -> None:
        for name, verdict in decision.verdicts.items():
            if not self.book.is_active(name):
                self.checker.fail(self.now_s, name, verdict, "a job that has arrived and not finished")
            if verdict == "refused" and self.sequences.has(name):
                self.checker.fail(self.now_s, name, verdict, "a job that does not run as tasks in sequences")

    def _check_sequences(self, decision: Decision) -> None:
        assert decision.sequences is not None
        if decision.assign or decision.preempt:
            self.checker.fail(self.now_s, None, "sequences beside assignments", "the one or the other in a decision")
        free = self.nodes.slots.free_slots()
        free.update(slot for lease in self.leasing.ended.values() for slot in lease.slots)
        free = {slot for slot in free if self.nodes.up[self.nodes.at[slot.node]]}
        self.sequences.check(decision.sequences, free, self.now_s)
        for name in dict.fromkeys(map(attrgetter("job"), chain.from_iterable(decision.sequences.values()))):
            for unit in self.leasing.holder.get(self.book.rank[name], ()):
                if unit in self.leasing.leases:
                    self.checker.fail(self.now_s, name, unit_name(unit), f"{name} in one unit only")

    def _take_verdicts(self, decision: Decision) -> list[Lease]:
        """Note verdicts; refused jobs leave. Returns the leases that they had."""
        closed: list[Lease] = []
        for name, verdict in decision.verdicts.items():
            rank = self.book.rank[name]
            if self.book.verdict[rank] == verdict:
                continue
            self.book.verdict[rank] = verdict
            why = decision.why.get(name)
            self.recorder.event(self.now_s, "verdict", name, reason=why.text if why else verdict)
            if verdict == "refused":
                closed += [self._suspend(unit, "refused") for unit in list(self.leasing.holder.get(rank, ()))]
                self.book.leave(rank, self.now_s, finished=False)
        return closed

    def close(self) -> None:
        """End the simulation now: record what is still open."""
        self._columns.clear()  # they refer to this object, in a circle
        for unit in [*self.leasing.leases, *self.leasing.ended]:
            self.leasing.close(unit, self.now_s)
        self.leasing.measured.clear()  # another: Python seldom looks for what would keep all records
        self.sequences.close(self.now_s)
        for node in list(self.nodes.down_since_s):
            self._record_down(node)
        for rank in self.book.active().tolist():
            self.book.settle(rank, self.now_s)


def _without_speeds(cluster: Cluster) -> Cluster:
    """The cluster as a scheduler sees it: a node's speed is what it cannot know."""
    nodes = tuple(group.model_copy(update={"speed": 1.0}) for group in cluster.nodes)
    if nodes == cluster.nodes:
        return cluster
    return Cluster(accelerators=cluster.accelerators, nodes=nodes, network_gbps=cluster.network_gbps)
