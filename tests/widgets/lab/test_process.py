"""A lab with its real process: solve, edit, read the objects, Cancel, and schedulers of the session itself."""

from __future__ import annotations

import asyncio
import html
import re
import time
from typing import Any

import pytest

import widgets.editors.scheduler_choice
import widgets.lab.lab
import workbench
from tests.widgets.lab.support import run, until
from widgets import GavelLab, HadarLab
from widgets.lab.formulation_page import coloured
from widgets.work.process import ProcessWork, process_work
from workbench.analysis.metrics.rounds import who_decided
from workbench.base.errors import InputError
from workbench.scheduling import notation
from workbench.scheduling.contract import Formulation
from workbench.session.registry import rooms


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)


def test_open_solve_edit_and_read_the_objects() -> None:
    async def story() -> None:
        lab = GavelLab()
        with pytest.raises(InputError, match="press Solve first"):
            _ = lab.run
        lab.solve()
        assert lab.state == "working"
        await until(lambda: lab.state == "done")
        assert lab.run == workbench.simulate("preset:start_here", "gavel.max_min_fairness")
        assert lab.status.startswith(f"Done: {who_decided(lab.run, ' (optimal)')}; ")
        assert lab.solution["status"] == "optimal" and lab.knobs["round_s"] == 360.0
        await until(lambda: "Mean JCT" in lab._results.compared.measures.value)
        lab.set(round_s=720)  # small and solved before: solved again at once
        assert lab.state == "working"
        await until(lambda: lab.state == "done")
        assert lab.run.knobs["round_s"] == 720
        lab.set("fifo")
        await until(lambda: lab.state == "done" and lab.run.scheduler == "fifo")
        with pytest.raises(InputError, match="optimisation problem"):
            _ = lab.solution

    run(story)


def test_an_own_scheduler_runs_here_and_may_be_wrong() -> None:
    async def story() -> None:
        lab = GavelLab()

        @workbench.scheduler("mine", knobs=[workbench.Knob("speed", 1, "how", kind="int", minimum=0, maximum=9)])
        def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            """My own scheduler."""
            1 // knobs["speed"]
            time.sleep(0.02)
            return workbench.Decision(), None

        widgets.editors.scheduler_choice.refresh_choices()  # as after a cell
        assert ("My own scheduler", "mine") in lab._choice.widget.options
        assert lab.scheduler == "gavel.max_min_fairness"
        lab.set("mine", speed=0)
        lab.solve()
        assert "Cancel takes effect between rounds" in lab.status
        await until(lambda: lab.state == "failed")
        assert lab.status.startswith("scheduler mine: got ZeroDivisionError") and "\n" not in lab.status
        lab.set(speed=1)
        lab.solve()
        await asyncio.sleep(0.1)
        lab._bar.cancel.click()
        await until(lambda: lab.state == "cancelled")
        assert not lab._bar.busy

    run(story)


def test_an_own_formulation_is_in_the_list_solves_here_and_shows_its_text() -> None:
    async def story() -> None:
        lab = GavelLab()
        cap = {"job": "vision"}

        @workbench.formulation("mine", base="gavel.max_min_fairness")
        def mine(m: Any, data: Any) -> None:
            """A cap on vision."""

            if cap["job"] in m.JOBS or cap["job"] == "nobody":

                @m.Constraint(m.TYPES, doc="(ours) a cap")
                def limit(m: Any, kind: str) -> Any:
                    return m.share[cap["job"], kind] <= 0.3

        widgets.editors.scheduler_choice.refresh_choices()  # as after a cell
        assert ("A cap on vision", "mine") in lab._choice.widget.options
        lab.set("mine", leftovers="none")
        lab.solve()
        await until(lambda: lab.state == "done")
        assert lab.run == workbench.simulate("preset:start_here", "mine", leftovers="none")
        lab._describe()
        await until(lambda: not lab._formulation.stale)
        shown = lab._formulation._statement.value + lab._formulation._rest.value
        assert "limit" in shown and "cap[&quot;job&quot;]" in shown and "worst_job" in shown
        cap["job"] = "nobody"
        lab.set(round_s=720)
        lab.solve()
        await until(lambda: lab.state == "failed")
        assert lab.status.startswith("formulation mine: got Index") and "\n" not in lab.status

    run(story)


