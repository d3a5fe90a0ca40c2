"""A lab without a page: what happens to settings, status, files and results, whoever presses what and when."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import widgets.lab
import workbench
from widgets import GavelLab, Lab
from widgets.work import Message, ProcessWork, process_work
from workbench.errors import InputError, ScenarioError
from workbench.papers import paper
from workbench.presets import preset, presets


class Waiter:
    """Stands in for the worker: keeps requests until a test answers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Message, Callable[[Message], None]]] = []
        self.cancelled = 0

    def submit(self, request: Message, hear: Callable[[Message], None], line: Any = None) -> None:
        self.asked.append((request, hear))

    def cancel(self, line: Any = None) -> None:
        self.cancelled += 1
        if self.asked:
            self.asked[-1][1]({"kind": "cancelled"})

    def answer(self, number: int = -1, wall_s: float = 0.1) -> None:
        """Carry out a request and tell it done."""
        request, hear = self.asked[number]
        run = workbench.simulate(
            workbench.Scenario.from_dict(request["scenario"]), request["scheduler"], **request["knobs"]
        )
        hear({"kind": "done", "run": run, "wall_s": wall_s})


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Waiter:
    waiter = Waiter()
    monkeypatch.setattr(widgets.lab, "process_work", lambda: waiter)
    return waiter


@pytest.fixture
def own() -> Iterator[None]:
    before = dict(paper._OWN.schedulers)
    yield
    paper._OWN.schedulers.clear()
    paper._OWN.schedulers.update(before)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def jobs(lab: Lab) -> Any:
    return lab._editors.tables["jobs"]


