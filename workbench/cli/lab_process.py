"""The process that does a lab's work: requests come in as JSON lines, progress and results go out as JSON lines.

Run as `python -m workbench.cli.lab_process`. It is started with the lab and imports the slow libraries at once, so that
a knob does not wait for them. Runs are handed over in the answer (`Run.as_message`), and no file is written. When its
input ends (the lab is gone, however that happened) it ends too, in the middle of a request if need be.

request:  {"id": 1, "kind": "simulate", "scenario": {...}, "scheduler": NAME, "knobs": {...}, "seed": S, "until_s": S,
           "window": [FIRST, LAST], "belief": ESTIMATOR}
          {"id": 2, "kind": "describe", "formulation": NAME, "scenario": {...}, "knobs": {...}}
          {"id": 3, "kind": "measure", ...} as simulate; its answer has the `measures`, each job's `jct_s` (null: not
          done) and no run
          {"id": 3, "kind": "cost", ..., "limit_s": S} as simulate, for so long at most; its answer has the `wall_s`
          that it took and how many of the `jobs` were `finished` by then
          {"id": 3, "kind": "exact", "scenario": {...}, "scheduler": NAME, "knobs": {...}, "time_limit_s": S}
          {"id": 3, "kind": "study", "study": NAME, "asked": [{"scenario": {...}, "given": {...}}, ...]}
          {"id": 5, "kind": "marginal", "formulation": NAME, "scenario": {...}}; its answer has the `values`
          {"id": 7, "kind": "calibrate", "scheduler": NAME, "scenario": {...}}; its answer has what was `found`
          {"id": 6, "kind": "convert", "format": NAME, "paths": [FILE, ...], "throughputs": FILE or null,
           "cluster": {...} or null, "sample": N or null}; of several files one is the log, the others tell of its site;
           its answer has its `name`, the `scenario` and the `report` of what was dropped
          {"id": 4, "kind": "many", "workers": N, "scenarios": [{...}, ...], "requests": [{"scenario": NUMBER,
           "scheduler": NAME, "knobs": {...}, "seed": S, "belief": ESTIMATOR, "until_s": S}, ...]}
answer:   {"id": 1, "kind": "progress", "now_s": ..., "finished": ..., "jobs": ..., "decisions": ...} now and then,
          and at last {"id": 1, "kind": "done", ...} or {"id": 1, "kind": "error", "status": ..., "error": {...}}

A simulation is answered with its `run`, its `belief` and, if that learns, the `errors` that it had in
the meantime: the columns of `ErrorLog.table`, else null. Asked in the kernel itself its `scenario` may be the object. A
study is done for each that is asked, in turn, and each is told as progress at once:
{"id": 3, "kind": "progress", "number": 0, "found": {...}}.

Of many runs the first small ones are made here, until N workers would have begun. The others are made by these,
which stay for the next such request. Runs are told as each ends, in any order:
{"id": 4, "kind": "progress", "number": 0, "run": FOLDER} or {..., "number": 0, "status": ..., "error": {...}}. One that
fails does not end the others.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, TypeVar

from workbench.base.error_origin import fault
from workbench.base.errors import WorkbenchError
from workbench.base.processes import Processes
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import belief_of, maker
from workbench.scheduling.solvers import warm_up
from workbench.session.registry import find_formulation, find_scheduler, find_study, rooms
from workbench.simulation.loop import ProgressReport, RunProgress, run_loop
from workbench.simulation.run import Run
from workbench.simulation.state import State
from workbench.simulation.stop import AllFinished, RunCancelledError, Stop, stop_rule

if TYPE_CHECKING:
    from workbench.session.many_runs import RunRequest

Tell = Callable[[Mapping[str, Any]], None]
Answer = TypeVar("Answer")
HERE_S = 2.0
"""So long small runs of many are made here, in turn: two processes need half of it to begin, and then half of the time.
One that takes longer is begun anew there."""
HERE_JOBS = 300
"""A run of more jobs is not small."""


def main(source: TextIO = sys.stdin, target: TextIO = sys.stdout) -> None:
    """Serve requests from `source` until it ends."""
    answers = _Answers(target)
    requests = _requests(source, _leave)
    gc.disable()  # imports leave nothing to collect: looking for it takes a seventh of their time
    warm_up()
    rooms()
    gc.freeze()  # nor is it looked for again in what was imported
    gc.enable()
    answers({"kind": "ready"})
    many = ManyRuns()
    while True:
        request = requests.get()
        tell = answers.of(request.get("id"))
        with contextlib.redirect_stdout(sys.stderr):  # a stray print must not break the protocol
            serve(request, tell, many)


def serve(request: Mapping[str, Any], tell: Tell, many: ManyRuns, stop: Stop | None = None) -> None:
    """Do a request and tell what came of it, runs as objects; stop: when a simulation ends, if not as it asks."""
    try:
        if request["kind"] == "simulate":
            tell({"kind": "done", **_simulate(request, tell, stop or stop_of(request))})
        elif request["kind"] == "measure":
            tell({"kind": "done", **_measure(request, tell)})
        elif request["kind"] == "cost":
            tell({"kind": "done", **_cost(request)})
        elif request["kind"] == "exact":
            tell({"kind": "done", **_exact(request)})
        elif request["kind"] == "study":
            do_study(request, tell)
        elif request["kind"] == "marginal":
            tell({"kind": "done", **_marginal(request)})
        elif request["kind"] == "calibrate":
            tell({"kind": "done", **_calibrated(request)})
        elif request["kind"] == "convert":
            tell({"kind": "done", **_converted(request)})
        elif request["kind"] == "many":
            many.do(request, tell)
        else:
            tell({"kind": "done", **described(request)})
    except WorkbenchError as error:
        tell({"kind": "cancelled"} if error.status == "cancelled" else {"kind": "error", **error.as_json()})
    except Exception as error:  # the process goes on, and the lab shows what happened
        asked = [f"{part} {request[part]}" for part in ("formulation", "study", "scheduler") if request.get(part)]
        tell({"kind": "error", **fault(error, next(iter(asked), "the labs' process")).as_json()})


def _simulate(request: Mapping[str, Any], tell: Tell, stop: Stop) -> dict[str, Any]:
    began = time.perf_counter()
    return {**simulated(request, stop, tell)._asdict(), "wall_s": time.perf_counter() - began}


def _measure(request: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Of a run that nobody needs to see what it comes to, and when each job was done."""
    from workbench.analysis.metrics import as_json, jct_s, summary

    run = simulated(request, AllFinished(), tell).run
    ended = [None if math.isnan(each) else each for each in jct_s(run).tolist()]
    return {"measures": as_json(summary(run)), "jct_s": ended}


