"""`workbench.calibrate`: whether a scheduler, run on a log as it was, makes jobs wait as they did.

Waits are start minus eligible; from submission to eligible (holds, begin times, dependencies) is told apart. What the
configuration says is taken and not fitted. Of two things that it does not say one is fitted: by which rule nodes were
chosen. The other is averaged over: when within their intervals Slurm's clocks run (backfill, priorities). The verdict
is of the waits of runs in several phases, all together, as medians are of two minds where half of the jobs start at
once; beside it stands what would be won by fitting the phase too (`Calibration.fitted`).

Judged on rolling origins: the jobs by eligible time, the first and last twentieth left out, in five equal parts, of
whole days where the log is long enough. Each of the last four is held against runs with the rule that the starts before
it tell, and against three rivals, of which two know the parts before it: the median wait of the day before by partition
and size, the mean wait; and plain first come, first served. Judged are a partition's waits in all four together: in one
of them its median is that of a few waves of jobs, and of two runs of ours far apart (ours). The median over partitions
counts each as often as it has jobs (ours): one of few jobs, half of which start at once, would turn it. Where waits of
0 s would pass by medians too, as most jobs start within a few seconds, the mean has to be within 30 % as well (ours).

Only an answer that is nearer than each rival is called calibrated: held-back error of partition medians at most 30 %,
rank correlation over users' mean waits at least .6, no rival that is as good in both, and (ours) no account with many
jobs whose mean wait is off by more than a factor of 2, and no sign of a limit that no file tells (`hidden_limits`).

A change of the real cluster inside the log (nodes that came, were down or drained, or reserved, for a time) is an
experiment that was really made: what it did to the waits in its partitions, against as long a time before, recorded and
simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.analysis.calibration.fit import (
    FOLDS,
    LEAST_JOBS,
    CalibrationFit,
    LogMakespan,
    fit_of,
    in_parts,
    makespan_of,
    median_error,
    percent,
    with_rivals,
)
from workbench.analysis.calibration.note import NOTE
from workbench.analysis.calibration.waits import recorded_waits, simulated_waits, since_s
from workbench.analysis.hidden_limits import BESIDE_ROOM, LEAST_OF_GROUP, PEAKS, beside_room_of, peaks_of, told_hidden
from workbench.base.card import card
from workbench.base.collector import seldom_collected
from workbench.base.errors import InputError, Words, counted, told_of_arguments
from workbench.base.labels import listed
from workbench.base.units import clock
from workbench.baselines.mechanisms.slurm.free import rules_of
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.site import KeptNodes, read_site
from workbench.scenario.faults import Outage
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.timed import as_recorded
from workbench.session.api import load
from workbench.session.many_runs import RunRequest, check_workers, run_all
from workbench.session.registry import find_scheduler
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from pandas.api.typing import SeriesGroupBy

    from workbench.analysis.charts import Drawing

MOST_ERROR, LEAST_RANK, MOST_FACTOR = 0.3, 0.6, 2.0
MOST_REFUSED, MOST_ERROR_OF_MEAN = 0.5, 0.35
MOST_FAR = 3
"""Partitions that are named as far off."""
PHASES = {4000: 8, 15_000: 4}
"""Up to so many jobs so many phases of Slurm's clocks are simulated; of more one, which takes half a minute."""
SAME_S = 3600.0
"""Nodes that go within this time of each other, and come back so, are one change."""
MOST_EXPERIMENTS, MOST_POINTS = 5, 1500
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
TITLE = {"yesterday": "yesterday's median", "fifo": "first come, first served", "mean": "recorded mean"}
FOLD = ["part", "from", "to", "jobs", "median_error", "rank_correlation", "nodes"]
GROUPS = ("partition", "account", "user", "size", "hour")

Trust = Literal["calibrated", "indicative"]


class FittedPhase(NamedTuple):
    """The phase of Slurm's clocks whose starts were nearest to the log's; how far they are off (s, mean) on the parts
    held back, each with the phase that was nearest on those before it, and of all phases on average."""

    phase_s: float
    error_s: float
    averaged_s: float


