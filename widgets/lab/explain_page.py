"""Why a job of a run ran, waited or moved, a GPU had whom it had or was idle, or what a decision was: choose one and a
time, read why, and ask what would be otherwise."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from contextlib import suppress

import ipywidgets as w

from widgets.editors.mistakes import refusal
from widgets.editors.setting_history import jsonable
from widgets.lab.highlight import About
from widgets.lab.reasons import DECISION, Reasons, has_rows
from widgets.parts.button import button
from widgets.parts.status_line import StatusLine
from widgets.work.thread import aside
from widgets.work.workplace import Message, Workplace
from workbench.analysis.chain import Chain, chain
from workbench.analysis.explanation import longest_wait_s, not_faster
from workbench.analysis.explanation.admission import has_verdicts, jobs_asked_about
from workbench.analysis.explanation.counterfactual import CounterfactualQuestion, on_its_own, with_node
from workbench.base.errors import InputError, WorkbenchError
from workbench.base.units import format_duration, parse_duration
from workbench.simulation.job_at_time import HOLDS, JobAtTime
from workbench.simulation.run import Run
from workbench.simulation.slot_at_time import SlotAtTime

EXPECTED = "a time of the run"
GUARANTEED = "guaranteed"
"""The verdict about which nobody asks; a job with another one is explained first."""
MOST_GPUS = 128
"""Of larger clusters those GPUs can be chosen that were clicked."""


class ExplainPage:
    """Follows the selected job and playback; at the end of a run it opens where the job's longest wait began. A time
    that a person has asked for stays, in the next run too, until playback is moved. `choice` has both, for any page.

    picked: told which job was chosen here; typed: called when a time was; work: who works for a scheduler of that name;
    weighed: told another weight of a job, which is to be tried.
    """

    def __init__(
        self,
        picked: Callable[[str], None],
        typed: Callable[[], None],
        work: Callable[[str], Workplace],
        weighed: Callable[[str, float], None],
    ) -> None:
        self._picked, self._typed = picked, typed
        self._unit, self._moved = "s", ""
        self._run: Run | None = None
        self._played_s: float | None = None
        self._asked_s: float | None = None
        self._quiet = False
        self._job = w.Dropdown(description="Of", layout=w.Layout(width="16em"), style={"description_width": "2em"})
        self._job.add_class("wb-explain-job")
        self._job.observe(lambda change: self._on_job(change["new"]), "value")
        self._at = w.Text(
            description="At", continuous_update=False, layout=w.Layout(width="14em"), style={"description_width": "2em"}
        )
        self._at.add_class("wb-explain-at")
        self._at.tooltip = "As 45 min or 2 h 30 min; a number alone is in the unit that stands here; playback moves it"
        self._at.observe(lambda _: self._on_at(), "value")
        self._said = StatusLine()
        self._reasons = Reasons(self._say_bad)
        self._waits: tuple[str, float] | None = None
        self._otherwise = OtherwiseRow(work, self._question, self._asked_of, self._waiting, weighed)
        self.choice = w.HBox([self._job, self._at])
        self.choice.add_class("wb-choice")
        row = w.HBox([self.choice, *self._otherwise.asks, self._otherwise.again, self._said])
        row.add_class("wb-tools")
        self.box = w.VBox([row, self._otherwise.told, self._reasons.told])

    def show_run(self, run: Run) -> None:
        """Offer the jobs of another run; the chosen one stays if it is there, the time that was asked for too."""
        self._run, self._played_s = run, None
        if self._asked_s is not None and self._asked_s > run.end_s:
            self._asked_s = None
        self._otherwise.show_run(run)
        names = run.jobs["job"].tolist()
        verdicts = dict(zip(names, run.jobs["verdict"], strict=True)) if has_verdicts(run) else {}
        refused = [job for job in jobs_asked_about(run) if verdicts.get(job, GUARANTEED) != GUARANTEED]
        before, self._quiet = self._job.value, True
        self._job.options = [
            *((name, name) for name in names),
            ("The decision, step by step", DECISION),
            *((_named(gpu, run), ("gpu", gpu)) for gpu in _gpus(run)),
        ]
        there = [value for _, value in self._job.options]
        self._job.value = before if before in there else next(iter([*refused, *names]), None)
        self._quiet = False
        self._find_time()

    @property
    def job(self) -> str | None:
        """The job that is chosen; None without a run, and where a GPU is."""
        return self._job.value if isinstance(self._job.value, str) else None

    @property
    def about(self) -> About | None:
        """The job or GPU that is chosen; None without a run, and where a decision is."""
        return None if self._job.value == DECISION else self._job.value

    @property
    def at_s(self) -> float:
        """The time that is explained; while none is typed that can be, where playback stands or the job waited most."""
        try:
            return self._typed_s()
        except ValueError:
            return self._first_s

    def _typed_s(self) -> float:
        """The time that stands in the field. Raises ValueError for none, and for one that the run does not have."""
        at_s, run = parse_duration(self._at.value, unit=self._unit), self._run
        if run is not None and not 0 <= at_s <= run.end_s:
            until = f"the run's end, {format_duration(run.end_s, parts=2)}"
            raise ValueError(
                f"{format_duration(at_s, parts=2)} is not from 0 to {until}; a number alone is {self._unit}"
            )
        return at_s

    @property
    def _first_s(self) -> float:
        """The time that is explained: as asked for, where playback stands, or where the job's longest wait began."""
        if self._asked_s is not None:
            return self._asked_s
        if self._run is None or self.job is None:
            return self._played_s or 0.0
        return longest_wait_s(self._run, self.job) if self._played_s is None else self._played_s

    def stay(self) -> None:
        """The time that is explained stays in the next run, as one that was asked for does."""
        self._asked_s = self.at_s

    def look_at(self, job: str, gpu: str, at_s: float) -> None:
        """Explain a job, where there is none (empty) a GPU, at a time that was clicked on a GPU (empty: on none)."""
        run = self._run
        if run is None:
            return
        self._quiet = True
        if job:
            self._job.value = job
        elif gpu:
            if ("gpu", gpu) not in [value for _, value in self._job.options]:
                self._job.options = [*self._job.options, (_named(gpu, run), ("gpu", gpu))]
            self._job.value = ("gpu", gpu)
        self._quiet = False
        self._asked_s = _near(run, gpu, at_s)
        self._set_time(self._asked_s)

    def select(self, job: str | None) -> None:
        """Choose a job that was selected elsewhere."""
        if self._run is None or job is None or job == self._job.value:
            return
        self._quiet = True
        self._job.value = job
        self._quiet = False
        self._keep_time(job)
        self.stay()

    def played(self, until_s: float | None, moved: bool = True) -> None:
        """Playback shows the run up to a time, None: all of it; explained is the round that it shows last.

        moved: by somebody, so that no other time is asked for.
        """
        if self._run is None:
            return
        if moved:
            self._asked_s = None
        times_s = self._run.decisions["time_s"].to_numpy()
        before = times_s[times_s < until_s] if until_s is not None else times_s[:0]
        self._played_s = float(before[-1]) if len(before) else None if until_s is None else 0.0
        self._find_time()

    def opened(self) -> None:
        """Explain what is chosen, if the page shows something else."""
        run, about = self._run, self._job.value
        if run is None or about is None:
            return
        try:
            at_s = self._typed_s()
            if self._reasons.show(run, about, at_s):
                self._otherwise.forget()
                self._offer(self._job_at(at_s), at_s)
                self._said.asked += 1
        except (ValueError, InputError) as error:
            expected = error.expected if isinstance(error, InputError) else f"{EXPECTED}: {error}"
            self._say_bad(f"Expected {expected}")
        else:
            self._said.tone, self._said.text = "note", self._moved

    def _say_bad(self, text: str) -> None:
        self._said.tone, self._said.text = "bad", text

    def _offer(self, job: str, at_s: float) -> None:
        """Offer the questions that a job has at a time; empty: there is none to ask about."""
        self._waits, then = self._waiter(job, at_s), "now"
        if self._waits is not None and self._waits[1] != at_s:
            then = f"at {format_duration(self._waits[1], parts=2)}, when it waited longest"
        now = "" if self._waits is None else NOW.format(self._waits[0], then)
        nodes = () if self._run is None else self._run.scenario.cluster.each_node
        several = len({(node.accelerator, node.speed) for node in nodes}) > 1
        faster = bool(several and self._run is not None and job and not_faster(self._run, job, at_s).gpus)
        has = self._run is not None and bool(job) and JobAtTime(self._run, job, at_s).state in HOLDS
        self._otherwise.offer(bool(job), FASTER[has] if faster else "", now)

    def _waiter(self, job: str, at_s: float) -> tuple[str, float] | None:
        """Which waiting is asked about: the job's then, or its longest; of an idle GPU that of the first who waits."""
        run = self._run
        if run is None or self._job.value == DECISION or (not job and len(run.jobs) > MOST_TRIED):
            return None
        tried = [(job, at_s), (job, longest_wait_s(run, job))] if job else [(each, at_s) for each in run.jobs["job"]]
        return next(((each, then_s) for each, then_s in tried if JobAtTime(run, each, then_s).state == "waiting"), None)

    def _waiting(self) -> tuple[Run, str, float]:
        """Whose waiting is asked about, and when, which is the page's time from then on."""
        run, waits = self._run, self._waits
        if run is None or waits is None:
            raise InputError("job", None, "a job that waits")
        if self.job == waits[0] and self._typed_s() != waits[1]:
            self._asked_s = waits[1]
            self._set_time(waits[1])
            self.opened()
            self._typed()
        return run, *waits

    def _question(self, kind: str | None) -> CounterfactualQuestion:
        """What is asked of the job and time that are chosen. Raises InputError or ValueError for what cannot be."""
        run, job, at_s = self._asked_of()
        return on_its_own(run, job) if kind is None else with_node(run, job, at_s, accelerator=kind)

    def _asked_of(self) -> tuple[Run, str, float]:
        """The run, job and time that are chosen. Raises InputError or ValueError for what cannot be."""
        at_s = self._typed_s()
        job = self._job_at(at_s)
        if self._run is None or not job:
            raise InputError("job", None, "a job of a run")
        return self._run, job, at_s

    def _job_at(self, at_s: float) -> str:
        """The job that is chosen, or that the GPU has that is; empty without one."""
        about = self._job.value
        if self._run is None or about is None or about == DECISION:
            return ""
        return about if isinstance(about, str) else SlotAtTime(self._run, about[1], at_s).job

    def _find_time(self) -> None:
        self._set_time(self._first_s)

    def _keep_time(self, job: str) -> None:
        """The time stays, unless the job was not there then: said, and asked is where its longest wait began."""
        run, asked_s = self._run, self.at_s
        assert run is not None
        row = run.jobs[run.jobs["job"] == job].iloc[0]
        if row["arrival_s"] <= asked_s and not row["finish_s"] <= asked_s:
            self._set_time(asked_s)
            return
        self._asked_s = None
        self._set_time(longest_wait_s(run, job))
        how = "came only" if asked_s < row["arrival_s"] else "was done"
        since = format_duration(float(row["arrival_s"] if asked_s < row["arrival_s"] else row["finish_s"]), parts=2)
        self._moved = f"Not at {format_duration(asked_s, parts=2)}: {job} {how} at {since}."

    def _set_time(self, at_s: float) -> None:
        """Show a time, in the unit of which a number alone is from then on."""
        long = self._run is not None and self._run.end_s >= SHORT_S
        text = "0 min" if at_s == 0 and long else format_duration(at_s)
        self._quiet, self._unit, self._moved = True, text.split()[-1], ""
        self._at.value = text
        self._quiet = False

    def _on_job(self, about: About | None) -> None:
        if self._quiet or about is None:
            return
        if isinstance(about, str):
            self._keep_time(about)
            self.stay()
            self._picked(about)
        self.opened()

    def _on_at(self) -> None:
        if self._quiet:
            return
        with suppress(ValueError):  # `opened` says what is expected
            self._asked_s = self._typed_s()
            self._set_time(self._asked_s)
        self.opened()
        self._typed()