class _For(AllFinished):
    """Ends when every job has finished, or after so many seconds of the machine."""

    def __init__(self, seconds: float) -> None:
        self._until_s = time.monotonic() + seconds

    def __call__(self, state: State) -> bool:
        return super().__call__(state) or time.monotonic() > self._until_s


def _cost(request: Mapping[str, Any]) -> dict[str, Any]:
    """How far a simulation comes in a while."""
    began = time.perf_counter()
    run = simulated(request, _For(request["limit_s"]), lambda message: None).run
    finished = int(run.jobs["finish_s"].notna().sum())
    return {"wall_s": time.perf_counter() - began, "finished": finished, "jobs": len(run.jobs)}


def _exact(request: Mapping[str, Any]) -> dict[str, Any]:
    """The problem that an algorithm is for, solved beside a run of it; both by their titles."""
    from workbench.analysis.exact import exact

    scenario = Scenario.from_dict(request["scenario"], "lab")
    found = exact(scenario, request["scheduler"], request["knobs"], time_limit_s=request["time_limit_s"])
    title = f"\u201c{find_formulation(found.formulation).title}\u201d"
    return replace(
        found, scheduler=find_scheduler(found.scheduler).title.partition(":")[0], formulation=title
    ).as_json()


def _marginal(request: Mapping[str, Any]) -> dict[str, Any]:
    """What one more in the row of each type is worth."""
    from workbench.analysis.what_if.marginal import marginal_values

    return {"values": marginal_values(Scenario.from_dict(request["scenario"], "lab"), request["formulation"]).as_json()}


