"""The reasons of a page Why: of a job, a GPU or a decision of a run, and of a job in two runs beside each other."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType

import ipywidgets as w
import pandas as pd

from widgets.editors.mistakes import refusal
from widgets.lab.highlight import About
from widgets.lab.words import NO_ROW, TRYING
from widgets.parts.startup import quick_imports
from widgets.parts.status_line import StatusLine
from widgets.work.kernel import MOST_JOBS
from widgets.work.thread import aside
from workbench.analysis.chain import Chain, DecisiveRow, chain, decisive_row
from workbench.analysis.explanation import explain, longest_wait_s
from workbench.analysis.one_decision import one_decision
from workbench.base.errors import WorkbenchError
from workbench.base.units import clock
from workbench.session.registry import scheduler_of
from workbench.simulation.job_at_time import HOLDS, JobAtTime
from workbench.simulation.run import Run

DECISION: About = ("decision", "")
"""What was decided last, step by step."""

Within = tuple[float, float]
Shown = tuple[Run, About, float, Within | None]


class Reasons:
    """What is said of one time; of a small run also which rows decide who has a GPU, once they have been tried aside.

    told: the words; failed: told what went wrong aside.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self._failed = failed
        self._shown: Shown | None = None
        self._trying = self._rows = False
        self._page: Callable[[str], str] = str
        self.told = w.HTML()
        self.told.add_class("wb-verdict")
        self.told.add_class("wb-explain-told")

    def show(self, run: Run, about: About, at_s: float, within_s: Within | None = None) -> bool:
        """Say why; False if that is what is said already. Raises InputError for a job or time that is not there.

        within_s: of a job's line of time, as `why.page_of` has it.
        """
        before = self._shown
        if before is not None and before[0] is run and before[1:] == (about, at_s, within_s):
            return False
        self._page = self._why(run, about, at_s, within_s)
        self.told.value = self._page(TRYING if self._rows else "")
        self._shown = run, about, at_s, within_s
        self._try_rows()
        return True

    def _why(self, run: Run, about: About, at_s: float, within_s: Within | None) -> Callable[[str], str]:
        """The page for what is decisive, of which nothing is said where no rows are tried."""
        self._rows = has_rows(run)
        if isinstance(about, str):
            self._rows &= JobAtTime(run, about, at_s).state in (*HOLDS, "waiting")
            return partial(_pages().page_of, explain(run, about, at_s), run, within_s=within_s)
        if about == DECISION:
            page = str(_pages().page_of_decision(one_decision(run, at_s), run))
            return lambda _: page
        return partial(_pages().page_of_gpu, chain(run, about[1], at_s, again=False), run)

    def _try_rows(self) -> None:
        """Find out aside which rows decide who has a GPU, and what would bring another; the newest question counts."""
        shown = self._shown
        if shown is None or shown[1] == DECISION or len(shown[0].jobs) > MOST_JOBS or self._trying:
            return
        run, about, at_s, _ = shown
        self._trying = True
        ask = partial(decisive_row, run, about) if isinstance(about, str) else partial(chain, run, about[1])
        aside(lambda: ask(at_s), lambda found: self._hear_rows(found, run, shown))

    def _hear_rows(self, found: Chain | DecisiveRow | WorkbenchError | None, run: Run, of: Shown) -> None:
        self._trying = False
        if self._shown is not of:
            self._try_rows()
            return
        if isinstance(found, WorkbenchError):
            self._failed(refusal(found))
        if isinstance(found, Chain):
            self._page = partial(_pages().page_of_gpu, found, run)
        words = found.text if isinstance(found, DecisiveRow) else ""
        self.told.value = self._page(words or (NO_ROW if self._rows else ""))