async def until(ready: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "this did not happen"
        await asyncio.sleep(0.01)


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        await story()

    asyncio.run(all_of_it())


# ---- with the real worker ----


@pytest.mark.parametrize("name", [name for name, _ in presets()])
def test_every_preset_opens_as_it_is(work: Waiter, name: str) -> None:
    lab = Lab("gavel", name)
    assert lab.scenario == preset(name)
    assert (lab.state, lab.status) == ("edited", "Edited, not solved.")
    assert lab.scheduler in {found.name for found in workbench.schedulers()} and not work.asked


def test_open_solve_edit_and_read_the_objects() -> None:
    async def story() -> None:
        lab = GavelLab()
        with pytest.raises(InputError, match="press Solve first"):
            _ = lab.run
        lab.solve()
        assert lab.state == "working"
        await until(lambda: lab.state == "done")
        assert lab.run == workbench.simulate("preset:start_here", "gavel.max_min_fairness")
        assert lab.status.startswith("Done: 27 decisions") and "problems solved (optimal)" in lab.status
        assert lab.solution["status"] == "optimal" and lab.knobs["round_s"] == 360.0
        assert "Mean JCT" in lab._results._metrics.value
        lab.set(round_s=720)  # small and solved before: solved again at once
        assert lab.state == "working"
        await until(lambda: lab.state == "done")
        assert lab.run.knobs["round_s"] == 720
        lab.set("fifo")
        await until(lambda: lab.state == "done" and lab.run.scheduler == "fifo")
        with pytest.raises(InputError, match="optimisation problem"):
            _ = lab.solution

    run(story)


def test_an_own_scheduler_runs_here_and_may_be_wrong(own: None) -> None:
    async def story() -> None:
        lab = GavelLab()

        @workbench.scheduler("mine", knobs=[workbench.Knob("speed", 1, "how", kind="int", minimum=0, maximum=9)])
        def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            """My own scheduler."""
            1 // knobs["speed"]
            time.sleep(0.02)
            return workbench.Decision(), None

        widgets.lab._refresh_offers()  # as after a cell
        assert ("My own scheduler.", "mine") in lab._choose.options
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


def test_cancel_stops_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        lab = GavelLab("gavel_simulated")
        lab.set(round_s=1)  # millions of rounds
        lab.solve()
        await until(lambda: "jobs finished at" in lab.status)
        lab._bar.cancel.click()
        assert lab.state == "cancelled" and lab._bar.cancel.disabled and not lab._bar.solve.disabled
        lab.set(round_s=3600)
        lab.solve()
        await until(lambda: lab.state == "done")

    run(story)


def test_the_formulation_page_is_filled_when_looked_at() -> None:
    async def story() -> None:
        lab = GavelLab("gavel_example")
        tabs = lab._results._tabs
        lab.solve()
        lab._describe()  # while the simulation is being done: neither takes the other's place
        await until(lambda: lab.state == "done" and not lab._formulation.stale)
        assert "Pyomo source" in lab._formulation._rest.value
        lab.set("las")
        tabs.selected_index = tabs.titles.index("Formulation")
        assert "solves no optimisation problem" in lab._formulation._statement.value

    run(story)


# ---- states ----


def test_solved_only_when_asked_until_it_is_known_to_be_quick(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "steps", "1000")
    assert lab.state == "edited" and not work.asked
    lab.solve()
    work.answer(wall_s=10)
    assert lab.state == "done"
    jobs(lab).edit(0, "steps", "2000")
    assert lab.state == "edited" and len(work.asked) == 1, "ten seconds is too slow to do by itself"
    assert "before your last change" in lab._results._note.value
    lab.solve()
    work.answer(wall_s=0.1)
    jobs(lab).edit(0, "steps", "3000")
    assert lab.state == "working" and len(work.asked) == 3
    work.answer()
    lab.open(preset("gavel_physical"))
    assert lab.state == "edited" and len(work.asked) == 3, "another scenario may be slow"


def test_wrong_cells_wait_to_be_mended(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    done = lab.status
    jobs(lab).edit(0, "gpus", "0")
    assert lab.state == "invalid" and lab._bar.solve.disabled
    assert lab.status == "Jobs, row 1, GPUs: must be at least 1"
    assert "before your last change" in lab._results._note.value
    with pytest.raises(ScenarioError):
        _ = lab.scenario
    lab.solve()
    assert len(work.asked) == 1
    jobs(lab).edit(0, "gpus", "2")  # as it was: what the charts show is what is set
    assert (lab.state, lab.status) == ("done", done) and not lab._bar.solve.disabled
    assert lab._results._note.value == "" and len(work.asked) == 1


def test_a_wrong_knob_says_so(work: Waiter) -> None:
    lab = GavelLab()
    lab._knobs._controls["round_s"].widget.value = "soon"
    assert lab.state == "invalid" and lab.status.startswith("Round: got 'soon'; expected a duration such as")
    lab.set(round_s=60)
    assert lab.state == "edited" and lab.knobs["round_s"] == 60


def test_what_is_edited_while_it_works_has_the_last_word(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    jobs(lab).edit(0, "gpus", "0")
    work.asked[0][1]({"kind": "progress", "now_s": 1.0, "decisions": 1, "finished": 1, "jobs": 3})
    assert lab.state == "invalid" and not lab._bar.cancel.disabled and lab._bar._bar.value > 0
    work.answer(0)
    assert lab.state == "invalid" and lab._bar.solve.disabled and lab._bar.cancel.disabled
    assert "before your last change" in lab._results._note.value
    jobs(lab).edit(0, "gpus", "1")
    assert lab.state == "working"  # it is quick by now
    work.answer(1, wall_s=9)
    lab.solve()
    jobs(lab).edit(0, "steps", "1234")
    assert lab.state == "edited"
    work.answer(2, wall_s=9)
    assert (lab.state, lab.status) == ("edited", "Edited since, not solved.")
    assert lab.run.scenario.jobs[0].steps != 1234


def test_answers_to_what_was_replaced_are_not_shown(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    lab.solve()  # the same again: it is being done
    assert len(work.asked) == 1
    lab.set(round_s=720)
    lab.solve()
    assert len(work.asked) == 2 and lab.state == "working"
    work.answer(0)
    assert lab.state == "working" and lab._run is None
    work.answer(1)
    assert lab.state == "done" and lab.run.knobs["round_s"] == 720


def test_a_new_request_does_not_wait_for_a_slow_one(work: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets.lab, "PATIENCE_S", -1.0)
    lab = GavelLab()
    lab.solve()
    lab.set(round_s=720)
    lab.solve()
    assert work.cancelled == 1 and lab.state == "working"


def test_failures_are_one_line_and_the_lab_goes_on(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.asked[0][1]({"kind": "error", "error": {"where": "solver", "value": "glpk", "expected": "highs"}})
    assert (lab.state, lab.status) == ("failed", "solver: got glpk; expected highs")
    lab.solve()
    work.answer()
    assert lab.state == "done"


def test_a_chart_that_cannot_be_drawn_does_not_hang_the_lab(work: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = GavelLab()
    monkeypatch.setattr(lab._results, "show", lambda run: 1 / 0)
    lab.solve()
    with pytest.raises(ZeroDivisionError):
        work.answer()
    assert lab.state == "failed" and "not drawn" in lab.status and lab.run is not None


# ---- settings ----


def test_undo_and_reset(work: Waiter) -> None:
    lab = GavelLab()
    assert lab._undo.disabled
    start = lab.scenario
    jobs(lab).edit(0, "steps", "1000")
    lab.set(round_s=720)
    lab.set("las")
    lab.open(preset("gavel_example"))
    assert lab.scenario == preset("gavel_example")
    lab._undo.click()
    assert lab.scheduler == "las" and lab.scenario.jobs[0].steps == 1000
    lab._undo.click()
    assert lab.scheduler == "gavel.max_min_fairness" and lab.knobs["round_s"] == 720
    lab._undo.click()
    assert lab.knobs["round_s"] == 360 and lab.scenario.jobs[0].steps == 1000
    lab._undo.click()
    assert lab.scenario == start and lab._undo.disabled
    lab._undo.click()
    assert lab.scenario == start
    jobs(lab).edit(0, "steps", "5")
    lab._on_reset()
    assert lab.scenario == preset("gavel_example"), "Reset goes to what was opened last"


def test_undo_of_something_wrong_loses_nothing_else(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "steps", "1000")
    jobs(lab).edit(0, "gpus", "none")
    assert lab.state == "invalid" and not lab._undo.disabled
    lab._undo.click()
    assert lab.state == "edited" and lab.scenario.jobs[0].steps == 1000
    lab._core._restart.value = "long"
    assert lab.state == "invalid"
    lab._undo.click()
    assert lab.scenario.jobs[0].steps == 1000 and lab.state == "edited"


def test_awkward_values_survive_undo(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(round_s=100 / 3, initial_time=1 / 7)
    before = lab.knobs
    lab.set(round_s=60)
    lab._undo.click()
    assert lab.knobs == before and len(lab._past) == 1


def test_a_preset_of_knobs_from_code_and_page(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(preset="authors")
    expected = workbench.find_scheduler(lab.scheduler).settle({"preset": "authors"})
    assert lab.knobs == expected
    lab.set(preset="authors", round_s=60)
    assert lab.knobs == {**expected, "round_s": 60}
    with pytest.raises(InputError):
        lab.set(nonsense=1)
    with pytest.raises(InputError):
        lab.set("nobody")
    assert lab.knobs == {**expected, "round_s": 60}


def test_core_and_seed_are_part_of_the_scenario(work: Waiter) -> None:
    lab = GavelLab()
    lab._core._restart.value = "30 s"
    lab._core._seed.value = "7"
    assert lab.scenario.core.restart.restart_s == 30 and lab.scenario.seed == 7
    assert lab.state == "edited"


def test_what_the_scheduler_ignores_is_said(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "weight", "2")
    assert lab._note.value == ""
    lab.set("las")
    assert "does not read: weight" in lab._note.value


def test_what_opens_a_lab(work: Waiter, folder: Path) -> None:
    preset("hadar_example").save(folder / "mine.json")
    assert Lab("gavel", "hadar_example").scenario.name == "hadar_example"
    assert Lab("gavel", "preset:hadar_example").scenario.name == "hadar_example"
    assert Lab("gavel", "mine.json").scenario == Lab("gavel", folder / "mine.json").scenario == preset("hadar_example")
    with pytest.raises(InputError, match="one of: start_here"):
        Lab("gavel", "strat_here")
    with pytest.raises(InputError, match="one of"):
        Lab("nobody")


# ---- files ----


def test_save_again_and_never_over_something_else(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab._save()
    saved = folder / "scenario.json"
    assert workbench.load(saved).jobs == preset("start_here").jobs and str(saved) in lab._filed.text
    jobs(lab).edit(0, "steps", "1000")
    lab._save()  # its own file
    assert workbench.load(saved).jobs[0].steps == 1000
    saved.write_text("something else")
    lab._save()
    assert saved.read_text() == "something else" and "exists and is not from this lab" in lab._filed.text
    lab._file.value = "other"
    lab._save()
    assert workbench.load(folder / "other.json").jobs[0].steps == 1000
    lab._file.value = "no/such/folder.json"
    lab._save()
    assert lab._filed.text.startswith("Not saved") and lab.state == "edited"


def test_save_keeps_the_rest_of_the_plan_and_says_what_is_wrong(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab.set(round_s=720)
    lab._save()
    plan = workbench.load(folder / "scenario.json").plan
    assert [p.scheduler for p in plan] == [p.scheduler for p in preset("start_here").plan]
    assert plan[0].knobs["round_s"] == 720
    lab._knobs._controls["round_s"].widget.value = "never"
    lab._save()
    assert GavelLab("scenario.json").knobs["round_s"] == float("inf")
    jobs(lab).edit(0, "gpus", "0")
    lab._save()
    assert lab._filed.text == "Not saved: Jobs, row 1, GPUs: must be at least 1."


def upload(name: str, content: bytes) -> Any:
    return ({"name": name, "content": memoryview(content), "size": len(content), "type": "", "last_modified": None},)


def test_load(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    text = preset("hadar_example").to_json()
    (folder / "mine.json").write_text(text)
    lab._on_upload(upload("mine.json", text.encode()))
    assert lab.scenario == preset("hadar_example") and lab._file.value == "mine.json"
    lab._save()  # it was loaded from here
    assert "Saved" in lab._filed.text
    for content, says in (
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "mine.json"),
        (json.dumps({**json.loads(text), "plan": [{"scheduler": "las", "knobs": {"no": 1}}]}).encode(), "knobs of las"),
    ):
        lab._on_upload(upload("mine.json", content))
        assert says in lab._filed.text and lab._filed.tone == "bad"
        assert lab.scenario.jobs == preset("hadar_example").jobs and lab.state == "edited"


# ---- results ----


def test_one_selection_for_charts_and_tables(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._results._gantt.view.picked = {"job": "game"}
    assert jobs(lab).selected == 1 and "<b>game</b>" in lab._results._job.value
    jobs(lab).selected = 2
    assert lab._results._gantt.view.selected == "translation"
    assert all(page.view.selected == "translation" for page, _ in lab._results._pages.values())
    jobs(lab).add()  # a job that the run does not know
    assert lab._results._gantt.view.selected is None
    lab._results._gantt.view.picked = {}


def test_numbers_and_exports_of_every_chart(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    results = lab._results
    pages = {"Gantt": results._gantt} | {name: page for name, (page, _) in results._pages.items()}
    for name, page in pages.items():
        if name in results._tabs.titles:
            results._tabs.selected_index = results._tabs.titles.index(name)
        assert page._table.value == ""
        page._numbers.value = True
        assert "<table" in page._table.value
        page._format.value = "csv"
        page.export()
        page.export()
        assert len(list(folder.glob(f"{page._file}-*.csv"))) == 2
        assert str(folder) in page._said.text
    for suffix in ("png", "svg", "html"):
        results._gantt._format.value = suffix
        results._gantt.export()
        assert (folder / f"gantt-1.{suffix}").stat().st_size > 1000


def test_playback_shows_less_and_then_all_again(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    results = lab._results
    assert results._gantt.view.params == {"until": None}
    results._round.value = 0
    assert results._gantt.view.params == {"until": 360.0} and "up to 6 min" in results._time.value
    lab.set(round_s=720)
    work.answer()
    assert results._gantt.view.params == {"until": None}


def test_schedulers_without_shares_say_so(work: Waiter) -> None:
    lab = GavelLab()
    lab.set("fifo")
    lab.solve()
    work.answer()
    for name in ("Allocation", "Received"):
        lab._results._tabs.selected_index = lab._results._tabs.titles.index(name)
        assert "does not work with them" in lab._results._pages[name][0]._empty.value


def test_received_of_one_job_is_a_part_of_received_of_all(work: Waiter) -> None:
    lab = GavelLab("gavel_physical")
    lab.solve()
    work.answer()
    results = lab._results
    results._tabs.selected_index = results._tabs.titles.index("Received")
    page = results._pages["Received"][0]
    assert page.drawing is not None
    whole = page.drawing.table
    job = lab.run.jobs["job"].iloc[7]
    results.select(job)
    part = whole[whole["unit"] == job].reset_index(drop=True)
    assert len(part) and page.drawing.table.equals(part)


def test_a_lab_of_many_jobs_answers_at_once(work: Waiter) -> None:
    """The budget is 200 ms for an edit with 400 jobs; a slow machine gets twice that."""
    one = preset("gavel_simulated")
    many = [job.model_copy(update={"name": f"{job.name}-{i}"}) for i in range(7) for job in one.jobs][:400]
    lab = Lab("gavel", one.replace(jobs=many))
    took = []
    for i in range(5):
        began = time.perf_counter()
        jobs(lab).edit(200 + i, "steps", str(1000 + i))
        took.append(time.perf_counter() - began)
    assert lab.scenario.jobs[204].steps == 1004
    assert min(took) < 0.4


def test_nothing_in_a_lab_knows_a_paper() -> None:
    source = Path(widgets.lab.__file__).read_text()
    before, _, after = source.partition("class GavelLab")
    assert not any(name in before.lower() for name in ("gavel", "hadar", "hops", "hare ", "chronus"))
    assert "gavel" not in after.partition("\n\n\n")[2].lower()


def test_the_workers_of_a_kernel_are_one() -> None:
    assert isinstance(process_work(), ProcessWork) and process_work() is process_work()
