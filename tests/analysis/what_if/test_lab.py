"""The what-if lab without a browser: its controls, what it refuses, and answers given in the process's place."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import widgets.work.page_request
import workbench
from tests.analysis.test_calibration import log
from tests.analysis.what_if.test_site_changes import site
from widgets.parts.files import MOST_BYTES
from widgets.what_if_lab import WhatIfLab, lab
from widgets.what_if_lab.change_form import ChangeForm
from widgets.work.many import BatchProgress
from widgets.work.workplace import Message
from workbench.analysis.what_if import KnobTo, NodesBy, parse_change
from workbench.analysis.what_if.marginal import MarginalValue, MarginalValues
from workbench.base.errors import InputError, WorkbenchError
from workbench.cli.lab_process import ManyRuns, serve
from workbench.scenario.traces.timed import ASSUMED
from workbench.session.many_runs import attempt

TEXTS = (
    "nodes v100=+2",
    "nodes k80=-1",
    "nodes k80=+1x8",
    "without slow-*",
    "outage slow-0 from 1 h to 2 h, drain",
    "scheduler srtf",
    "scheduler gavel.max_min_fairness, round_s=720.5",
    "knob round_s=720",
    "knob heterogeneity_aware=false",
    "restart 1 min 30 s",
    "density 120",
    "faults mtbf_s=1 d, mttr_s=1 h",
    "faults none",
    "faults slow-0=0:60, fast-0=60:120.5",
    "faults mtbf_s=1 d, mttr_s=1 h, fast-0=0:60",
)


class Many:
    """Stands in for the runs in other processes: made here when a test says so."""

    def __init__(self, on_outcome: Any, on_end: Any) -> None:
        self.on_outcome, self.on_end = on_outcome, on_end
        self.requests: list[Any] = []
        self.ended = 0
        self.busy = False

    def warm(self) -> None:
        return

    @property
    def far(self) -> BatchProgress:
        return BatchProgress(self.ended, len(self.requests), None)

    def submit(self, requests: Any) -> None:
        self.requests, self.ended, self.busy = list(requests), 0, True

    def cancel(self) -> None:
        if self.busy:
            self.busy = False
            self.on_end("cancelled", "")

    def answer(self) -> None:
        for number, request in enumerate(self.requests):
            self.ended += 1
            found = attempt(request)
            self.on_outcome(number, found)
        self.busy = False
        self.on_end("done", "")


def here(work: Any, hear: Any) -> None:
    """In place of a thread."""
    try:
        hear(work())
    except WorkbenchError as error:
        hear(error)


class Here:
    """Stands in for the labs' process: does a request at once."""

    def submit(self, request: Message, hear: Any, asker: Any = None) -> None:
        sent = json.loads(json.dumps(request))
        answers: list[Any] = []
        serve(sent, answers.append, ManyRuns())
        hear(json.loads(json.dumps(answers[-1], allow_nan=False)))


@pytest.fixture
def panel(monkeypatch: pytest.MonkeyPatch) -> WhatIfLab:
    monkeypatch.setattr(lab, "ManyWork", Many)
    monkeypatch.setattr(lab, "aside", here)
    monkeypatch.setattr(widgets.work.page_request, "process_work", Here)
    return WhatIfLab("preset:start_here", "las")