def _calibrated(request: Mapping[str, Any]) -> dict[str, Any]:
    """A log held against a scheduler's run of it."""
    from workbench.analysis.calibration.calibrate import calibrate

    return {"found": calibrate(Scenario.from_dict(request["scenario"], "lab"), request["scheduler"]).to_json()}


def _converted(request: Mapping[str, Any]) -> dict[str, Any]:
    """A trace as a scenario that can be run."""
    from workbench.scenario.traces import convert
    from workbench.scenario.traces.sacct import log_and_site

    given = {name: request[name] for name in ("throughputs", "cluster", "sample")}
    source, *site = (Path(path) for path in request["paths"])
    if site:
        source, site = log_and_site([source, *site])
        given["config" if request["cluster"] else "nodes"] = site
    scenario, report = convert(request["format"], source, **given)
    scenario.require_runnable(source.name)
    return {"name": source.name, "scenario": scenario.to_dict(), "report": report.as_json()}


def stop_of(request: Mapping[str, Any]) -> Stop:
    """When the run of a request ends."""
    return stop_rule(request.get("until_s"), _window(request))


def _window(request: Mapping[str, Any]) -> tuple[int, int] | None:
    window = request.get("window")
    return None if window is None else (int(window[0]), int(window[1]))


class SimulatedRun(NamedTuple):
    """A run, its belief by name, and the errors of one that learns: columns of `ErrorLog.table`, else None."""

    run: Run
    belief: str
    errors: dict[Hashable, list[float]] | None


def simulated(request: Mapping[str, Any], stop: Stop, tell: Tell) -> SimulatedRun:
    """Do a request of kind `simulate`; raises what `workbench.simulate` does."""
    asked = request["scenario"]
    scenario = asked if isinstance(asked, Scenario) else Scenario.from_dict(asked, "lab")
    scheduler = find_scheduler(request["scheduler"])
    made = maker(belief_of(scheduler, request.get("belief")))
    log = made.log()
    run = run_loop(
        scenario,
        scheduler,
        request.get("knobs", {}),
        seed=request.get("seed"),
        stop=stop,
        observers=[ProgressReport(lambda progress: tell({"kind": "progress", **progress_json(progress)}))],
        belief=made(scenario, request.get("seed")) if log is None else log(scenario),
        detail=request.get("detail"),
    )
    until_s, code = request.get("until_s"), scheduler.code()
    drew = run.drew or made.draws
    run = replace(run, belief=made.text, drew=drew, until_s=until_s, window=_window(request), code=code)
    errors = None if log is None else log.table()
    return SimulatedRun(run, made.text, None if errors is None or errors.empty else errors.to_dict("list"))


def progress_json(progress: RunProgress) -> dict[str, Any]:
    """The progress as the protocol has it."""
    return progress._asdict()


def do_study(request: Mapping[str, Any], tell: Tell) -> None:
    """Do a study for each that is asked, and tell each at once."""
    from workbench.session.api import snapshot_at

    began, study = time.perf_counter(), find_study(request["study"])
    for number, asked in enumerate(request["asked"]):
        snapshot = snapshot_at(Scenario.from_dict(asked["scenario"], "page"), 0.0, offline=True)
        tell({"kind": "progress", "number": number, "found": study(snapshot, asked["given"])})
    tell({"kind": "done", "wall_s": time.perf_counter() - began})


