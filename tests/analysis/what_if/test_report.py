"""Reports: everything inside one page, nothing a user wrote is markup, small, and the command that writes them."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.analysis.metrics.confidence import LEVEL
from workbench.analysis.run_report import run_report, save_report
from workbench.analysis.what_if import what_if
from workbench.analysis.what_if.marginal import marginal_values
from workbench.analysis.what_if.report import what_if_report
from workbench.base.errors import InputError
from workbench.base.rounding import short_number
from workbench.cli import main
from workbench.simulation.run import Run

MOST_BYTES = 3_000_000
EVIL = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def evil() -> Run:
    """A run in which every text that a user may write is markup."""
    scenario = workbench.preset("start_here")
    jobs = [job.model_copy(update={"name": f"{EVIL}{i}", "user": EVIL}) for i, job in enumerate(scenario.jobs)]
    group, *rest = scenario.cluster.nodes
    cluster = scenario.cluster.model_dump(mode="json")
    cluster["nodes"] = [{**group.model_dump(mode="json"), "name": EVIL}, *(g.model_dump(mode="json") for g in rest)]
    return workbench.simulate(scenario.replace(name=EVIL, description=EVIL, jobs=jobs, cluster=cluster), "las")


def safe(text: str) -> Page:
    """The page, if it holds all that it shows and runs nothing."""
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "div", "table", "thead"),
        *("tbody", "tr", "th", "td", "figure", "img", "ul", "li"),
    }
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("href", "srcset") for name in attributes)
        if tag == "img":
            kind, data = str(attributes["src"]).split(";base64,")
            assert kind in ("data:image/svg+xml", "data:image/png")
            picture = base64.b64decode(data, validate=True)
            assert b"<script" not in picture and b"onerror=" not in re.sub(rb"&lt;.*?&gt;", b"", picture)
    assert "default-src 'none'" in text and "url(" not in re.sub(r"base64,[^\"]*", "", text)
    assert len(text.encode()) < MOST_BYTES
    return page


def test_a_run_in_one_page_with_its_measures() -> None:
    run = workbench.simulate("preset:start_here", "las")
    page = safe(run_report(run))
    assert sum(tag == "img" for tag, _ in page.tags) == 3
    for said in ("las on start_here", "Mean JCT", "1 x 2 GPUs", "2.48", "Restart costs", run.key()[:16]):
        assert said in page.text, said
    assert re.search(r"Preemptions\s*\d", page.text) and not re.search(r"\d preemption|finished\s*\d+ jobs", page.text)


def test_what_a_run_believed_and_where_it_was_ended_stand_on_its_page_and_on_that_of_a_change() -> None:
    ends = {"belief": "low_rank:profiled=0.5", "until_s": 4500.0}
    run = workbench.simulate("preset:start_here", "las", **ends)
    for page in (run_report(run), what_if_report(what_if("preset:start_here", "las", "scheduler srtf", **ends))):
        text = safe(page).text
        assert "low_rank:profiled=0.5" in text and "1 h 15 min at the latest" in text
    plain = safe(run_report(workbench.simulate("preset:start_here", "las"))).text
    assert "Speeds believed" not in plain and "at the latest" not in plain
    part = safe(run_report(workbench.simulate("preset:start_here", "las", window=(0, 1)))).text
    assert "jobs 0 to 1 by arrival are done" in part


def test_a_saved_run_of_a_scheduler_that_is_not_known_here_has_its_page() -> None:
    run = replace(workbench.simulate("preset:start_here", "las"), scheduler="mine", knobs={"most": 2})
    text = safe(run_report(run)).text
    assert "mine on start_here" in text and "most=2" in text and "Knobs other than default" not in text


def test_what_a_user_wrote_is_never_markup() -> None:
    run = evil()
    assert EVIL in safe(run_report(run)).text
    found = what_if(run.scenario, "las", "scheduler srtf")
    assert EVIL in safe(what_if_report(found)).text


def test_a_what_if_in_one_page_with_table_sentences_and_what_to_buy() -> None:
    found = what_if("preset:start_here", "las", ["nodes v100=+1", "scheduler srtf"], seeds=[0, 1], bootstrap=True)
    page = safe(what_if_report(found, marginal_values("preset:start_here")))
    assert "Mean JCT, simulated" not in page.text, "nobody asked for that"
    for sentence in found.conclusions:
        assert sentence in page.text
    for said in ("With 1 more v100 node: 2 pairs of runs", "95 % interval", "Mean cost per job", "What to buy next"):
        assert said in page.text, said
    assert sum(tag == "img" for tag, _ in page.tags) == 3


def test_numbers_of_a_page_have_no_exponents_that_people_must_read() -> None:
    numbers = {0.0002: "0.0002", 1554.62: "1,555", 12948.8: "12,949", -2.5e6: "-2,500,000", math.nan: ""}
    assert {value: short_number(value, 4) for value in numbers} == numbers


def test_a_long_run_stays_small(tmp_path: Path) -> None:
    """So many bars that the schedule is a picture of pixels, not of shapes."""
    run = workbench.simulate("preset:gavel_physical", "las", round_s=60)
    assert len(run.timeline) > 5000
    save_report(run, tmp_path / "long.html")
    text = (tmp_path / "long.html").read_text(encoding="utf-8")
    assert "image/png" in text
    safe(text)


def test_a_report_has_a_name_in_html_and_overwrites_nothing(tmp_path: Path) -> None:
    run = workbench.simulate("preset:start_here", "las")
    with pytest.raises(InputError, match=r"ends in \.html"):
        save_report(run, tmp_path / "report.pdf")
    save_report(run, tmp_path / "report.html")
    with pytest.raises(InputError, match="exists"):
        save_report(run, tmp_path / "report.html")
    with pytest.raises(InputError, match="a Run"):
        run_report("las")  # type: ignore[arg-type]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    workbench.simulate("preset:start_here", "las").save(tmp_path / "run")
    return tmp_path / "run"


def test_the_command_writes_the_page_of_a_run_and_of_a_change(saved: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "a.html"
    assert main(["report", str(saved), "-o", str(target)]) == 0
    assert f"written to {target}" in capsys.readouterr().out and "las on start_here" in target.read_text(
        encoding="utf-8"
    )
    change = ["--change", "nodes v100=+1", "--seeds", "0:2", "--bootstrap"]
    assert main(["report", str(saved), "-o", str(target), "--force", *change]) == 0
    assert (
        "too short a log to draw" in capsys.readouterr().out
        and "2 pairs of runs" in safe(target.read_text("utf-8")).text
    )
    assert main(["report", str(saved), "-o", str(tmp_path / "b.html"), "--json", *change]) == 0
    assert '"measure": "mean_jct_s"' in capsys.readouterr().out


@pytest.mark.parametrize("ends", [{}, {"until_s": 1800.0}, {"belief": "pmi"}])
def test_both_sides_have_the_belief_and_the_end_of_the_saved_run(tmp_path: Path, capsys: Any, ends: Any) -> None:
    saved = workbench.simulate("preset:hadar_lab", "hadar", **ends)
    saved.save(tmp_path / "run")
    run = workbench.Run.load(tmp_path / "run")
    assert (run.belief, run.until_s) == (ends.get("belief", "oracle"), ends.get("until_s"))
    assert main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "a.html"), "--change", "scheduler hadare"]) == 0
    assert "differs from the saved one" not in capsys.readouterr().err
    pairs = workbench.what_if(run.scenario, run.scheduler, "scheduler hadare", run.knobs, seeds=[run.seed], **ends)
    assert pairs.runs[0][0] == saved and pairs.runs[1][0].belief == saved.belief


def test_a_window_that_ended_the_saved_run_is_told(tmp_path: Path, capsys: Any) -> None:
    workbench.simulate("preset:start_here", "las", window=(0, 0)).save(tmp_path / "run")
    assert main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "a.html"), "--change", "load 1.25"]) == 0
    assert "differs from the saved one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--change", "nodes v101=+1"], "an accelerator type of the cluster"),
        (["--change", "more"], "begins with one of"),
        (["--seeds", "0:3"], "a change to compare with"),
        (["--bootstrap"], "--bootstrap: got no --change; expected a change to compare with"),
        (["--workers", "2"], "--workers: got no --change; expected a change to compare with"),
        (["--level", "0.95"], "--level: got no --change; expected a change to compare with"),
        (
            ["--change", "scheduler srtf", "--level", "95"],
            "--level: got 95.0; expected a level of confidence between 0 and 1",
        ),
    ],
)
def test_the_command_refuses_in_words_and_writes_nothing(
    saved: Path, tmp_path: Path, capsys: Any, more: list[str], said: str
) -> None:
    assert main(["report", str(saved), "-o", str(tmp_path / "x.html"), *more]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "x.html").exists()


def test_a_page_of_another_name_is_refused_before_anything_is_run(
    saved: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.cli.report._changed", None)
    assert main(["report", str(saved), "-o", str(tmp_path / "x.txt"), "--change", "scheduler srtf"]) == 2
    assert "ends in .html" in capsys.readouterr().err


def test_the_help_says_the_level_that_is_taken(capsys: Any) -> None:
    assert main(["report", "--help"]) == 0
    assert f"of the confidence intervals, default {LEVEL:g}" in " ".join(capsys.readouterr().out.split())


def test_the_command_needs_a_saved_run(tmp_path: Path, capsys: Any) -> None:
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 2
    assert "run.json" in capsys.readouterr().err
