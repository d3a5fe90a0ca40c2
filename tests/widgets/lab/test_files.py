"""Scenario files of a lab: saved, replaced, loaded; on a dashboard only through the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.widgets.lab.support import Waiter, jobs
from widgets import GavelLab
from widgets.parts.files import Download
from workbench.scenario.presets import preset


def test_save_again_and_never_over_something_else(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab._frame.file.save()
    saved = folder / "scenario.json"
    assert workbench.load(saved).jobs == preset("start_here").jobs and str(saved) in lab._frame.file.said.text
    jobs(lab).edit(0, "steps", "1000")
    lab._frame.file.save()  # its own file
    assert workbench.load(saved).jobs[0].steps == 1000
    saved.write_text("something else")
    lab._frame.file.save()
    assert saved.read_text() == "something else" and "exists and is not from this lab" in lab._frame.file.said.text
    lab._frame.file.name.value = "other"
    assert lab._frame.file.replace_button.layout.display == "none", "that was another file"
    lab._frame.file.save()
    assert workbench.load(folder / "other.json").jobs[0].steps == 1000
    lab._frame.file.name.value = "no/such/folder.json"
    lab._frame.file.save()
    assert lab._frame.file.said.text.startswith("Not saved") and lab.state == "edited"


def test_another_file_is_replaced_when_asked_for_and_only_as_it_was_then(work: Waiter, folder: Path) -> None:
    lab, saved = GavelLab(), folder / "scenario.json"
    button = lab._frame.file.replace_button
    saved.write_text("something else")
    assert button.layout.display == "none"
    lab._frame.file.save()
    assert button.layout.display is None and "Replace overwrites it" in lab._frame.file.said.text
    saved.write_text("written meanwhile")
    button.click()
    assert saved.read_text() == "written meanwhile" and button.layout.display is None, "asked once more"
    button.click()
    assert workbench.load(saved).jobs == preset("start_here").jobs and button.layout.display == "none"
    lab._frame.file.save()
    assert "Saved to" in lab._frame.file.said.text, "it is the lab's own now"


def test_the_offer_to_replace_goes_with_the_name_it_was_for(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    for name in ("scenario.json", "mine.json"):
        (folder / name).write_text("something else")
    lab._frame.file.save()
    lab._frame.file.name.value = "mine.json"
    lab._frame.file.replace_button.click()
    assert {(folder / name).read_text() for name in ("scenario.json", "mine.json")} == {"something else"}


def test_save_keeps_the_rest_of_the_plan_and_says_what_is_wrong(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab.set(round_s=720)
    lab._frame.file.save()
    plan = workbench.load(folder / "scenario.json").schedulers
    assert [p.scheduler for p in plan] == [p.scheduler for p in preset("start_here").schedulers]
    assert plan[0].knobs["round_s"] == 720
    lab._knobs._controls["recompute_s"].widget.value = "never"
    lab._frame.file.save()
    assert GavelLab("scenario.json").knobs["recompute_s"] == float("inf")
    jobs(lab).edit(0, "gpus", "0")
    lab._frame.file.save()
    assert lab._frame.file.said.text == "Not saved: Jobs, row 1, GPUs: must be at least 1."


def upload(name: str, content: bytes) -> Any:
    return ({"name": name, "content": memoryview(content), "size": len(content), "type": "", "last_modified": None},)


def test_load(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    text = preset("hadar_example").to_json()
    (folder / "mine.json").write_text(text)
    lab._frame.file.load(upload("mine.json", text.encode()))
    assert lab.scenario == preset("hadar_example") and lab._frame.file.name.value == "mine.json"
    lab._frame.file.save()  # it was loaded from here
    assert "Saved" in lab._frame.file.said.text
    wrong = {"scheduler": "las", "knobs": {"no": 1}}
    for content, says in (
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "mine.json"),
        (
            json.dumps({**json.loads(text), "schedulers": [wrong]}).encode(),
            "schedulers[0].knobs.no",
        ),
    ):
        lab._frame.file.load(upload("mine.json", content))
        assert says in lab._frame.file.said.text and lab._frame.file.said.tone == "bad"
        assert lab.scenario.jobs == preset("hadar_example").jobs and lab.state == "ready"


def test_on_a_dashboard_files_go_to_the_browser_only(
    work: Waiter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5.13")
    sent: list[tuple[str, bytes]] = []
    monkeypatch.setattr(Download, "give", lambda self, name, content: sent.append((name, content)))
    lab = GavelLab()
    lab._frame.file.name.value = str(folder / "elsewhere" / ".." / "mine.json")
    lab._frame.file.save()
    assert lab._frame.file.said.text == "Saved as a download, mine.json."
    lab.solve()
    work.answer()
    for suffix in ("csv", "png"):
        lab._results._gantt._format.value = suffix
        lab._results._gantt.export()
    assert [name for name, _ in sent] == ["mine.json", "gantt.csv", "gantt.png"]
    assert workbench.Scenario.from_json(sent[0][1].decode(), "x").jobs == preset("start_here").jobs
    assert sent[1][1].startswith(b"where,") and sent[2][1].startswith(b"\x89PNG")
    assert list(folder.iterdir()) == [], "nothing on the server's disk"
    jobs(lab).edit(0, "gpus", "0")
    lab._frame.file.save()
    assert lab._frame.file.said.text == "Not saved: Jobs, row 1, GPUs: must be at least 1." and len(sent) == 3