def test_the_answer_is_that_of_the_library(panel: WhatIfLab) -> None:
    panel.set(change="nodes v100=+1", pairs=2)
    panel.run()
    assert panel.state == "working" and len(panel._many.requests) == 4
    panel._many.answer()
    assert panel.state == "done" and "2 pairs of runs" in panel.status
    alone = workbench.what_if("preset:start_here", "las", "nodes v100=+1", seeds=[0, 1], bootstrap=True)
    assert panel.answer.differences.equals(alone.differences)
    assert "Mean cost per job" in panel._pages._table.value
    assert "95 % interval" not in panel._pages._table.value, "the pairs came out alike"
    assert "one answer, not 2, as the 2 pairs of runs are equal" in panel._pages._said.value
    assert panel._bootstrap.label == f"the seed {lab.TOO_SHORT}"
    assert alone.conclusions[0].split(":")[1].strip()[:20] in panel._pages._said.value
    today, changed = (page.drawing for page in panel._pages._gantts)
    assert today is not None and changed is not None and panel._pages._jobs.drawing is None, "what is in sight is drawn"
    assert today.data["span"]["t"].equals(changed.data["span"]["t"]), "both on one axis"
    assert len(changed.data["rows"]) > len(today.data["rows"])
    panel._page_tabs.selected_index = panel._page_tabs.titles.index("Why")
    assert panel._pages._measures.drawing is not None and panel._pages._jobs.drawing is not None
    today_why, changed_why = (one.told.value for one in panel._pages._reasons._reasons)
    assert "At 12 min game runs on 1 k80" in today_why and "At 12 min game runs on 1 v100" in changed_why
    panel._page_tabs.selected_index = panel._page_tabs.titles.index("Vary")
    panel._vary._what.value = "scheduler"
    assert "las" in panel._vary._values.value
    today_now = alone.question.today
    told = replace(today_now, scenario=today_now.scenario.replace(notes=["read", f"{ASSUMED}: 1 job may run on v100"]))
    panel._pages.show(replace(alone, question=replace(alone.question, today=told)))
    assert f"<div class='wb-conclusions'><p>{ASSUMED}: 1 job may run on v100</p>" in panel._pages._said.value


def test_what_it_opens_with_is_answered_at_once_unless_something_was_set(panel: WhatIfLab) -> None:
    first = panel._frame.history.present
    panel.set(pairs=2)
    panel._run_small(first)
    assert panel.state == "edited" and not panel._many.requests
    panel._run_small(panel._frame.history.present)
    assert panel.state == "working" and len(panel._many.requests) == 4
    panel._many.answer()
    panel._many.requests = []
    panel._run_small(panel._frame.history.present)
    assert panel.state == "done" and not panel._many.requests, "it is answered"


def test_the_report_goes_to_the_browser(panel: WhatIfLab, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, bytes]] = []
    monkeypatch.setattr(panel._download, "give", lambda name, content: given.append((name, content)))
    assert panel._report.disabled
    with pytest.raises(InputError, match="press Run first"):
        panel.report()
    panel.set(pairs=1)
    panel.run()
    panel._many.answer()
    panel.buying.work_out()
    assert not panel._report.disabled
    panel.report()
    assert given[0][0] == "what-if.html" and b"What to buy next" in given[0][1]


@pytest.mark.parametrize("text", TEXTS)
def test_a_change_set_from_code_is_the_one_the_controls_say(panel: WhatIfLab, text: str) -> None:
    panel.set("gavel.max_min_fairness", text)
    assert panel.change == parse_change(text)
    assert panel.state == "edited", panel.status


def test_what_is_wrong_is_said_and_cannot_be_run(panel: WhatIfLab) -> None:
    panel._form.count.value = 0
    assert panel.state == "invalid" and "not 0" in panel.status and panel._bar.solve.disabled
    panel._form.count.value = -1
    assert panel.status.startswith("With this change a job needs 2 GPUs in the cluster on which ResNet-50")
    panel._form.count.value = -5
    assert "at most the 1 node of the type" in panel.status
    panel.run()
    assert not panel._many.requests
    panel._form.count.value = 1
    assert panel.state == "edited" and not panel._bar.solve.disabled


def test_a_new_node_has_as_many_gpus_as_the_first_of_its_type_and_says_so(panel: WhatIfLab) -> None:
    assert (panel._form.type.value, panel._form.gpus.value) == ("v100", 2) and panel.change == NodesBy("v100", 1)
    panel._form.type.value = "k80"
    assert panel._form.gpus.value == 1 and panel.change == NodesBy("k80", 1)
    assert panel._form.partitions.layout.display == "none", "there are none"