@dataclass(frozen=True)
class Calibration:
    """waits: a row per job (partition, user, size, hour, part; waits in s: recorded, simulated on average, of each
    run and rival; submit to eligible); part: 1 to 4 held back, 0 the first, -1 warm-up and tail; runs: the columns of
    runs that were averaged; pace_s: how often the schedulers look, the quicker one; refused: jobs that could never
    start, left out; beyond: those that ran although a limit of the files does not let them, not held to it;
    experiments: changes of the real cluster inside the log (`experiments_of`); peaks: of accounts and QOS, and their
    users, with many jobs the most GPUs and jobs at once, recorded and simulated, for which part of the time it is
    more than recorded, and for which it is near the most, recorded and simulated; phases: of Slurm's clocks, of each
    run (`phase_s`); nodes: by which rule they were chosen in the log (empty: Slurm's), and the part of starts in
    which it and Slurm's were right; code: `Scheduler.code`; makespan: of the log and of the runs; held: jobs that ran
    here where they did in the log, though the scenario assumes speeds elsewhere (`--ratios`); folds: of each part held
    back (`FOLD`) when its first and last job were eligible, how many there are, the two numbers that are judged, and by
    which rule nodes were chosen (`nodes`)."""

    scheduler: str
    waits: pd.DataFrame
    runs: tuple[str, ...]
    pace_s: float
    held_back: CalibrationFit
    rivals: dict[str, CalibrationFit]
    refused: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    experiments: pd.DataFrame = field(default_factory=pd.DataFrame)
    peaks: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=PEAKS))
    phases: tuple[float, ...] = ()
    nodes: tuple[str, float, float] = ("", 0.0, 0.0)
    beside_room: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=BESIDE_ROOM))
    code: str = ""
    makespan: LogMakespan = field(default_factory=lambda: LogMakespan())
    held: int = 0
    folds: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=FOLD))

    @property
    def fitted(self) -> FittedPhase | None:
        """The one number that no file tells, fitted on rolling origins; None where one phase was run."""
        if len(self.phases) < 2:
            return None
        part, off = self.waits["part"], self.waits[[*self.runs]].sub(self.waits["recorded_s"], axis=0).abs()
        nearest = [(off[part == k], off[part.between(0, k - 1)].mean().idxmin()) for k in range(1, FOLDS + 1)]
        error_s = pd.concat([rows[run] for rows, run in nearest]).mean()
        phase_s = self.phases[self.runs.index(str(off[part >= 0].mean().idxmin()))]
        return FittedPhase(phase_s, float(error_s), float(off[part > 0].mean().mean()))

    @property
    def reasons(self) -> list[str]:
        """Why it is indicative only; empty if it is calibrated."""
        fit, found = self.held_back, []
        if not fit.median_error <= MOST_ERROR:
            noise = f" ({percent(self.apart)} between two runs of ours that differ in their phase alone)"
            found.append(
                f"the held-back error of partition medians is {_error(fit)}, above 30 %"
                f"{noise if math.isfinite(self.apart) else ''}"
            )
        if self.medians_tell_nothing and not fit.mean_error <= MOST_ERROR:
            found.append(
                f"no wait at all would meet the partition medians, and the mean is off by {percent(fit.mean_error)}"
            )
        if not fit.rank_correlation >= LEAST_RANK:
            found.append(f"the rank correlation over users is {_number(fit.rank_correlation)}, below .6")
        for account, real, said in self._far_accounts():
            found.append(f"the mean wait of account {account} is {clock(said)}, recorded {clock(real)}")
        found += told_hidden(self.peaks, self.beside_room)
        as_good = [TITLE[name] for name, rival in self.rivals.items() if rival.as_good_as(fit)]
        return [*found, *(f"{name} is as good" for name in as_good)]

    @cached_property
    def medians_tell_nothing(self) -> bool:
        """Whether waits of 0 s would pass by partition medians too, which are within the pace."""
        none = fit_of(self.waits.assign(none_s=0.0), ["none_s"], self.pace_s)
        return none.median_error <= MOST_ERROR

    @cached_property
    def apart(self) -> float:
        """The noise floor: `median_error` of each phase with the one before in the place of the log, on average; nan
        with one."""
        pairs = [(self.waits.assign(recorded_s=self.waits[one]), other) for one, other in pairwise(self.runs)]
        errors = [fit_of(waits, [other], self.pace_s).median_error for waits, other in pairs]
        return float(np.mean(errors)) if errors else math.nan

    def _far_accounts(self) -> Iterator[tuple[str, float, float]]:
        """Accounts with many jobs held back whose mean wait is more than twice, or less than half the recorded one:
        something holds them, or lets them, that no file tells."""
        held = self.waits[(self.waits["part"] > 0) & (self.waits["account"] != "")]
        for account, rows in held.groupby("account"):
            real, said = float(rows["recorded_s"].mean()), float(rows[[*self.runs]].mean().mean())
            far = max(real, said) > MOST_FACTOR * min(real, said) and abs(real - said) > 2 * self.pace_s
            if far and len(rows) >= LEAST_OF_GROUP:
                yield str(account), real, said

    def _far_partitions(self) -> Iterator[str]:
        """Partitions whose own median is off by more than a verdict allows the median partition, farthest first; then
        those with many jobs whose mean is off by more than 35 %, be it of seconds (ours)."""
        far, far_mean = [], []
        for name, rows in self.waits.groupby("partition"):
            held = rows[rows["part"] > 0]
            real, found = float(held["recorded_s"].median()), held[[*self.runs]].to_numpy()
            error = median_error([(real, found)], self.pace_s) if len(held) >= LEAST_JOBS else 0.0
            mean, said = rows["recorded_s"].mean(), rows["simulated_s"].mean()
            if error > MOST_ERROR:
                far.append((error, f"{name} {clock(float(np.median(found)))}, recorded {clock(real)}"))
            elif len(rows) >= LEAST_OF_GROUP and abs(said - mean) > MOST_ERROR_OF_MEAN * mean:
                far_mean.append((abs(said - mean) / max(mean, 1.0), f"{name} {clock(said)}, recorded {clock(mean)}"))
        for what, each in (("median", far), ("mean", far_mean)):
            if told := [text for _, text in sorted(each, reverse=True)]:
                more = f" and {counted(len(told) - MOST_FAR, 'other')}" if len(told) > MOST_FAR else ""
                yield f"farther off, in the {what}: partition {', '.join(told[:MOST_FAR])}{more}"

    def _nearer(self) -> Iterator[str]:
        """Rivals that are nearer to partition medians alone, which a constant may be: no reason, but told."""
        for name, rival in self.rivals.items():
            if rival.median_error < self.held_back.median_error and not rival.as_good_as(self.held_back):
                yield f"{TITLE[name]} is nearer to partition medians ({percent(rival.median_error)}), not to users"

    @property
    def verdict(self) -> Trust:
        """Whether answers from this scenario may be believed."""
        return "indicative" if self.reasons else "calibrated"

    def note(self) -> str:
        """What stands on later answers, in a sentence."""
        fit = self.held_back
        why = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        out = "".join(f"; {text}" for text in (*self._far_partitions(), *self._nearer()))
        out += f"; {counted(len(self.refused), 'job')} that could never start left out" if self.refused else ""
        if self.beyond:
            out += f"; {counted(len(self.beyond), 'job')} ran beyond a limit of the files and not held to it"
        if self.held:
            out += f"; {counted(self.held, 'job')} kept to the types of the log: assumed speeds are not judged"
        mean, real = (clock(self.waits[name].mean()) for name in ("simulated_s", "recorded_s"))
        by_mean = f" (no wait at all would pass too: the mean is off by {percent(fit.mean_error)})"
        error = f"error of partition medians beyond {clock(self.pace_s)} {_error(fit)}"
        if not fit.median_error:
            error = f"half the jobs are of partitions whose median is within {clock(self.pace_s)} of the recorded"
        return (
            f"{NOTE}{self.verdict}{why}; under {self.scheduler} the mean wait is {mean}, recorded {real}; held back, "
            f"{self._told_folds()}: {error}{by_mean * self.medians_tell_nothing}, "
            f"rank correlation over users {_number(fit.rank_correlation)}{out}."
        )

    def _told_folds(self) -> str:
        """When the parts held back were, what each was judged by, and how near each was."""
        folds = self.folds
        errors = listed([percent(error) for error in folds["median_error"]])
        rules = [rule or "Slurm's" for rule in dict.fromkeys(folds["nodes"])]
        chosen = f", nodes chosen by what came before ({listed(rules)})" if rules != ["Slurm's"] else ""
        return (
            f"{folds['from'].iloc[0]} to {folds['to'].iloc[-1]} ({counted(len(folds), 'part')}, alone {errors}){chosen}"
        )

    def by(self, group: str) -> pd.DataFrame:
        """Per partition, account, user, size (GPUs) or hour of the day: jobs, quantiles and means of waits, of
        several runs those of all together."""
        if group not in GROUPS:
            raise InputError("group", group, f"one of {', '.join(GROUPS)}")
        table = pd.DataFrame({"jobs": self.waits.groupby(group, sort=True).size()})
        for name, waits in self._waits(group).items():
            table[f"{name}_median_s"], table[f"{name}_mean_s"] = waits.median(), waits.mean()
            table[f"{name}_p95_s"] = waits.quantile(0.95)
        return table.reset_index()

    def _waits(self, group: str) -> dict[str, SeriesGroupBy[float, Any]]:
        """By group the recorded waits, and those of all runs."""
        columns = {"recorded": ["recorded_s"], "simulated": [*self.runs]}
        of_all = {
            name: pd.concat([self.waits[[group]].assign(wait_s=self.waits[each]) for each in those])
            for name, those in columns.items()
        }
        return {name: rows.groupby(group, sort=True)["wait_s"] for name, rows in of_all.items()}

    def quantiles(self) -> pd.DataFrame:
        """Per partition and quantile: recorded_s, and simulated_s, of several runs those of all together."""
        found = self._waits("partition")
        parts = {f"{name}_s": waits.quantile(np.array(QUANTILES)) for name, waits in found.items()}
        return pd.DataFrame(parts).rename_axis(["partition", "quantile"]).reset_index()

    def unexplained(self) -> pd.DataFrame:
        """The jobs whose wait is farthest off, in all runs more than the pace and half the wait away on the same side:
        holds, priorities set by hand and other things that no file says."""
        waits, found = self.waits, self.waits[[*self.runs]]
        off = np.maximum(found.min(axis=1) - waits["recorded_s"], waits["recorded_s"] - found.max(axis=1))
        far = (off > self.pace_s) & (off > 0.5 * waits[["recorded_s", "simulated_s"]].max(axis=1))
        columns = ["job", "partition", "user", "size", "recorded_s", "simulated_s"]
        found = waits.assign(off_s=off)[far].sort_values("off_s", ascending=False, kind="stable")
        return found[columns].head(10).reset_index(drop=True)

    def drawing(self) -> Drawing:
        """Simulated against recorded waits, a point a job, and the quantiles of each partition."""
        from workbench.analysis.charts import agreement

        step = -(-len(self.waits) // MOST_POINTS)
        some = f", one job in {step}" if step > 1 else ""
        jobs = self.waits[["job", "partition", "recorded_s", "simulated_s"]].iloc[::step]
        return agreement(jobs, self.quantiles(), title=f"Waits: {self.verdict}", said=f"lines: quantiles{some}")

    def told_experiments(self, date: Callable[[float], str] = clock) -> list[str]:
        """The changes of the real cluster, a sentence each; date: how a time of the scenario is written."""
        said = []
        for row in self.experiments.to_dict("records"):
            after = row["from_s"] <= 0  # then `before` is the time after it
            order, when = (("", "before_"), "then and after") if after else (("before_", ""), "before and then")
            names = (f"{of}_{each}s" for of in ("recorded", "simulated") for each in order)
            one, other, third, fourth = (clock(row[name]) for name in names)
            said.append(
                f"{row['change']}, {date(row['from_s'])} to {date(row['to_s'])}: mean wait in "
                f"{listed(row['partitions'].split(','))}, {when}: recorded {one}, then {other}; "
                f"simulated {third}, then {fourth}."
            )
        return said

    def told_fit(self) -> str:
        """What was fitted, in a sentence or two; empty if nothing was."""
        rule, right, slurms = self.nodes
        nodes = rule and (
            f"Nodes are chosen by {rule}, as in {percent(right)} of the log's starts that had a choice (as Slurm "
            f"chooses: {percent(slurms)}). "
        )
        if (fit := self.fitted) is None:
            return nodes.rstrip()
        advice = "the verdict is of all phases together"
        if fit.error_s < fit.averaged_s:
            advice = f"nearest over all: phase_s={fit.phase_s:g}; {advice}"
        return (
            f"{nodes}When Slurm's clocks run, no file says. With the phase nearest on the parts before, starts are off "
            f"by {fit.error_s:.0f} s on average, {fit.averaged_s:.0f} s averaged over phases; {advice}."
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON has it, for `from_json`."""
        frames = {name: getattr(self, name) for name in ("waits", "experiments", "peaks", "beside_room", "folds")}
        tables = {name: {column: _plain(frame[column]) for column in frame} for name, frame in frames.items()}
        named = {"held_back": self.held_back, **self.rivals}
        fits = {name: dict(zip(vars(fit), _plain(vars(fit).values()), strict=True)) for name, fit in named.items()}
        parts = {
            name: getattr(self, name)
            for name in ("scheduler", "runs", "pace_s", "refused", "beyond", "phases", "nodes", "code", "held")
        }
        return {**parts, "tables": tables, "fits": fits, "makespan": _plain(self.makespan)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Calibration:
        """What `to_json` gave."""
        tables = {name: pd.DataFrame(columns) for name, columns in data["tables"].items()}
        tables["folds"] = tables["folds"].astype({"median_error": float, "rank_correlation": float})
        found = (
            {key: math.nan if each is None else each for key, each in fit.items()} for fit in data["fits"].values()
        )
        held_back, *rivals = (CalibrationFit(**fit) for fit in found)
        plain = {name: data[name] for name in ("scheduler", "pace_s", "code", "held")}
        several = {name: tuple(data[name]) for name in ("runs", "refused", "beyond", "phases", "nodes")}
        makespan = LogMakespan(*(math.nan if each is None else each for each in data["makespan"]))
        rivals_of = dict(zip([*data["fits"]][1:], rivals, strict=True))
        said: dict[str, Any] = {**plain, **several, **tables}
        return Calibration(held_back=held_back, rivals=rivals_of, makespan=makespan, **said)

    def as_json(self) -> dict[str, Any]:
        """As `workbench calibrate --json` prints it; null where there is no number."""

        def plain(fit: CalibrationFit) -> dict[str, float | None]:
            return {name: value if math.isfinite(value) else None for name, value in vars(fit).items()}

        columns = ["recorded_median_s", "simulated_median_s", "recorded_mean_s", "simulated_mean_s", "jobs"]
        rows = self.by("partition")[["partition", *columns]].rename(columns={"partition": "name"})
        return {
            "partitions": [dict(row) for row in rows.to_dict("records")],
            "all": {
                "recorded_mean_s": float(self.waits["recorded_s"].mean()),
                "simulated_mean_s": float(self.waits["simulated_s"].mean()),
                "jobs": len(self.waits),
            },
            "held_back": plain(self.held_back),
            "folds": [dict(zip(row, _plain(row.values()), strict=True)) for row in self.folds.to_dict("records")],
            "rivals": {name: plain(fit) for name, fit in self.rivals.items()},
            "makespan": dict(zip(LogMakespan._fields, _plain(self.makespan), strict=True)),
            "verdict": self.verdict,
        }

    def kept(self, scenario: Scenario) -> Scenario:
        """The scenario with the verdict as its first note, in the place of an earlier one, what it is the verdict of,
        and the rule by which nodes were chosen."""
        notes = (self.note(), *(text for text in scenario.notes if not text.startswith(NOTE)))
        found = _with_rule(scenario, self.nodes[0]).replace(notes=notes)
        return found.replace(calibrated={"scheduler": self.scheduler, "code": self.code, "key": found.key()})

    def _repr_html_(self) -> str:
        rows = [(row["partition"], row["jobs"], *map(clock, (row["recorded_mean_s"], row["simulated_mean_s"])))
                for row in self.by("partition").to_dict("records")]  # fmt: skip
        return card(self.note(), rows, ("Partition", "Jobs", "Recorded mean wait", "Simulated"))


def usual_phases(jobs: int) -> int:
    """How many phases are simulated of a log with so many jobs."""
    return next((count for most, count in PHASES.items() if jobs <= most), 1)


@told_of_arguments
@seldom_collected()
def calibrate(
    scenario: Scenario | str | Path, scheduler: str = "slurm", *, phases: int | None = None, workers: int = 1
) -> Calibration:
    """Run a scheduler on a log as it was, and hold the waits against the recorded ones. Jobs run where they did, on
    other types by no ratio.

    phases: runs of `slurm`, each with its clocks at another part of their intervals; default 8, for more than 4,000
    jobs 4, than 15,000 jobs 1; workers: how many. Raises InputError for a scenario with fewer than 50 recorded waits,
    and what `simulate` raises.
    """
    check_workers(workers)
    given = load(scenario)
    scenario = as_recorded(given)
    held = sum(one.model != other.model for one, other in zip(given.jobs, scenario.jobs, strict=True))
    recorded = recorded_waits(scenario)
    site = read_site(scenario)
    recorded = in_parts(recorded, since_s(scenario))
    origins_s = [recorded.loc[recorded["part"] == part, "eligible_s"].min() for part in range(1, FOLDS + 1)]
    told = [("", dict[str, float]())] * (FOLDS + 1)
    told = rules_of(scenario, site, [*origins_s, math.inf]) if scheduler == "slurm" else told
    rules, (rule, right) = [each for each, _ in told[:-1]], told[-1]
    interval_s = site.settings["bf_interval"]
    pace_s, slowest_s = min(site.looks_s), max(site.looks_s)
    count = usual_phases(len(scenario.jobs)) if phases is None else phases
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 100:
        raise InputError("phases", phases, "a whole number from 1 to 100")
    knobs = [{"phase_s": interval_s * part / count} for part in range(count)] if scheduler == "slurm" else [{}]
    sites = {each: _with_rule(scenario, each) for each in dict.fromkeys([rule, *rules])}
    asked = [(each, scheduler, phase) for each in sites.values() for phase in knobs]
    asked.append((scenario, "fifo", {"round_s": 0.0}))
    requests = [RunRequest(each, name, phase, scenario.seed, detail=0) for each, name, phase in asked]
    code, made = find_scheduler(scheduler).code(), run_all(requests, workers)
    *found_s, fifo = [np.array(simulated_waits(outcome, site, recorded)) for outcome in made]
    of_rule = {each: found_s[i * len(knobs) :][: len(knobs)] for i, each in enumerate(sites)}
    judged = np.array([rules[part - 1] if part > 0 else rule for part in recorded["part"]])
    runs = [np.select([judged == each for each in sites], waits_s) for waits_s in zip(*of_rule.values(), strict=True)]
    scenario, waits = sites[rule], {f"run {i}": found for i, found in enumerate(runs, start=1)}
    table = recorded.assign(simulated_s=np.mean(runs, axis=0), fifo_s=fifo, **waits)
    never = table["simulated_s"].isna()
    if never.mean() > MOST_REFUSED:
        raise InputError(
            "scenario", Words(f"{never.sum()} of {len(table)} jobs never start"), f"jobs {scheduler} starts"
        )
    refused, table = tuple(table.loc[never, "job"]), table[~never].reset_index(drop=True)
    table = with_rivals(table)
    ended = [run for run in made[: len(knobs)] if isinstance(run, Run)]
    return Calibration(
        scheduler=scheduler,
        waits=table,
        runs=tuple(waits),
        pace_s=pace_s,
        held_back=fit_of(table, [*waits], pace_s),
        rivals={name: fit_of(table, [f"{name}_s"], pace_s) for name in TITLE},
        refused=refused,
        beyond=Ledger.of_site(site).beyond,
        experiments=experiments_of(scenario, table, site.reservations),
        peaks=peaks_of(scenario, site, [run.jobs for run in ended], slowest_s),
        phases=tuple(each["phase_s"] for each in knobs if each),
        nodes=(rule, right.get(rule, 0.0), right.get("", 0.0)),
        beside_room=beside_room_of(scenario, site, [run.timeline for run in ended], slowest_s),
        code=code,
        makespan=makespan_of(scenario, ended),
        held=held,
        folds=_folds(scenario, table, [*waits], pace_s, rules),
    )


def _folds(
    scenario: Scenario, table: pd.DataFrame, runs: list[str], pace_s: float, rules: Sequence[str]
) -> pd.DataFrame:
    """The parts held back, one by one (`Calibration.folds`)."""
    from workbench.analysis.what_if.site_changes import date_of  # what-if asks for `usual_phases`

    rows = []
    for part, rule in enumerate(rules, start=1):
        mine = table[table["part"] == part]
        fit, times_s = fit_of(mine, runs, pace_s), (mine["eligible_s"].min(), mine["eligible_s"].max())
        at = (date_of(scenario, at_s) or clock(at_s) for at_s in times_s)
        rows.append((part, *at, len(mine), fit.median_error, fit.rank_correlation, rule))
    return pd.DataFrame(rows, columns=FOLD)


def _with_rule(scenario: Scenario, rule: str) -> Scenario:
    """The scenario whose site chooses nodes by a rule (empty: as Slurm does)."""
    configs = (each.attributes for each in scenario.entities if each.attributes.get("kind") == "config")
    if rule == next(configs, {}).get("NodesChosen", ""):
        return scenario
    data = scenario.to_dict()
    entities = [dict(each) for each in data.get("entities", [])]
    config = next((each for each in entities if each.get("attributes", {}).get("kind") == "config"), None)
    if config is None:
        config = {"name": "config slurm", "attributes": {"kind": "config", "name": "slurm"}}
        entities.append(config)
    facts = {name: value for name, value in config["attributes"].items() if name != "NodesChosen"}
    config["attributes"] = facts | ({"NodesChosen": rule} if rule else {})
    return Scenario.from_dict({**data, "entities": entities})


def experiments_of(scenario: Scenario, waits: pd.DataFrame, reservations: Iterable[KeptNodes] = ()) -> pd.DataFrame:
    """Changes of the real cluster inside the log (outages, reservations), the five that took most: change (in words),
    from_s, to_s, partitions, jobs, and mean waits: recorded_before_s, recorded_s, simulated_before_s, simulated_s. Both
    times have 5 jobs at least; where nodes came, or were reserved when the log began, `before` is the time after. A
    reservation counts up to the last start that the log has.
    """
    inside = {node.name: str(node.attributes.get("partitions", "")).split(",") for node in scenario.cluster.each_node}
    gpus = {node.name: node.gpus for node in scenario.cluster.each_node}
    changes, groups = [("", each) for each in scenario.core.faults.list], list[tuple[str, list[Outage]]]()
    last_s = float((waits["eligible_s"] + waits["recorded_s"]).max())
    for each in reservations:
        its = (node.name for node in scenario.cluster.each_node if node.name.partition("/")[0] in each.nodes)
        from_s, to_s = max(each.start_s, 0.0), min(each.end_s, last_s)
        if to_s > from_s:
            changes += [(f"reserved ({each.name})", Outage(node=n, from_s=from_s, to_s=to_s)) for n in its]
    for kept, outage in sorted(changes, key=lambda each: each[1].from_s):
        if (group := next((g for said, g in groups if said == kept and _is_one(g[0], outage)), None)) is None:
            groups.append((kept, group := []))
        group.append(outage)
    rows = list[tuple[Any, ...]]()
    for kept, group in sorted(
        groups, key=lambda each: -sum((one.to_s - one.from_s) * gpus[one.node] for one in each[1])
    ):
        from_s, to_s = min(each.from_s for each in group), max(each.to_s for each in group)
        names = {name for each in group for name in inside[each.node]}
        mine = waits[waits["partition"].isin(names)]
        during = mine[mine["eligible_s"].between(from_s, to_s, inclusive="left")]
        if from_s <= 0:  # it ends with nodes that came: as long a time after it
            other, what = mine[mine["eligible_s"].between(to_s, 2 * to_s - from_s, inclusive="left")], "came later"
        else:
            other, what = mine[mine["eligible_s"].between(2 * from_s - to_s, from_s, inclusive="left")], "away"
        if min(len(during), len(other)) >= LEAST_JOBS and len(rows) < MOST_EXPERIMENTS:
            found = [float(part[name].mean()) for name in ("recorded_s", "simulated_s") for part in (other, during)]
            machines = {each.node.partition("/")[0] for each in group}
            said = (
                f"{counted(len(machines), 'node')} {kept or what}",
                from_s,
                to_s,
                ",".join(sorted(names)),
                len(during),
            )
            rows.append((*said, *found))
    means = ["recorded_before_s", "recorded_s", "simulated_before_s", "simulated_s"]
    return pd.DataFrame(rows, columns=["change", "from_s", "to_s", "partitions", "jobs", *means])


def _is_one(first: Outage, other: Outage) -> bool:
    """Whether two outages are one change."""
    return abs(first.from_s - other.from_s) <= SAME_S and abs(first.to_s - other.to_s) <= SAME_S


def _plain(values: Iterable[Any]) -> list[Any]:
    """The values, None where there is no number."""
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


def _error(fit: CalibrationFit) -> str:
    known = math.isfinite(fit.standard_error)
    return percent(fit.median_error) + (f" (standard error {100 * fit.standard_error:.0f} points)" if known else "")


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "unknown"
