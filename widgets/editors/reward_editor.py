"""The rewards of a job, edited: its steps are dragged, or it is made strict, soft or best effort."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets as w
import traitlets

from widgets.parts.assets import Scripted, program, style
from widgets.parts.button import button
from workbench.base.units import format_duration
from workbench.scenario.rewards import HIGHEST, LOWEST, Steps, soft, strict
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import Run

MOST_STEPS = 8
BEYOND = 1.6
"""How far the axis goes, in multiples of the last deadline (or completion), so that there is room to drag to."""
FIRST_S = 3600.0
"""The deadline of a job that had none and was never done."""
Rewards = Mapping[str, Steps | None]
_Shape = Callable[[float], Steps | None]
"""Rewards from a first deadline in s."""


class RewardCurve(Scripted):
    """One job's reward as a falling step line. `edited(job, steps)` is called where a person lets go of a step.

    steps: `[deadline in s after arrival, reward]`; span_s: to where the axis goes; highest, miss_reward: range of the
    rewards; done_s: when the job was done, 0 for never.
    """

    _esm = program(Path(__file__).parent / "reward_editor.js")
    _css = style()

    job = traitlets.Unicode("").tag(sync=True)
    steps = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    span_s = traitlets.Float(1.0).tag(sync=True)
    highest = traitlets.Float(HIGHEST).tag(sync=True)
    miss_reward = traitlets.Float(LOWEST).tag(sync=True)
    done_s = traitlets.Float(0.0).tag(sync=True)

    def __init__(self, edited: Callable[[str, Steps], None]) -> None:
        super().__init__(layout=w.Layout(width="100%"))
        self._edited = edited
        self.on_msg(self._on_message)

    def _on_message(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        if content.get("kind") == "steps":
            self._edited(str(content["job"]), tuple((float(at), float(worth)) for at, worth in content["steps"]))


class RewardEditor:
    """Choose a job, see its reward, change it. edited: told new rewards by job; picked: told which job was chosen."""

    def __init__(self, edited: Callable[[Rewards], None], picked: Callable[[str], None]) -> None:
        self._edited, self._picked = edited, picked
        self._rewards: dict[str, Steps | None] = {}
        self._done_s: dict[str, float] = {}
        self._verdicts: dict[str, str] = {}
        self._quiet = False
        self._job = w.Dropdown(description="Job", layout=w.Layout(width="11em"), style={"description_width": "2em"})
        self._job.add_class("wb-reward-job")
        self._job.observe(lambda change: self._on_job(change["new"]), "value")
        self.curve = RewardCurve(lambda job, steps: self._edited({job: steps}))
        self._outcome = w.HTML()
        self._outcome.add_class("wb-verdict")
        row = w.HBox([self._job, *self._shapes(), self._step("Add step", "plus", self._add)])
        row.children = [*row.children, self._step("Remove", "minus", self._remove)]
        every = w.HBox([w.HTML("<span class='wb-note'>All jobs with a deadline:</span>"), *self._of_all()])
        for line in (row, every):
            line.add_class("wb-tools")
        self.box = w.VBox([row, self._outcome, self.curve, every])
        self.box.add_class("wb-reward-editor")

    # Parts -----------------------------------------------------------------------------------------------------------

    def _shapes(self) -> list[w.Button]:
        made: dict[str, tuple[str, _Shape]] = {
            "Strict": ("one deadline, worth 100", strict),
            "Soft": ("four deadlines, worth 100, 80, 50 and 20", soft),
            "Best effort": ("no deadline", _none),
        }
        return [
            _button(text, f"Make this job {text.lower()}: {tip}", partial(self._reshape, shape))
            for text, (tip, shape) in made.items()
        ]

    def _of_all(self) -> list[w.Button]:
        made: dict[str, _Shape] = {"All strict": strict, "All soft": soft}
        tip = "Keep every first deadline, and make all of them {}: one step back with Undo"
        return [_button(text, tip.format(text[4:]), partial(self._reshape_all, shape)) for text, shape in made.items()]

    def _step(self, text: str, icon: str, act: Callable[[], None]) -> w.Button:
        made = _button(text, f"{text} at the end of this job's reward", act)
        made.icon = icon
        return made

    # Showing ---------------------------------------------------------------------------------------------------------

    def show_scenario(self, scenario: Scenario) -> None:
        """Show the rewards of a scenario; the chosen job stays if it is still there."""
        self._rewards = {job.name: job.rewards for job in scenario.jobs}
        names = list(self._rewards)
        if tuple(names) != tuple(self._job.options):
            with_deadline = next((name for name in names if self._rewards[name]), names[0] if names else None)
            before, self._quiet = self._job.value, True
            self._job.options = names
            self._job.value = before if before in self._rewards else with_deadline
            self._quiet = False
        self._show()

    def show_run(self, run: Run) -> None:
        """Mark when jobs were done, and say what became of them."""
        took = (run.jobs["finish_s"] - run.jobs["arrival_s"]).tolist()
        self._done_s = {job: at for job, at in zip(run.jobs["job"], took, strict=True) if at == at}
        last_verdicts = run.events[run.events["event"] == "verdict"].drop_duplicates("job", keep="last")
        reasons = dict(zip(last_verdicts["job"], last_verdicts["reason"], strict=True))
        verdicts = zip(run.jobs["job"], run.jobs["verdict"], strict=True)
        self._verdicts = {job: _verdict(verdict, reasons.get(job, "")) for job, verdict in verdicts if verdict}
        self._show()

    def select(self, job: str | None) -> None:
        """Show a job that was selected elsewhere."""
        if job in self._rewards:
            self._quiet = True
            self._job.value = job
            self._quiet = False
            self._show()

    def _show(self) -> None:
        job = self._job.value
        if job is None:
            return
        steps, done_s = self._rewards[job] or (), self._done_s.get(job, 0.0)
        worths = [reward for rewards in self._rewards.values() for _, reward in rewards or ()]
        highest = max(worths, default=HIGHEST)
        last_s = max([steps[-1][0] if steps else 0.0, min(done_s, 2 * steps[-1][0]) if steps else done_s])
        with self.curve.hold_sync():
            self.curve.job, self.curve.done_s = job, done_s
            self.curve.highest = highest
            self.curve.miss_reward = LOWEST if highest > LOWEST else 0.0
            self.curve.span_s = (last_s or FIRST_S) * BEYOND
            self.curve.steps = [list(step) for step in steps]
        self._outcome.value = f"<p>{html.escape(job)}: {self._became(job, steps, done_s)}</p>"

    def _became(self, job: str, steps: Steps, done_s: float) -> str:
        """What became of a job in the last run, as HTML."""
        said = self._verdicts.get(job, "")
        said = f"{said} " if said else ""
        if not done_s:
            return f"{said}Not done in the last run."
        took = format_duration(done_s, parts=2)
        if not steps:
            return f"{said}Best effort, done after {took}."
        number = next((i for i, (deadline, _) in enumerate(steps, start=1) if done_s <= deadline + 1e-6), None)
        met = f"deadline {number} of {len(steps)} met" if number else "all deadlines missed"
        return f"{said}Done after {took}: {met}."

    # Changing --------------------------------------------------------------------------------------------------------

    def _on_job(self, job: str | None) -> None:
        if not self._quiet and job is not None:
            self._show()
            self._picked(job)

    def _first_s(self, job: str) -> float:
        steps = self._rewards[job]
        return steps[0][0] if steps else self._done_s.get(job, FIRST_S)

    def _reshape(self, shape: _Shape) -> None:
        job = self._job.value
        if job is not None:
            self._edited({job: shape(self._first_s(job))})

    def _reshape_all(self, shape: _Shape) -> None:
        self._edited({job: shape(steps[0][0]) for job, steps in self._rewards.items() if steps})

    def _add(self) -> None:
        """One more step behind the last, at a fifth more of its deadline and half of its reward."""
        job = self._job.value
        steps = self._rewards.get(job) or ()
        if job is None or len(steps) >= MOST_STEPS:
            return
        least = float(self.curve.miss_reward)
        if steps:
            last_s, worth = steps[-1]
            new = (last_s * 1.2, min(worth, max(least, round(worth / 2))))
        else:
            new = (self._first_s(job), HIGHEST)
        self._edited({job: (*steps, new)})

    def _remove(self) -> None:
        job = self._job.value
        steps = self._rewards.get(job)
        if job is not None and steps:
            self._edited({job: steps[:-1] or None})


def _none(_: float) -> Steps | None:
    """Best effort has no deadline."""
    return None


def _verdict(verdict: str, reason: str) -> str:
    """The verdict in bold, with its reason."""
    said = verdict.replace("_", " ")
    more = f" ({html.escape(reason)})" if reason and reason != verdict else ""
    return f"<b>{html.escape(said)}</b>{more}."


def _button(text: str, tooltip: str, act: Callable[[], None]) -> w.Button:
    return button(text, text.lower().replace(" ", "-"), act, tooltip)
