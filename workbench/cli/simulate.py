"""Commands that make runs and measure them: simulate, compare."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.base.errors import InputError, counted
from workbench.base.rounding import short_number
from workbench.cli.arguments import (
    A_SCHEDULER,
    FOR_ALL,
    ITS_OWN,
    Commands,
    Parser,
    add_belief,
    add_command,
    add_force,
    add_scenario,
    add_set,
)
from workbench.cli.inputs import (
    a_scheduler,
    check_targets,
    labelled,
    names,
    read_scenario,
    require_jobs,
    seconds,
    seeds,
    settings,
    whole,
    window,
)
from workbench.cli.output import Answer, aligned, known_as, say
from workbench.cli.solve import say_lacking

if TYPE_CHECKING:
    from workbench.analysis.comparison import Comparison
    from workbench.analysis.metrics import Summary
    from workbench.scenario.scenario import Scenario
    from workbench.session.deciding_time import Charge
    from workbench.simulation.loop import Observer, RunProgress
    from workbench.simulation.run import Run

LATE_S = 86400.0
"""A scenario whose first job arrives later, and later than its jobs take to arrive, has an odd origin of time."""

PROGRESS_S = 0.5
"""How often the line of progress is renewed, in seconds of wall time."""

CLEAR_LINE = "\r\033[K"
"""Takes a terminal back to the beginning of the line, and empties it."""


MOST_UNUSED = 12
"""Names that a note lists."""


def add_commands(commands: Commands[Parser]) -> None:
    """Declare the commands of this file."""
    parser = add_command(commands, "simulate", "run a scheduler on a scenario and measure")
    add_scenario(parser)
    parser.add_argument("--scheduler", metavar="NAME", type=a_scheduler, required=True, help=A_SCHEDULER)
    add_set(parser, "KNOB=VALUE")
    parser.add_argument("--seed", metavar="N", type=whole("--seed"), help="default: the scenario's")
    _add_run_options(parser, "save the run in this folder", ITS_OWN)
    parser.set_defaults(command=simulate)

    parser = add_command(commands, "compare", "run several schedulers on a scenario and measure")
    add_scenario(parser)
    help = "names (or FILE.py:NAME) between commas, LABEL=NAME to call one otherwise; default: the scenario's"
    parser.add_argument("--schedulers", metavar="A,B", type=names, help=help)
    add_set(parser, "[SCHEDULER:]KNOB=VALUE")
    parser.add_argument("--seeds", metavar="0:3", type=seeds, help="0:3 is 0, 1, 2; default: the scenario's")
    parser.add_argument("--workers", metavar="N", type=whole("--workers", 1), default=1, help="processes, default 1")
    _add_run_options(parser, "save every run and the table in this folder", FOR_ALL, several=True)
    help = "every seed but the first has other jobs like the scenario's, drawn from them"
    parser.add_argument("--bootstrap", action="store_true", help=help)
    help = "measure these jobs (numbers by arrival, from 0, both included); runs end when they have finished"
    parser.add_argument("--window", metavar="FIRST:LAST", type=window, help=help)
    help = "whom the others are compared with, seed by seed, over several seeds; default: the first"
    parser.add_argument("--baseline", metavar="NAME", dest="to", help=help)
    help = "means with their standard deviations, not with the ratios to the baseline seed by seed"
    parser.add_argument("--spread", action="store_true", help=help)
    parser.set_defaults(command=compare)


def _add_run_options(parser: Parser, out: str, belief: str, several: bool = False) -> None:
    add_belief(parser, belief, several)
    parser.add_argument("--until", metavar="S", type=seconds("--until"), help="end then: seconds, or `2 h`")
    help = "simulated time that each decision takes: seconds, `2 s`, or measured (the time it takes here)"
    parser.add_argument("--charge-decisions", metavar="S", type=_charge, help=help)
    parser.add_argument("--out", metavar="DIR", help=out)
    add_force(parser)


def _charge(text: str) -> Charge:
    return "measured" if text == "measured" else seconds("--charge-decisions")(text)


# --- simulate ---------------------------------------------------------------------------------------------------------


def simulate(args: argparse.Namespace) -> Answer:
    """One run."""
    from workbench.analysis.calibration.note import notes_under
    from workbench.analysis.metrics import as_json, summary
    from workbench.session.api import simulate as run_one
    from workbench.session.read_and_ignored import ignored

    check_targets({"--out": args.out}, force=args.force)
    scenario = read_scenario(args.scenario)
    require_jobs(scenario, args.scenario)
    knobs = settings(args.settings)
    began = time.perf_counter()
    with _progress_shown(args.json) as observers:
        run = run_one(
            scenario,
            args.scheduler,
            knobs,
            seed=args.seed,
            until_s=args.until,
            observers=observers,
            belief=args.belief,
            charge_decisions=args.charge_decisions,
        )
    wall_s = time.perf_counter() - began
    found = summary(run)
    if args.out is not None:
        run.save(args.out, force=args.force)
    _say_warnings({"": found})
    notes = notes_under(run)
    _say_notes(scenario, notes, [args.scheduler], [args.belief])
    say_lacking(scenario, [(args.scheduler, run.knobs)])
    _say_dropped([run])
    _say_out_of_time([run])
    belief = _belief(scenario, [run])
    data = {
        "scheduler": run.scheduler,
        "knobs": run.knobs,
        "seed": run.seed,
        **belief,
        **_charged(args),
        "metrics": as_json(found),
        "notes": notes,
        "rounds": found["rounds"],
        "not_used": ignored(scenario, args.scheduler, args.belief),
        "wall_s": wall_s,
        **({} if args.out is None else {"out": args.out}),
    }
    saved = "" if args.out is None else f", saved in {args.out}"
    head = f"{run.scheduler} on {scenario.name or args.scenario}: simulated in {wall_s:.2f} s{saved}"
    text = "\n".join([head, *run.conditions, found.decided])
    return Answer(data, lambda: f"{text}\n\n{_measures({run.scheduler: found})}{_belief_text(belief)}")


def _say_warnings(found: Mapping[str, Summary]) -> None:
    """What of runs should not be believed as it stands, by what the run is called."""
    for name, measures in found.items():
        for text in measures.warnings:
            say(f"warning: {name}{': ' if name else ''}{text}")


def _say_notes(scenario: Scenario, notes: Sequence[str], ran: Iterable[str], beliefs: Sequence[str | None]) -> None:
    """What is assumed, calibration, else the first note; what is set and used neither by schedulers nor by a belief; a
    late clock."""
    from workbench.analysis.calibration.note import NOTE
    from workbench.base.units import format_duration
    from workbench.scenario.traces.timed import ASSUMED
    from workbench.session.read_and_ignored import ignored

    said = [text for text in notes if text.startswith((ASSUMED, NOTE))] or notes[:1]
    for text in said:
        others = len(notes) - len(said) if text is said[-1] else 0
        say(f"note: {text}" + (f" (the other {others} are in the scenario's `notes`)" if others else ""))
    without: dict[str, list[str]] = {}
    for scheduler in ran:
        unread = [ignored(scenario, scheduler, belief) for belief in beliefs]
        for name in (name for name in unread[0] if all(name in each for each in unread)):
            without.setdefault(name, []).append(scheduler)
    for group in dict.fromkeys(map(tuple, without.values())):
        unused = [name for name, found in without.items() if tuple(found) == group]
        more = f" and {len(unused) - MOST_UNUSED} more" if len(unused) > MOST_UNUSED else ""
        say(f"note: not used by {', '.join(group)}: {', '.join(unused[:MOST_UNUSED])}{more}")
    arrivals = [job.arrival_s for job in scenario.jobs]
    if arrivals and min(arrivals) > max(LATE_S, max(arrivals) - min(arrivals)):
        first = format_duration(min(arrivals), parts=2)
        say(f"note: the first job arrives at {first}; makespan and utilisation count from 0")


def _charged(args: argparse.Namespace) -> dict[str, Any]:
    return {} if args.charge_decisions is None else {"charge_decisions": args.charge_decisions}


def _belief(scenario: Scenario, runs: Sequence[Run]) -> dict[str, Any]:
    """What told schedulers speeds, if it is one for all, and how far what it estimates is from the true ones before."""
    from workbench.scheduling.estimators import by_name

    names = {run.belief for run in runs}
    if len(names) > 1:
        return {}
    name = names.pop()
    made = by_name.maker(name)
    if made.estimator.learns is None:
        return {"belief": name}
    errors = by_name.ERRORS[made.estimator.learns](scenario, made(scenario)) if scenario.jobs else ()
    return {"belief": name, "belief_error": float(sum(errors) / len(errors)) if len(errors) else None}


def _belief_text(belief: Mapping[str, Any]) -> str:
    from workbench.scheduling.estimators import by_name

    if not belief:
        return ""
    estimator = by_name.maker(belief["belief"]).estimator
    said = f"\n\nSpeeds known: {belief['belief']} ({estimator.title})"
    if estimator.learns is None:
        return said
    error = belief["belief_error"]
    if error is None:
        return f"{said}; no {estimator.learns} to estimate"
    off = f"{estimator.learns} are off by {short_number(100 * error)} %"
    return f"{said}; {off} (mean relative error before anything was learnt)"


def _say_dropped(runs: Iterable[Run]) -> None:
    """Of how many jobs a scheduler gave up the SLO at some time."""
    for run in runs:
        signals = run.cells.columns("signals")
        if dropped := {*signals["job"][(signals["signal"] == "slo_dropped") & (signals["value"] > 0)]}:
            jobs = counted(len(dropped), "job")
            say(f"note: {run.scheduler} dropped the SLOs of {jobs} at some time, as they could not all be met")


def _say_out_of_time(runs: Iterable[Run]) -> None:
    """At how many decisions a solver's time ran out: with a plan by then, and without one."""
    for run in runs:
        decisions = run.cells.columns("decisions")
        late = decisions["objective"][decisions["status"] == "time_limit"]
        if len(late):
            without = int((late != late).sum())  # NaN
            some = counted(len(late), "decision")
            found = f"{run.scheduler} ran out of its time limit at {some} of {run.cells.count('decisions')}"
            say(f"note: {found}: {len(late) - without} took the best plan until then, {without} found none")