SHORT_S = 120.0
"""In a longer run nobody means a time in seconds."""
NICE_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""What a time that was pointed at is a multiple of: the first that is as long as a hand is sure of."""
SURE = 600
"""So many parts of a run can be pointed at."""


def _near(run: Run, gpu: str, at_s: float) -> float:
    """A time as people say it, near one that was pointed at, in the run, and with the same on the GPU."""
    nice = next((step for step in NICE_S if step >= run.end_s / SURE), NICE_S[-1])
    said = float(f"{at_s:.3g}") if run.end_s < SURE else float(round(at_s / nice) * nice)
    inside = (time_s for time_s in (said, float(round(at_s)), round(at_s, 1)) if time_s <= run.end_s)
    here = gpu and SlotAtTime(run, gpu, at_s).unit
    return next((time_s for time_s in inside if not gpu or SlotAtTime(run, gpu, time_s).unit == here), at_s)


def _gpus(run: Run) -> list[str]:
    """Those of a cluster that is not too large."""
    found = [f"{node.name}/{slot}" for node in run.scenario.cluster.each_node for slot in range(node.gpus)]
    return found if len(found) <= MOST_GPUS else []


def _named(gpu: str, run: Run) -> str:
    kinds = {node.name: node.accelerator for node in run.scenario.cluster.each_node}
    return f"GPU {gpu} ({kinds[gpu.rpartition('/')[0]]})"


FASTER = "Why on none of the fastest GPUs?", "Why not on faster GPUs?"
"""Of a job without GPUs, and of one that has some."""
NOW = "What would make {} run {}?"
MOST_TRIED = 100
"""Of a run with more jobs it would take long to try what would bring a job there."""
IN_ALL = "A row moved in all decisions of the run may: drag its number on the page Model."


class OtherwiseRow:
    """Questions about the job, a button each.

    asks: the buttons of what the run itself answers; told: the answer, headed by its question, the newest only; again:
    the buttons of what is simulated anew.

    work: who works for a scheduler of that name; question: for one more node of a type, or for the job alone (None);
    asked_of: the run, job and time that are chosen; waiting: those of the waiting that is asked about; weighed: told
    the weight of a job that is to be tried.
    """

    def __init__(
        self,
        work: Callable[[str], Workplace],
        question: Callable[[str | None], CounterfactualQuestion],
        asked_of: Callable[[], tuple[Run, str, float]],
        waiting: Callable[[], tuple[Run, str, float]],
        weighed: Callable[[str, float], None],
    ) -> None:
        self._work, self._question, self._asked_of, self._waiting = work, question, asked_of, waiting
        self._weighed, self._weight = weighed, ("", 1.0)
        self._asked: CounterfactualQuestion | None = None
        self._heading = ""
        self._number = 0
        self._faster = button("", "explain-faster", self.ask_faster)
        self._now = button("", "explain-now", self.ask_now)
        hint = "Simulated again, with this job only"
        self._alone = button("Without the other jobs?", "explain-alone", lambda: self.ask(None), hint)
        hint = "Of as many GPUs as the job asks for, from the time above on; simulated again"
        self._more = button("With one more node?", "explain-more", lambda: self.ask(self._kind.value), hint)
        self._kind = w.Dropdown(layout=w.Layout(width="7em"), tooltip="Type of the node's GPUs")
        self._kind.add_class("wb-explain-kind")
        self._cancel = button("Cancel", "explain-stop", self.cancel, icon="stop", disabled=True)
        self._said, self._answer = StatusLine(), w.HTML()
        self._answer.add_class("wb-verdict")
        self._answer.add_class("wb-explain-otherwise")
        self.asks = (self._faster, self._now)
        self.again = w.HBox([self._alone, self._kind, self._more, self._cancel])
        self.again.add_class("wb-tools")
        hint = "Sets the weight in the table of jobs, for the whole run; Undo takes it back"
        self._try_it = button("", "explain-try", lambda: self._weighed(*self._weight), hint)
        self._try_it.layout.display = "none"
        self.told = w.VBox([self._said, self._answer, self._try_it])

    def show_run(self, run: Run) -> None:
        """Offer the types of another run; what was asked of the run before is no longer wanted."""
        self.forget()
        kinds, before = run.scenario.cluster.types, self._kind.value
        self._kind.options = kinds
        self._kind.value = before if before in kinds else kinds[0]

    def offer(self, there: bool, faster: str, now: str) -> None:
        """Offer the questions that there are. there: there is a job to ask about; faster: why it is on no faster GPUs;
        now: what would make one run, in words, empty: none waits."""
        self._faster.description, self._now.description = faster, now
        offered = {self._faster: faster, self._now: now, self.told: there or now, self.again: there}
        for each, is_offered in offered.items():
            each.layout.display = None if is_offered else "none"

    def forget(self) -> None:
        """Another job, time or run is looked at: stop, and show no answer."""
        self._number += 1
        self.cancel()
        self._asked, self._answer.value, self._try_it.layout.display = None, "", "none"
        self._wait(False)
        self._say("", "")

    def ask_faster(self) -> None:
        """Say why the job is on no faster GPUs, and then what would bring it there."""
        asked = self._begin(self._faster, self._asked_of)
        if asked is None:
            return
        run, job, at_s = asked
        found = not_faster(run, job, at_s)
        self._tell(found.says)
        if found.gpus:
            self._try(run, job, at_s, [found.gpus], found.says)

    def ask_now(self) -> None:
        """Find out what would make a job that waits run now, on the type on which it is fastest of those that do."""
        asked = self._begin(self._now, self._waiting)
        if asked is None:
            return
        run, job, at_s = asked
        job_at = JobAtTime(run, job, at_s)
        kinds = [kind for kind in job_at.usable if kind not in job_at.too_small]
        kinds.sort(key=lambda kind: -job_at.usable[kind])
        slots = {kind: [f"{node.name}/{slot}" for node in run.scenario.cluster.each_node if node.accelerator == kind
                        for slot in range(node.gpus)] for kind in kinds}  # fmt: skip
        self._try(run, job, at_s, [slots[kind] for kind in kinds])

    def _begin(self, button: w.Button, asked_of: Callable[[], tuple[Run, str, float]]) -> tuple[Run, str, float] | None:
        """What is asked about, now that nobody waits for another answer; None, said, if that cannot be."""
        self.forget()
        try:
            asked = asked_of()
        except (InputError, ValueError) as error:
            self._refuse(error)
            return None
        self._heading = button.description
        return asked

    def _try(self, run: Run, job: str, at_s: float, among: Sequence[Sequence[str]], begun: str = "") -> None:
        """Try aside what would bring a job onto a GPU of the first of these sets that it can be brought onto.

        begun: what the answer begins with.
        """
        if len(run.jobs) > MOST_TRIED:
            self._tell(begun, f"What would bring it there is tried for up to {MOST_TRIED} jobs.")
            return
        number = self._number
        self._wait(True)
        self._say("", "Trying what would bring it there ...")

        def tried() -> Chain:
            found = None
            for gpus in among:
                gpu = next((each for each in gpus if not SlotAtTime(run, each, at_s).unit), gpus[0])
                found = chain(run, gpu, at_s, job=job)
                if found.brings:
                    break
            assert found is not None
            return found

        aside(tried, lambda found: self._hear_tried(number, found, begun, has_rows(run)))

    def _hear_tried(self, number: int, found: Chain | WorkbenchError, begun: str, of_rows: bool) -> None:
        if number != self._number:
            return
        self._wait(False)
        if isinstance(found, WorkbenchError):
            self._say("bad", refusal(found))
            return
        self._say("", "")
        moved = (row for row in found.rows if row.becomes.startswith(f"{found.asked} would run "))
        rows = [f"With {row.row} {row.done}, {row.becomes}." for row in moved][:1] or [IN_ALL]
        self._tell(begun, found.otherwise, rows[0] if not found.brings and of_rows else "")
        if found.weight is not None:
            self._weight = found.asked, found.weight
            self._try_it.description = f"Try it: weight {found.weight:g} for {found.asked} in the whole run"
            self._try_it.layout.display = None

    def _tell(self, *sentences: str) -> None:
        """The answer to the question that was asked last, which is its heading."""
        said = "".join(f"<p>{html.escape(each)}</p>" for each in sentences if each)
        self._answer.value = f"<h4>{html.escape(self._heading)}</h4>{said}"

    def ask(self, kind: str | None) -> None:
        """Simulate again with one more node of a type, or with the job alone."""
        try:
            asked = self._question(kind)
        except (InputError, ValueError) as error:
            self._refuse(error)
            return
        self.forget()
        self._asked, self._heading = asked, self._alone.description
        if kind is not None:
            self._heading = f"{self._more.description} ({kind})"
        self._wait(True)
        self._cancel.disabled = False
        self._say("", "Simulating again ...")
        run, number = asked.run, self._number
        request = {
            "kind": "simulate",
            "scenario": asked.scenario.to_dict(),
            "scheduler": run.scheduler,
            "knobs": jsonable(run.knobs),
            "seed": run.seed,
            "until_s": asked.until_s,
            "belief": run.belief,
        }
        self._work(run.scheduler).submit(request, lambda message: self._hear(number, message), self)

    def cancel(self) -> None:
        """Stop what is being simulated."""
        if self._asked is not None:
            self._work(self._asked.run.scheduler).cancel(self)

    def _hear(self, number: int, message: Message) -> None:
        asked = self._asked
        if number != self._number or asked is None:
            return
        if message["kind"] == "progress":
            self._say("", f"Simulating again ... {message['finished']} of {message['jobs']} jobs finished")
            return
        self._asked = None
        self._wait(False)
        if message["kind"] == "done":
            self._tell(asked.answered(message["run"], float(message["wall_s"])).text())
            self._say("", "")
        elif message["kind"] == "cancelled":
            self._say("", "Cancelled.")
        else:
            self._say("bad", refusal(message["error"]))

    def _wait(self, busy: bool) -> None:
        for each in (self._faster, self._now, self._alone, self._more):
            each.disabled = busy
        self._cancel.disabled = True

    def _refuse(self, error: InputError | ValueError) -> None:
        expected = error.expected if isinstance(error, InputError) else f"a time of the run: {error}"
        self._say("bad", f"Expected {expected}")

    def _say(self, tone: str, text: str) -> None:
        with self._said.hold_sync():
            self._said.tone, self._said.text = tone, text