def test_of_a_slurm_site_it_offers_partitions_a_change_of_each_kind_that_can_run_and_a_pair_for_each_phase(
    panel: WhatIfLab,
) -> None:
    panel.open(site(), "slurm")
    form = panel._form
    assert form.partitions.options == (("p", ""), ("p, q", "p,q")) and panel.change == NodesBy("x", 1)
    form.partitions.value = "p,q"
    assert panel.change == parse_change("nodes x=+1 in p,q") and panel.state == "edited"
    panel.set(change="nodes x=-1 in q")
    assert (form.partitions.value, panel.change.text, panel.state) == ("q", "nodes x=-1 in q", "edited")
    assert (panel._pairs.value, panel._bootstrap.label) == (8, f"Slurm's clocks {lab.TOO_SHORT}")
    for kind, text in (("without", "a-0"), ("outage", "a-0 from 2024-03-01 08:00 to 2024-03-01 08:01")):
        form.kind.value = kind
        assert (panel.change.text, panel.state) == (f"{kind} {text}", "edited")
    form.kind.value = "set"
    assert (panel.change.text, panel.state) == ("set qos normal MaxTRESPU=gres/gpu=8", "edited")
    form._texts["without"].value = "b-0"
    panel.set("las", "scheduler srtf")
    assert (panel._pairs.value, panel._bootstrap.label) == (5, f"the seed {lab.TOO_SHORT}")
    assert form._texts["without"].value == "b-0"
    panel.set("slurm", "nodes x=+1", pairs=3)
    panel.run()
    panel._many.answer()
    told = re.findall("<p>(<b>)?(.*?)[:;]", panel._pages._said.value)
    assert panel._pairs.value == 3 and [(bold, text) for bold, text in told][:3] == [
        ("", "Calibration"),
        ("", "With 1 more x node"),
        ("<b>", "With 1 more x node"),
    ]
    assert panel._pages._said.value.count("new nodes are in partition p") == 1
    panel.open(site(recorded={"end_s": 1e3, "ends_known": True, "gpu_s": 1.0}), "slurm")
    assert (setting := panel._check()) is not None and setting.question().demand == (110, 125)


def test_nodes_that_go_are_not_asked_for_their_gpus(panel: WhatIfLab) -> None:
    panel._form.gpus.value = 8
    assert panel.change == NodesBy("v100", 1, 8) and not panel._form.gpus.disabled
    panel._form.type.value, panel._form.count.value = "k80", -1
    assert panel.change == NodesBy("k80", -1) and panel._form.gpus.disabled and panel.state == "edited"
    panel._form.count.value = 10**7
    assert "at most 100,000" in panel.status and not panel._form.gpus.disabled


def test_cancel_keeps_the_answer_before(panel: WhatIfLab) -> None:
    panel.set(pairs=1)
    panel.run()
    panel._many.answer()
    before = panel.answer
    panel.set(change="scheduler srtf")
    panel.run()
    panel.cancel()
    assert panel.state == "cancelled" and panel.answer is before and not panel._bar.busy
    assert panel.status == "Cancelled; what is shown is the answer before." and "before your last" in outdated(panel)
    panel.run()
    panel._many.answer()
    assert panel.state == "done" and panel.answer is not before and not outdated(panel)