class ManyRuns:
    """Does requests of kind `many`: what is soon done here, the rest in processes that stay; alone: all here."""

    def __init__(self, alone: bool = False) -> None:
        self._alone = alone
        self._processes: Processes | None = None
        self._wanted = self._count = 0

    def do(self, request: Mapping[str, Any], tell: Tell) -> None:
        """Make the runs, and tell each at once."""
        from workbench.session.many_runs import RunRequest, each_outcome

        began = time.perf_counter()
        scenarios = [Scenario.from_dict(scenario, "lab") for scenario in request["scenarios"]]
        requests = [RunRequest(**{**asked, "scenario": scenarios[asked["scenario"]]}) for asked in request["requests"]]
        self._wanted = request["workers"]
        with contextlib.closing(each_outcome(requests, kept=self)) as ended:
            for number, outcome in ended:  # none is kept here once it is told
                if isinstance(outcome, WorkbenchError):
                    tell({"kind": "progress", "number": number, **outcome.as_json()})
                    continue
                tell({"kind": "progress", "number": number, "run": outcome})
        tell({"kind": "done", "wall_s": time.perf_counter() - began})

    def answers(
        self, make: Callable[..., Answer], requests: Iterable[RunRequest]
    ) -> Generator[tuple[int, Answer], None, None]:
        """Number of a request and what `make` made of it, as each ends."""
        late, left = _Late(math.inf if self._alone else time.monotonic() + HERE_S), enumerate(requests)
        for number, request in left:
            if not late.is_now() and (self._alone or len(request.scenario.jobs) <= HERE_JOBS):
                answer = make(request, [late])
                if getattr(answer, "status", "") != RunCancelledError.status:
                    yield number, answer
                    continue
            rest = [(number, request), *left]
            with contextlib.closing(self._warm().answers(make, [each for _, each in rest])) as ended:
                yield from ((rest[at][0], answer) for at, answer in ended)

    def _warm(self) -> Processes:
        """The processes: those that are there, if they are as many."""
        if self._processes is None or not self._processes.alive or self._wanted != self._count:
            if self._processes is not None:
                self._processes.close()
            self._processes, self._count = Processes(self._wanted, begin, Scenario), self._wanted
        return self._processes


class _Late:
    """Ends a run with `RunCancelledError` at this time of the machine, s."""

    def __init__(self, at_s: float) -> None:
        self._at_s = at_s

    def is_now(self) -> bool:
        return time.monotonic() > self._at_s

    def on_decision(self, progress: RunProgress) -> None:
        if self.is_now():
            raise RunCancelledError("the labs' process", f"{HERE_S:g} s", "a run that has ended")


def begin() -> None:
    """Import what runs need."""
    warm_up()
    rooms()


def described(request: Mapping[str, Any]) -> dict[str, Any]:
    """A formulation on paper: statement, symbols with their values at the last arrival, each equation beside its code
    (of an own one: none), source, and the size of the model then."""
    from workbench.scheduling.notation import inline, model_size, render, side_by_side, source, symbols, values
    from workbench.session.api import snapshot_at

    formulation = find_formulation(request["formulation"])
    known = {knob.name for knob in formulation.knobs}
    knobs = formulation.settle({k: v for k, v in request.get("knobs", {}).items() if k in known})
    scenario = Scenario.from_dict(request["scenario"], "lab")
    data = formulation.data(snapshot_at(scenario, offline=formulation.offline), knobs)
    model = formulation.build(data, knobs)
    statement, table = formulation.statement(knobs, data), symbols(model)
    on_paper: Any = getattr(formulation, "on_paper", None)  # an own one has a text of its own
    text, code = on_paper(model, knobs) if on_paper else (render(statement), source(statement))
    return {
        "title": formulation.title,
        "statement": text,
        "symbols": table.assign(symbol=table["symbol"].map(inline)).to_dict("list"),
        "values": values(model),
        "equations": [] if on_paper else side_by_side(statement, code),
        "source": code,
        "size": str(model_size(model)),
    }


class _Answers:
    """Writes one JSON line per answer; several threads may."""

    def __init__(self, target: TextIO) -> None:
        self._target, self._lock = target, threading.Lock()

    def __call__(self, message: Mapping[str, Any]) -> None:
        if "run" in message:
            message = {**message, "run": message["run"].as_message()}
        with self._lock:
            self._target.write(json.dumps(message, allow_nan=False) + "\n")
            self._target.flush()

    def of(self, number: Any) -> Tell:
        """A writer that puts the request's number on every answer."""
        return lambda message: self({"id": number, **message})


def _requests(source: TextIO, leave: Callable[[], None]) -> queue.Queue[Any]:
    """Read requests in a thread, so that the process ends at once when the lab is gone."""
    found: queue.Queue[Any] = queue.Queue()

    def read() -> None:
        try:
            for line in source:
                found.put(json.loads(line))
        finally:
            leave()

    threading.Thread(target=read, daemon=True).start()
    return found


def _leave() -> None:
    """End this process at once, with the solvers it may have started if it leads a group of its own."""
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _private_stdout() -> TextIO:
    """Standard output for the protocol alone: what libraries print goes to standard error from now on."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return own


if __name__ == "__main__":
    main(target=_private_stdout())