def watched(as_json: bool) -> bool:
    """Whether somebody sees stderr, and is not promised JSON and nothing else."""
    return not as_json and sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def progress_line(as_json: bool) -> Iterator[Callable[[str], None] | None]:
    """What writes the one line of progress on stderr, which is gone at the end; None where nobody watches."""
    if not watched(as_json):
        yield None
        return
    try:
        yield lambda text: print(CLEAR_LINE + text, end="", file=sys.stderr, flush=True)
    finally:
        print(CLEAR_LINE, end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _progress_shown(as_json: bool) -> Iterator[list[Observer]]:
    """Observers that keep the line of progress up to date."""
    from workbench.simulation.loop import ProgressReport

    with progress_line(as_json) as tell:
        yield [] if tell is None else [ProgressReport(lambda progress: tell(_progress(progress)), every_s=PROGRESS_S)]


def _progress(progress: RunProgress) -> str:
    from workbench.base.units import format_duration

    now = format_duration(progress.now_s, parts=2)
    jobs = f"{progress.finished} of {progress.jobs} jobs finished"
    return f"{jobs}, {progress.decisions} decisions, simulated up to {now}"


def _measures(
    found: Mapping[str, Summary],
    beside: Mapping[str, Mapping[str, str]] | None = None,
    above: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The headline measures, one column per scheduler; beside: by scheduler and metric what stands behind a value;
    above: rows before them, cells by scheduler."""
    from workbench.analysis.metrics import HEADLINE, with_known

    names = with_known(HEADLINE, found.values())
    columns = {name: _column(one, (beside or {}).get(name, {}), names) for name, one in found.items()}
    labels = next(iter(columns.values()))
    rows = [[head, *(cells[name] for name in columns)] for head, cells in (above or {}).items()]
    rows += [[label, *(column[label] for column in columns.values())] for label in labels]
    return aligned(["", *columns], rows)


def _column(found: Summary, beside: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """These measures by label, with their units and what stands behind each."""
    from workbench.analysis.metrics import as_rows
    from workbench.base.labels import with_unit

    rows = as_rows(found, names)
    return {label: with_unit(value, unit) + beside.get(name, "") for name, label, value, unit in rows}


# --- compare ----------------------------------------------------------------------------------------------------------


def compare(args: argparse.Namespace) -> Answer:
    """Several runs."""
    from workbench.analysis.comparison import compare as run_all
    from workbench.analysis.comparison import list_cases, with_beliefs

    check_targets({"--out": args.out}, force=args.force)
    scenario = read_scenario(args.scenario)
    require_jobs(scenario, args.scenario)
    beliefs, began = args.belief or [None], time.perf_counter()
    entries, belief = _entries(scenario, args.schedulers, args.settings), beliefs[0] if len(beliefs) == 1 else beliefs
    if args.to is not None:
        labels = [case.label for case in with_beliefs(list_cases(scenario, entries, args.seeds), belief)[1]]
        longer = {label for label in labels if args.to in label.split(", ")}  # a scheduler or a belief alone
        args.to = longer.pop() if args.to not in labels and len(longer) == 1 else args.to
        if args.to not in labels:
            raise InputError("--baseline", args.to, f"one of {', '.join(dict.fromkeys(labels))}")
    found = run_all(
        scenario,
        entries,
        seeds=args.seeds,
        window=args.window,
        until_s=args.until,
        workers=args.workers,
        belief=belief,
        charge_decisions=args.charge_decisions,
        bootstrap=args.bootstrap,
        on_run=lambda case, run: say(f"{case.label}, seed {case.seed}: done") if watched(args.json) else None,
    )
    wall_s = time.perf_counter() - began
    if args.out is not None:
        found.save(args.out, force=args.force)
    _say_warnings({case.label: each for case, each in zip(found.cases, found.summaries, strict=True)})
    _say_notes(scenario, found.notes, dict.fromkeys(case.scheduler for case in found.cases), beliefs)
    say_lacking(scenario, [(run.scheduler, run.knobs) for run in found.runs])
    _say_dropped(found.runs)
    _say_out_of_time(found.runs)
    for case, error in found.failed:
        say(f"failed: {case.label}, seed {case.seed}: {error}")
    to, known = args.to if args.to in found.labels else found.labels[0], _belief(scenario, found.runs)
    if args.to not in (None, to):
        say(f"--baseline {args.to}: none of its runs ended; the others are compared with {to}")
    data = {**_comparison(found, to, wall_s, args.out), "notes": found.notes, **known, **_charged(args)}
    return Answer(
        data, lambda: _compared(found, to, wall_s, args.out, args.spread) + _belief_text(known), int(bool(found.failed))
    )


def _entries(
    scenario: Scenario, schedulers: list[str] | None, given: list[str]
) -> dict[str, tuple[str, dict[str, str]]] | None:
    """The schedulers with their knobs, or None for the scenario's as they stand."""
    if schedulers is None:
        if given and scenario.schedulers:
            raise InputError("--set", given[0], "--schedulers with it (the scenario's have knobs of their own)")
        return None
    return labelled(schedulers, given)


def _comparison(found: Comparison, to: str, wall_s: float, out: str | None) -> dict[str, Any]:
    from workbench.analysis.comparison import mean_ratios
    from workbench.analysis.metrics import as_json

    runs = [
        {
            "label": case.label,
            "scheduler": case.scheduler,
            "seed": case.seed,
            "knobs": run.knobs,
            "belief": run.belief,
            "metrics": as_json(measures),
            "rounds": measures["rounds"],
        }
        for case, run, measures in zip(found.cases, found.runs, found.summaries, strict=True)
    ]
    failed = [
        {"label": case.label, "scheduler": case.scheduler, "seed": case.seed, "knobs": case.knobs, **error.as_json()}
        for case, error in found.failed
    ]
    return {
        "runs": runs,
        **({"failed": failed} if failed else {}),
        "ended": found.ended().to_dict("index"),
        "mean": found.mean().to_dict("index"),
        "spread": found.spread().to_dict("index"),
        "ratios_to": to,
        "ratios": mean_ratios(found, to),
        "paired": found.paired(to).to_dict("records"),
        "wall_s": wall_s,
        **({} if out is None else {"out": out}),
    }


def _compared(found: Comparison, to: str, wall_s: float, out: str | None, spread: bool) -> str:
    count = len({case.seed for case in (*found.cases, *(case for case, _ in found.failed))})
    saved = "" if out is None else f", saved in {out}"
    over = f", mean{' ± standard deviation' if spread else ''} over {count} seeds" if count > 1 else ""
    head = f"{counted(len(found.runs), 'run')} in {wall_s:.2f} s{saved}{over}"
    some_failed = bool((found.ended()["runs"] < found.ended()["of"]).any())
    if some_failed:
        head += "; where runs have failed (row Runs), over the others"
    if over and not (found.spread() > 0).any(axis=None):
        head += ", all alike: these runs leave nothing to chance (--bootstrap: each seed with other jobs)"
    if over and not spread and len(found.labels) > 1:
        head += (
            f"; behind it the geometric mean ratio to {to} seed by seed, where seeds differ with its 95 % interval, "
            "for all of a row together (* differs: 1 is not in it), where a seed there has 0 the difference "
            "(* 0 is not in it), and the mean rank, 1 the best"
        )
    runs = {str(row.Index): f"{row.runs} of {row.of}" for row in found.ended().itertuples()}
    known = {} if len(set(found.beliefs.values())) == 1 else {"Speeds known": found.beliefs}
    beside = _beside(found, to, spread) if count > 1 else {}
    table = _measures(_summaries(found.mean()), beside, {**({"Runs": runs} if some_failed else {}), **known})
    labels = known_as({case.label: (case.scheduler, case.knobs) for case in found.cases})
    return "\n".join([head, *found.runs[0].conditions, *labels, "", table])


def _summaries(by_scheduler: Any) -> dict[str, Summary]:
    """Of a table with a row for each scheduler."""
    from workbench.analysis.metrics import Summary

    return {str(name): Summary(values, {}) for name, values in by_scheduler.to_dict("index").items()}


def _beside(found: Comparison, to: str, spread: bool) -> dict[str, dict[str, str]]:
    """By scheduler and metric what stands behind a mean: its standard deviation where `spread` (one of rounding is not
    worth a word), else how it stands to the baseline."""
    from workbench.analysis.metrics import table
    from workbench.analysis.metrics.cards import words_of_pairs

    if spread:
        beside, means = dict[str, dict[str, str]](), _summaries(found.mean())
        for label, apart in _summaries(found.spread()).items():
            rows = table(apart, list(apart))
            shown = zip(rows["metric"], rows["value"], strict=True)
            beside[label] = {name: f" ± {text}" for name, text in shown if apart[name] > 1e-9 * abs(means[label][name])}
        return beside
    return {label: words_of_pairs(found.paired_as_read(to), label) for label in found.labels}