def test_cancel_while_runs_are_measured_drops_what_comes_of_them(
    panel: WhatIfLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[Any] = []
    monkeypatch.setattr(lab, "aside", lambda work, hear: waiting.append((work, hear)))
    panel.set(pairs=1)
    panel.run()
    panel._many.answer()
    assert panel.status == "Measuring ..." and panel._bar.busy
    panel._bar.cancel.click()
    assert panel.status == "Cancelled: no answer yet." and not panel._bar.busy
    here(*waiting[0])
    with pytest.raises(InputError, match="press Run first"):
        _ = panel.answer
    assert panel.state == "cancelled"


def test_undo_and_redo_go_through_the_whole_question(panel: WhatIfLab) -> None:
    first = panel.change
    panel.set(change="scheduler srtf", pairs=2)
    panel.set("fifo")
    panel._frame.presets.value = "gavel_example"
    panel._form.kind.value = "restart"
    panel._form.restart.value = "long"
    assert panel.state == "invalid"
    for expected in ("restart 1 min", "scheduler srtf", "scheduler srtf", "scheduler srtf"):
        panel._frame.undo.click()
        assert panel.change.text == expected and panel.state == "edited"
    assert (panel._today.value, panel._pairs.value, panel.scenario.name) == ("las", 2, "start_here")
    panel._frame.undo.click()
    assert panel.change == first and panel._pairs.value == 5 and panel._frame.undo.disabled
    for _ in range(3):
        panel._frame.redo.click()
    assert panel.scenario.name == "gavel_example" and panel._today.value == "fifo"
    panel._frame.undo.click()
    panel._frame.reset.click()
    assert panel.scenario == workbench.preset("gavel_example"), "Reset goes to what was opened last"


def test_undone_to_what_was_answered_the_answer_is_not_old(panel: WhatIfLab) -> None:
    panel.set(pairs=1)
    panel.run()
    panel._many.answer()
    done = panel.status
    panel.set(pairs=2)
    assert panel.state == "edited" and outdated(panel)
    panel._frame.undo.click()
    assert (panel.state, panel.status) == ("done", done) and not outdated(panel)


def test_save_writes_todays_scheduler_and_load_brings_it_back(
    panel: WhatIfLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    panel.set("gavel.max_min_fairness", round_s=720)
    panel._frame.file.save()
    saved = workbench.load(tmp_path / "scenario.json")
    assert [entry.scheduler for entry in saved.schedulers] == ["gavel.max_min_fairness"]
    panel.set("fifo")
    panel.open(saved)
    assert panel._today.value == "gavel.max_min_fairness" and panel._knobs.values()["round_s"] == 720
    again = WhatIfLab(tmp_path / "scenario.json")
    assert again._today.value == "gavel.max_min_fairness" and again._knobs.values()["round_s"] == 720


def test_presenting_shows_question_and_answer(panel: WhatIfLab) -> None:
    panel.set(pairs=1)
    panel.run()
    panel._many.answer()
    panel._page_tabs.selected_index = 1
    bar = panel._frame.presenter.bar
    bar.on = True
    assert (
        bar.titles == ["Question", "Schedule", "Model", "Why", "Measures", "Vary"]
        and panel._page_tabs.selected_index == 0
    )
    bar.number = 3
    assert panel._page_tabs.selected_index == 2
    bar.on = False
    assert panel._page_tabs.selected_index == 1


class Slow:
    """Stands in for a process that is at work for long."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.stopped = 0

    def submit(self, request: Message, hear: Any, asker: Any = None) -> None:
        self.asked.append((request, hear))

    def cancel(self, asker: Any = None) -> None:
        self.stopped += 1
        self.asked[-1][1]({"kind": "cancelled"})


@pytest.fixture
def slow(panel: WhatIfLab, monkeypatch: pytest.MonkeyPatch) -> Slow:
    found = Slow()
    monkeypatch.setattr(widgets.work.page_request, "process_work", lambda: found)
    return found


def test_why_a_dual_and_one_gpu_more_differ_stands_below_the_table(panel: WhatIfLab, slow: Slow) -> None:
    panel.buying.work_out()
    same = MarginalValue("v100", 2, 2.48, 0.1, 0.1, 0.04, 0.04, "")
    slow.asked[-1][1]({"kind": "done", "values": MarginalValues("x", 1.0, "max", "1", 0.0, 3, (same,)).as_json()})
    assert "wb-note" not in panel.buying._table.value
    apart = same._replace(one_more=0.05, note="<b> step size")
    panel.buying.work_out()
    slow.asked[-1][1]({"kind": "done", "values": MarginalValues("x", 1.0, "max", "1", 0.0, 3, (apart,)).as_json()})
    assert panel.buying._table.value.endswith("<p class='wb-note'>v100: &lt;b&gt; step size.</p>")


def test_the_pages_model_and_vary_begin_once_when_they_are_opened(
    panel: WhatIfLab, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "process_work", lambda: slow)
    for page, kinds in (("Model", ["marginal"]), ("Vary", ["marginal", "measure"]), ("Model", ["marginal", "measure"])):
        panel._page_tabs.selected_index = panel._page_tabs.titles.index(page)
        assert [request["kind"] for request, _ in slow.asked] == kinds


def test_working_out_what_to_buy_can_be_cancelled(panel: WhatIfLab, slow: Slow) -> None:
    panel.buying.work_out()
    assert panel.buying.go.disabled and not panel.buying.stop.disabled
    panel.buying.stop.click()
    assert panel.buying.said.text == "Cancelled: nothing was worked out yet." and slow.stopped == 1
    assert not panel.buying.go.disabled and panel.buying.stop.disabled
    panel.buying.work_out()
    Here().submit(*slow.asked[-1])
    assert panel.buying.values is not None
    pd.testing.assert_frame_equal(panel.buying.values.table, workbench.marginal_values("preset:start_here").table)
    panel.buying.work_out()
    panel._frame.presets.value = "gavel_example"
    assert slow.stopped == 2 and panel.buying.values is None and not panel.buying.go.disabled
    slow.asked[-1][1]({"kind": "error", **InputError("late", 1, "2").as_json()})
    assert "Work out says" in panel.buying.said.text


def test_reading_a_trace_can_be_cancelled_and_leaves_nothing(panel: WhatIfLab, slow: Slow) -> None:
    before = panel.scenario
    panel.trace.cluster.value = "v100=1x4"
    upload(panel, "mine.csv", b"x")
    path = Path(slow.asked[-1][0]["paths"][0])
    assert path.read_bytes() == b"x" and panel.trace.stop.layout.display is None
    panel.trace.stop.click()
    assert panel.trace.said.text == "Cancelled: what was open stays." and panel.scenario is before
    assert not path.parent.exists() and panel.trace.stop.layout.display == "none"


def outdated(panel: WhatIfLab) -> str:
    return str(panel._pages._old.value)


def test_a_run_that_fails_is_named(panel: WhatIfLab) -> None:
    panel.set(pairs=1)
    panel.run()
    for number, request in enumerate(panel._many.requests):
        failed = WorkbenchError("solver", "no answer", "one")
        panel._many.on_outcome(number, failed if number else attempt(request))
    panel._many.on_end("done", "")
    assert panel.state == "failed" and panel.status.startswith("nodes v100=+1, seed 0: solver")


def test_another_scenario_takes_back_what_was_shown(panel: WhatIfLab) -> None:
    panel.run()
    panel._many.answer()
    panel.buying.work_out()
    assert panel.buying.values is not None
    panel.set("gavel.max_min_fairness", round_s=720)
    panel._frame.presets.value = "gavel_simulated"
    assert panel._today.value == "gavel.max_min_fairness" and panel._knobs.values()["round_s"] == 720
    assert panel.scenario == workbench.preset("gavel_simulated") and panel.buying.values is None
    assert panel._report.disabled and list(panel._form.type.options) == ["v100", "p100", "k80"]
    with pytest.raises(InputError):
        _ = panel.answer


def upload(panel: WhatIfLab, name: str, content: bytes) -> str:
    panel.trace.open([{"name": name, "content": content}])
    return str(panel.trace.said.text)


def load_file(panel: WhatIfLab, name: str, content: bytes) -> str:
    panel._frame.file.load([{"name": name, "content": memoryview(content)}])
    return str(panel._frame.file.said.text)


def test_a_scenario_file_opens_and_a_strangers_file_is_refused(panel: WhatIfLab) -> None:
    before = panel.scenario
    for name, content, said in (
        ("x.json", b"\xff\xfe\x00", "UTF-8"),
        ("x.json", b"{", "JSON"),
        ("x.json", b'{"jobs": 1}', "cluster"),
        ("<b>.json", b"[]", "an object"),
        ("../../etc/x.json", b"1", "x.json: got 1"),
    ):
        assert said in load_file(panel, name, content) and panel._frame.file.said.tone == "bad"
        assert panel.scenario is before
    other = workbench.preset("gavel_example")
    assert load_file(panel, "mine.json", other.to_json().encode()) == "Loaded mine.json."
    assert panel.scenario == other


def test_a_trace_opens_on_the_cluster_that_is_named(panel: WhatIfLab, tmp_path: Path) -> None:
    rows = ["job_id,user,gpu_num,state,submit_time,duration"]
    rows += [f"j{i},ann,1,COMPLETED,2020-04-01 00:{i:02d}:00,3600" for i in range(6)]
    text = "\n".join([*rows, "j9,ann,1,LOST,2020-04-01 00:20:00,3600"]).encode()
    panel.trace.format.value = "helios"
    assert "which GPUs the cluster has" in upload(panel, "mine.csv", text) and panel.trace.said.tone == "bad"
    panel.trace.cluster.value = "v100=1x4"
    assert "6 of 7 rows kept" in upload(panel, "mine.csv", text)
    assert panel.scenario.cluster.capacity == {"v100": 4} and len(panel.scenario.jobs) == 6
    assert panel.scenario.notes[:2] == (
        "mine.csv (helios): 7 rows read, 6 kept",
        "1 dropped: state none of COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL, SUSPENDED (line 8)",
    )
    assert all(html.escape(note) in panel._about.value for note in panel.scenario.notes)
    panel.trace.sample.value = "3"
    upload(panel, "mine.csv", text)
    assert len(panel.scenario.jobs) == 3
    panel.trace.sample.value = "few"
    assert "jobs kept" in upload(panel, "mine.csv", text)
    panel.trace.sample.value, panel.trace.cluster.value = "", "v100"
    assert "v100=8x4" in upload(panel, "mine.csv", text)
    panel.trace.format.value = "philly"
    panel.trace.cluster.value = "v100=1x4"
    said = upload(panel, "mine.csv", text)
    assert said.startswith("mine.csv") and "/tmp" not in said


def test_a_file_too_large_for_a_page_is_refused_and_nothing_is_asked(panel: WhatIfLab) -> None:
    large, before = memoryview(bytes(MOST_BYTES + 1)), panel.scenario
    panel.trace.open([{"name": "year.csv", "content": large}])
    assert panel.trace.said.text.startswith("year.csv: got 8.0 MB; expected at most 8 MB here; workbench convert")
    panel.trace._on_throughputs([{"name": "speeds.json", "content": large}])
    assert panel.trace.said.text.startswith("speeds.json: got 8.0 MB") and panel.trace._throughputs is None
    assert panel.scenario is before


def test_a_file_of_throughputs_goes_with_the_format_it_was_chosen_for(panel: WhatIfLab) -> None:
    text = b"job_id,user,gpu_num,state,submit_time,duration\nj0,ann,1,COMPLETED,2020-04-01 00:00:00,3600"
    panel.trace.format.value, panel.trace.cluster.value = "gavel", "v100=1x4"
    panel.trace._on_throughputs([{"name": "speeds.json", "content": memoryview(b"{}")}])
    panel.trace.format.value = "helios"
    assert panel.trace.said.text == "No longer with the throughputs of speeds.json."
    assert "1 of 1 row kept" in upload(panel, "mine.csv", text)


def test_a_trace_that_needs_a_file_of_throughputs_says_where_it_is_chosen(panel: WhatIfLab) -> None:
    panel.trace.format.value, panel.trace.cluster.value = "gavel", "v100=1x4"
    assert upload(panel, "mine.trace", b"x").endswith("Choose that file with Throughputs, then open the trace again")


def test_without_jobs_there_is_nothing_to_compare(panel: WhatIfLab) -> None:
    panel.open(workbench.preset("start_here").replace(jobs=[]))
    assert panel.state == "invalid" and "at least one job" in panel.status
    panel._frame.undo.click()
    assert panel.state == "edited"


def test_settings_that_there_are_not_are_refused(panel: WhatIfLab) -> None:
    for wrong in ({"pairs": 0}, {"pairs": 31}, {"bootstrap": "jobs"}, {"scheduler": "nobody"}, {"change": "load 2, 3"}):
        with pytest.raises(InputError):
            panel.set(**wrong)  # type: ignore[arg-type]


def test_a_change_without_controls_says_who_can_make_it() -> None:
    form = ChangeForm(lambda: None, dict)
    form.offer(workbench.preset("start_here"), "las")
    with pytest.raises(InputError, match=r"workbench\.what_if"):
        form.show(parse_change("density 120, seed=3"))
    site = workbench.preset("start_here").to_dict()
    site["cluster"]["nodes"] = [{"name": "one", "accelerator": "v100", "gpus": 2}]
    form.offer(workbench.Scenario.from_dict(site), "slurm")
    assert form._texts["without"].value == form._texts["set"].value == "", "nothing of it can be changed so"
    site["entities"] = [{"name": "partition p", "attributes": {"kind": "partition"}}]
    form.offer(workbench.Scenario.from_dict(site), "slurm")
    assert form._texts["set"].value == "partition p PriorityTier=5"


def test_a_knob_to_change_begins_at_what_it_is_today(panel: WhatIfLab) -> None:
    panel.set("gavel.max_min_fairness", "load 2", round_s=720)
    panel._form.knob_name.value = "round_s"
    panel._form.kind.value = "knob"
    assert panel.change == KnobTo("round_s", 720.0)
    panel.set(round_s=600)
    panel._form.kind.value = "load"
    panel._form.kind.value = "knob"
    assert panel.change == KnobTo("round_s", 600.0)


def test_a_log_is_calibrated_beside_todays_scheduler(panel: WhatIfLab, tmp_path: Path) -> None:
    """The verdict becomes the scenario's first note; waits by partition, a scatter and its quantiles are a page."""
    page = panel.calibration
    assert page.box.layout.display == "none", "no log"
    panel.open(log(tmp_path, known=True, jobs=80))
    panel.set("slurm")
    assert page.box.layout.display is None and page.said.text.startswith("Not calibrated")
    page.work_out()
    assert page.found is not None and panel.scenario.notes[0] == page.found.note() == page.said.text
    direct = workbench.calibrate(panel.scenario)
    assert page.found.as_json() == direct.as_json()
    pd.testing.assert_frame_equal(page.found.by("user"), direct.by("user"), rtol=1e-12)
    drawing = page._chart.drawing
    assert drawing is not None and set(drawing.table["partition"]) == {"big"} and len(drawing.table) == 6
    assert page._told.value.count("<th ") + page._told.value.count("<th>") == 6 and drawing.label.startswith(
        "Waits: "
    ), "as narrow as a small page"
    assert "big" in page._told.value and panel._page_tabs.titles[panel._page_tabs.selected_index] == "Why"
    assert html.escape(page.found.note()) not in panel._about.value, "it stands beside the button already"
    verdict = page.found.note()
    panel.set("fifo")
    assert page.said.text == "Calibration: none of fifo: the verdict in the scenario is of slurm."
    panel.set("slurm")
    panel.set(limits=False)
    assert page.said.text == "Calibration: none with limits=False: the verdict in the scenario is of slurm without."
    panel.set(limits=True)
    assert panel.scenario.notes[0] == verdict == page.said.text, "it stands on every later answer"
    panel.run()
    panel._many.answer()
    lead = panel._pages._said.value.partition("<details>")[0]
    assert html.escape(verdict) in lead and "<b>With " in lead, "and hides none"
    assert panel._page_tabs.titles[panel._page_tabs.selected_index] == "Schedule", "where the answer stands"