def test_cancel_stops_the_process() -> None:
    async def story() -> None:
        lab = GavelLab("gavel_simulated")
        lab.set(round_s=1)  # millions of rounds
        lab.solve()
        await until(lambda: "jobs finished at" in lab.status)
        lab._bar.cancel.click()
        assert lab.state == "cancelled" and lab._bar.cancel.disabled and not lab._bar.solve.disabled
        lab.open(workbench.preset("start_here"))
        lab.set(round_s=3600)
        lab.solve()
        await until(lambda: lab.state == "done")

    run(story)


def test_the_formulation_page_solves_the_problem_that_an_algorithm_is_for() -> None:
    async def story() -> None:
        lab = HadarLab("hadar_example")
        page = lab._formulation
        lab._describe()
        assert "Algorithm 2 chooses" in page._route.value and page._exact.layout.display is None
        page._exact.click()
        await until(lambda: "Simulating" not in page._found.value)
        best = (
            "the most utility of all jobs together that any plan comes to is 24 slots; Hadar comes to 24 slots, no less"
        )
        assert f"\u201d: {best}" in page._found.value
        assert "Not in the problem: costs of restarts" in page._found.value and ">Start<" in page._found.value
        await until(lambda: not page.stale)
        lab._heard(None, True)
        assert page._found.value == ""

    run(story)


def test_the_formulation_page_is_filled_when_looked_at() -> None:
    async def story() -> None:
        lab = GavelLab("gavel_example")
        lab.solve()
        lab._describe()  # while the simulation is being done: neither takes the other's place
        await until(lambda: lab.state == "done" and not lab._formulation.stale)
        assert "Pyomo source" in lab._formulation._rest.value
        lab._results.open("Model")
        await until(lambda: lab._formulation.rows._head.value)
        told = lab._formulation.rows._head.value
        assert "still hold at 6 min, until 3 h 36 min</b>" in told
        assert "\u201cGavel: max-min fairness\u201d, objective 0.727" in told
        assert [row[-2:] for row in lab._formulation.rows._list.rows[:2]] == [["0.145", "yes"], ["0.436", "yes"]]
        lab._results.playback.number = lab._results.playback.last - 1
        await until(lambda: lab._formulation.rows._head.value != told)
        lab._results.open("Schedule")
        assert "$T^{m}_{kj}$" in lab._formulation._symbols.value
        lab.set("gavel.min_cost", objective="ratio")
        lab._describe()
        await until(lambda: not lab._formulation.stale)
        assert "The ratio of total throughput to total cost" in lab._formulation._statement.value
        assert "def throughput_to_cost(m)" in lab._formulation._rest.value
        assert "\u201cGavel: " in lab._formulation._states.value, "what decides has its title"
        lab.set("las")
        lab._results.open("Model")
        assert "no optimisation problem is stated" in lab._formulation._statement.value
        assert "its own rules, which are told with each decision" in lab._formulation._route.value
        assert lab._formulation._exact.layout.display == "none"

    run(story)


def test_the_workers_of_a_kernel_are_one() -> None:
    assert isinstance(process_work(), ProcessWork) and process_work() is process_work()


def _statements(formulation: Formulation[Any]) -> list[tuple[Formulation[Any], Any]]:
    """What states a formulation, with each choice of each of its knobs."""
    settled = formulation.settle({})
    ways = [{**settled, knob.name: choice} for knob in formulation.knobs for choice in knob.choices or ()]
    return [(formulation, stated) for stated in dict.fromkeys(map(formulation.statement, [settled, *ways]))]


def test_every_equation_stands_beside_the_code_of_its_part() -> None:
    """Of every formulation that is shipped: typeset, with whole lines, coloured without the loss of a letter."""
    for formulation, stated in (each for room in rooms() for made in room.formulations for each in _statements(made)):
        found = notation.side_by_side(stated, notation.source(stated))
        assert [one["part"] for one in found] == [line.part for line in notation.equations(stated)] and found
        for one in found:
            assert one["tex"] and one["part"] in one["code"], (formulation.name, one["part"])
            assert html.unescape(re.sub("</?span[^>]*>", "", coloured(one["code"]))) == one["code"]
    assert "<span class='wb-py-keyword'>return</span>" in coloured("def f():\n    return 1\n")