class ReasonsBeside:
    """Why a job has what it has in each of two runs, at one time: at first when it first has other GPUs in the one.

    picked: told which job was chosen here.
    """

    def __init__(self, picked: Callable[[str], None]) -> None:
        self._picked = picked
        self._runs: tuple[Run, Run] | None = None
        self._names: Sequence[str] = ()
        self._apart_s: dict[str, float] = {}
        self._quiet = False
        self._job = w.Dropdown(description="Why", layout=w.Layout(width="16em"), style={"description_width": "3em"})
        self._job.add_class("wb-beside-job")
        self._job.observe(lambda change: self._on_job(change["new"]), "value")
        self._at = w.Dropdown(description="at", layout=w.Layout(flex="1 1 20em", max_width="40em"))
        self._at.style.description_width = "2em"
        self._at.add_class("wb-beside-at")
        self._at.observe(lambda _: self._tell(), "value")
        self._said, self._heads = StatusLine(), (w.HTML(), w.HTML())
        self._reasons = Reasons(self._say_bad), Reasons(self._say_bad)
        tools = w.HBox([self._job, self._at])
        tools.add_class("wb-tools")
        both = w.HBox([w.VBox([head, one.told]) for head, one in zip(self._heads, self._reasons, strict=True)])
        both.add_class("wb-reasons-beside")
        self.box = w.VBox([tools, self._said, both])

    def show(self, runs: tuple[Run, Run], names: Sequence[str], differences: pd.DataFrame | None = None) -> None:
        """Two runs, and how they are called; the job stays if both have it.

        differences: of `metrics.job_differences`; None if the runs are of other jobs or GPU types.
        """
        self._runs, self._names = runs, names
        there = set(runs[1].jobs["job"])
        jobs = [str(job) for job in runs[0].jobs["job"] if job in there]
        apart = None if differences is None else differences.dropna(subset=["diverged_s"])
        self._apart_s = {} if apart is None else dict(zip(apart["job"], apart["diverged_s"], strict=True))
        before, self._quiet = self._job.value, True
        self._job.options = jobs
        first = min(self._apart_s, key=self._apart_s.__getitem__, default=next(iter(jobs), None))
        self._job.value = before if before in jobs else first
        self._quiet = False
        self._offer_times()

    def _say_bad(self, text: str) -> None:
        self._said.tone, self._said.text = "bad", text

    def select(self, job: str | None) -> None:
        """Ask about a job that was selected elsewhere."""
        if job in self._job.options:
            self._job.value = job

    def _on_job(self, job: str | None) -> None:
        if not self._quiet and job is not None:
            self._offer_times()
            self._picked(job)

    def _offer_times(self) -> None:
        """When the runs part, and when the job waits longest in each."""
        job, runs = self._job.value, self._runs
        self.box.layout.display = "none" if job is None else None
        if job is None or runs is None:
            return
        times = {}
        if job in self._apart_s:
            times[f"{clock(self._apart_s[job])}, when it first has other GPUs"] = self._apart_s[job]
        for run, name in zip(runs, self._names, strict=True):
            at_s = longest_wait_s(run, job)
            if JobAtTime(run, job, at_s).state == "waiting" and at_s not in times.values():
                times[f"{clock(at_s)}, when its longest wait begins: {name}"] = at_s
        if not times:
            at_s = longest_wait_s(runs[0], job)
            begun = JobAtTime(runs[0], job, at_s).state in HOLDS
            times[f"{clock(at_s)}, when it begins" if begun else clock(at_s)] = at_s
        self._quiet = True
        self._at.options = [*times.items()]
        self._at.value = next(iter(times.values()))
        self._quiet = False
        self._tell()

    def _tell(self) -> None:
        if self._quiet or self._runs is None:
            return
        self._say_bad("")
        came_s, over_s = zip(*(_pages().lived_s(run, self._job.value) for run in self._runs), strict=True)
        within_s = min(came_s), max(over_s)  # one axis, or the job that ends late looks as short as the other
        for run, name, head, one in zip(self._runs, self._names, self._heads, self._reasons, strict=True):
            at_s = min(float(self._at.value), run.end_s)
            ended = f"; the run ends at {clock(at_s)}" if at_s < self._at.value else ""
            finish_s = run.jobs.set_index("job")["finish_s"][self._job.value]
            done = "not done" if pd.isna(finish_s) else f"done at {clock(finish_s)}"
            head.value = f"<h4>{html.escape(f'{name}: {self._job.value} is {done}')}{ended}</h4>"
            one.show(run, str(self._job.value), at_s, within_s)


def has_rows(run: Run) -> bool:
    """Whether rows are tried: the run is small, and programmes decide."""
    return len(run.jobs) <= MOST_JOBS and scheduler_of(run).route(run.knobs).kind != "algorithm"


def _pages() -> ModuleType:
    """`widgets.lab.why`, imported when it is first needed: charts take as long as the rest of a lab."""
    with quick_imports():
        from widgets.lab import why as found
    return found
