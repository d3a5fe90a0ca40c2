"""The papers' evaluations at the tiny size: every exhibit, its verdict, what is kept, the command."""

from __future__ import annotations

import html
import inspect
import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from scipy import stats

from reproduction import COLUMNS, Entry, PaperFigure, causes, exhibits, runner, table
from reproduction.__main__ import _unjudged, main
from reproduction.chronus.best_effort import LINES, Longer, best_effort
from reproduction.chronus.lines import THEMIS
from reproduction.exhibits import Claim, Exhibit, findings
from reproduction.information import worth
from reproduction.registry import VARIABLE, reproductions, size_name, sizes_of
from reproduction.registry import exhibits as known
from reproduction.results import FOLDER, KeptResults
from reproduction.runner import Cell
from tests.reproduction.conftest import cells
from workbench.base.errors import InputError
from workbench.scheduling.estimators.oracle import Oracle
from workbench.session.api import load, snapshot_at


def test_a_reader_who_has_had_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "reproduction", "table", "hare", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as table:
        assert table.stdout is not None and table.stderr is not None
        table.stdout.close()
        assert table.stderr.read() == b"" and table.wait() == 0


def test_a_measure_without_a_claim_has_its_mean_where_it_is_known_in_every_seed() -> None:
    exhibit = known()["gavel.fig9"]
    made = cells({"a / b": [1.0, 4.0], "h": [1.0, 4.0], "gone / b": [1.0, math.nan]})
    made["paper"] = made["measure"].map({"h": -3.0})
    told = {name: _unjudged(exhibit, rows, 2) for name, rows in made.groupby("measure")}
    assert told["a / b"][2:4] == ["", "2"] and told["h"][2:4] == ["-3", "2.5"]  # geometric, arithmetic
    assert told["gone / b"][3:6] == ["-"] * 3 == _unjudged(exhibit, made[made["measure"] == "h"], 3)[3:6]


def test_every_figure_compares_or_says_why_it_cannot(evaluated: Callable[[str], list[PaperFigure]]) -> None:
    for paper in reproductions():
        for figure in evaluated(paper.name):
            assert tuple(figure.table.columns) == COLUMNS and figure.rows, figure.name
            measures = [row.measure for row in figure.rows]
            assert len(set(measures)) == len(measures), figure.name  # each is a seed's value once
            for row in figure.rows:
                assert row.measure and row.unit and row.source and row.note.endswith("."), row
            for panel in figure.panels.values():
                assert not panel.frame.empty and panel.drawing().label


ABOVE = (
    "wDMR, [HP]_MIX2, noise 20 %", "wDMR, leases of * min", "wDMR, 30 % hostile, *", "* over 1000",
    "growth from 32 to 2048 jobs, *", "plan, * GPUs, gap *", "profiling delay, mean, * GPUs",
    "wDMR, * GPUs", "JCT of best effort, leases of * min", "JCT of short jobs, * GPUs",
)  # fmt: skip


def test_every_exhibit_has_claims_that_are_measured_or_a_reason(evaluated: Callable[[str], list[PaperFigure]]) -> None:
    """So that no verdict rests on a misspelt measure, or one of old results. Those `ABOVE` the tiny size are kept."""
    assert 55 <= len(known()) <= 90
    for paper in reproductions():
        made = dict(zip(paper.figures, evaluated(paper.name), strict=True))
        for exhibit in paper.exhibits:
            assert exhibit.says and (exhibit.compute is not None) != bool(exhibit.reason), exhibit.name
            if exhibit.compute in made:
                rows = made[exhibit.compute].rows
                names = {row.measure for row in rows}
                assert all(row.unit == "1" for row in rows if exhibit.is_ratio(row.measure)), exhibit.name
                kept = set(KeptResults().read(f"{paper.name}.{exhibit.name}")["measure"])
                above = [each for each in kept if any(fnmatchcase(each, pattern) for pattern in ABOVE)]
                for claim in exhibit.claims:
                    fits = [row for row in rows if fnmatchcase(row.measure, claim.measure)]
                    kept_above = any(fnmatchcase(each, claim.measure) for each in above)
                    assert fits or kept_above, (paper.name, exhibit.name, claim)
                    told = claim.value == 1 or claim.point or any(row.paper is not None for row in fits)
                    assert claim.sign != "=" or told, claim
                    plain = math.isnan(claim.value) or (claim.sign != "=" and claim.value in (0, 1))
                    printed = f"{claim.value:g}" in re.findall(r"\d+(?:\.\d+)?", exhibit.says)
                    printed |= any(row.paper == claim.value for row in fits)
                    assert plain or printed or claim.word, claim  # a number that is ours is told to be
                    assert not fits or all(set(claim.taken(row.measure)) <= names for row in fits), claim


def test_best_effort_is_compared_under_each_way_to_give_leases() -> None:
    """Too few jobs for best effort, so that its ratios are unknown; misses are not, and longer estimates are longer."""
    paper = next(each for each in reproductions() if each.name == "chronus")
    rows = best_effort(paper.sizes["tiny"]).rows
    assert len({row.measure for row in rows}) == len(rows)
    assert {f"wDMR, {line.name}" for line in (*LINES, THEMIS)} <= {row.measure for row in rows}
    scenario = load("preset:chronus_small")
    jobs = snapshot_at(scenario, 0.0, offline=True).jobs
    ratio = Oracle(scenario).speeds(jobs) / Longer(scenario).speeds(jobs)
    assert ratio[:, 0].tolist() == pytest.approx(
        [1.1 * (1 + 0.025 * (1 + math.log2(gpus))) for gpus in jobs.gpus.tolist()]
    )


def test_a_ratio_needs_both_numbers() -> None:
    rows = (
        Entry("a", "1", 2.0, 3.0, "w.", "s"),
        Entry("b", "1", None, 3.0, "w.", "s"),
        Entry("c", "1", 0.0, 3.0, "w.", "s"),
    )
    found = PaperFigure("F", "t", rows).table["ratio"].tolist()
    assert found[0] == 1.5 and math.isnan(found[1]) and math.isnan(found[2])


def fake(cell: Cell) -> pd.DataFrame:
    return cells({"m": [1.0 + cell.seed % 2]}).assign(size=cell.size, seed=cell.seed, commit=cell.commit)


def slow(cell: Cell) -> pd.DataFrame:
    """The second seed never ends."""
    if cell.seed == 1:
        time.sleep(600)
    return fake(cell)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> str:
    """An exhibit with one measure, computed in this process."""
    exhibit = Exhibit("it", "says", lambda size: PaperFigure("F", "t", ()), (Claim("m", ">", 0),))
    known = {"gavel.it": exhibit}
    monkeypatch.setattr(runner, "exhibits", lambda: known)

    def one_by_one(function: Callable[[Cell], pd.DataFrame], tasks: list[Cell], done: Callable) -> None:
        for number, task in enumerate(tasks):
            done(number, function(task))

    monkeypatch.setattr(runner, "Processes", lambda workers: nullcontext(SimpleNamespace(map=one_by_one)))
    return "gavel.it"


def test_a_stop_by_kill_redoes_no_finished_seed(made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = KeptResults(tmp_path / "kept")
    monkeypatch.setattr(runner, "compute", slow)
    process = multiprocessing.get_context("fork").Process(target=runner.run, args=([made], "tiny", results))
    process.start()
    until = time.monotonic() + 60
    while not results.seeds(made, "tiny") and time.monotonic() < until:
        time.sleep(0.01)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert results.seeds(made, "tiny") == [0]
    asked: list[int] = []
    monkeypatch.setattr(runner, "compute", lambda cell: (asked.append(cell.seed), fake(cell))[1])
    runner.run([made], "tiny", results, most=4)
    assert asked == [1, 2, 3] and results.seeds(made, "tiny") == [0, 1, 2, 3]  # wide still, at most four
    assert runner.wanted(made, "tiny", results, 4) == [] and runner.wanted(made, "tiny", results) == [4]
    assert len(list((tmp_path / "kept").iterdir())) == 1
    with pytest.raises(InputError, match="seed 3"):
        results.add(made, fake(Cell(made, "tiny", 3, "")))
    assert results.seeds(made, "tiny") == [0, 1, 2, 3]


def test_an_open_claim_wants_all_seeds_however_narrow_its_interval(made: str, tmp_path: Path) -> None:
    """Of 1.001, 0.999, 1.001: narrow, and neither above 1 nor not. One that is decided wants no more."""
    results = KeptResults(tmp_path)
    for seed in range(3):
        results.add(made, fake(Cell(made, "tiny", seed, "")).assign(ours=1.001 if seed % 2 == 0 else 0.999))
    assert runner.wanted(made, "tiny", results) == []
    runner.exhibits()[made] = replace(runner.exhibits()[made], claims=(Claim("m", ">", 0), Claim("gone", ">", 0)))
    assert runner.wanted(made, "tiny", results) == []  # no seed measures what is not there
    runner.exhibits()[made] = replace(runner.exhibits()[made], claims=(Claim("m", ">", 1),))
    assert runner.wanted(made, "tiny", results) == list(range(3, runner.MOST))
    for seed in range(3, 12):  # above 1 by now
        results.add(made, fake(Cell(made, "tiny", seed, "")).assign(ours=1.01))
    kept = results.read(made)
    assert findings(runner.exhibits()[made], kept)[0].outcome == "holds"
    assert runner.wanted(made, "tiny", results) == list(range(12, runner.MOST))


def test_what_is_the_same_in_few_seeds_of_unlike_ones_is_not_known_to_be_so_in_all(made: str, tmp_path: Path) -> None:
    for other, left in ((0.0, []), (1.0, [3])):
        results = KeptResults(tmp_path / str(other))
        for seed in range(3):
            rows = cells({"m": [1.0], "n": [other * seed]}).assign(size="tiny", seed=seed)
            results.add(made, rows)
        assert runner.wanted(made, "tiny", results) == left


def test_one_exhibit_is_run_by_its_command_kept_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["run", "gavel.fig1b", "--workers", "1", "--out", str(tmp_path)]
    assert main(argv) == 0
    first, kept = capsys.readouterr(), (tmp_path / "gavel.fig1b.csv").read_bytes()
    assert "deterministic: reproduced (speeds: no scheduler is asked)" in first.out and "Left: 0 exhibits" in first.err
    assert main(argv) == 0 and "kept" not in capsys.readouterr().err
    assert (tmp_path / "gavel.fig1b.csv").read_bytes() == kept
    assert main(["table", "--json", "--out", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == list(known())
    assert {row["verdict"] for row in rows} == {"not run", "not computable here"}  # tiny is no evidence
    assert main(["table", "gavel.fig15"]) == 0
    said = capsys.readouterr().out
    part = {"verdict": "partly", "outcomes": {"fails": 11, "direction": 1, "holds": 2}}
    assert table.told_verdict(part) == "partly (2 of 14)" and table.told_verdict({**part, "verdict": "x"}) == "x"
    assert "Many pairs of models gain" in said and '> 50 (ours: "many")' in said and "hare" not in said
    assert main(["table", "gavel.load", "gavel.tab3"]) == 0  # a line that no rate of the grid saturates, a trace
    said = capsys.readouterr().out
    assert "open, known in 2" in said and "gavel.tab3, size authors, deterministic: " in said
    assert (
        "\nNot varied, so may be a reason: how long a cluster fills" in said and said.count("\nopen: the interval") == 1
    )
    assert "\nWhere the difference is from: python -m reproduction gap gavel.tab3\n" in said
    assert main(["table", "hare.fig5", "hare.fig7", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"\n{known()['hare.fig5'].reason}\n" in said and "\nNothing is kept\n" in said


@pytest.mark.long
def test_a_gap_is_declared_at_its_commit_as_it_says(tmp_path: Path) -> None:
    """So that who checks the commit out computes the same: no `declared` is written by hand."""
    kept = {name: found for name in causes.gaps() if (found := KeptResults().gap(name)) is not None}
    for of in sorted({found["commit"].iloc[0] for found in kept.values()}):
        (folder := tmp_path / of).mkdir()
        packed = subprocess.run(["git", "archive", of, "."], cwd=FOLDER.parents[1], capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", folder], input=packed.stdout, check=True)
        names = [name for name, found in kept.items() if found["commit"].iloc[0] == of]
        told = subprocess.run(
            [sys.executable, "-c", f"{DECLARED}print(*(declared(of[name]) for name in {names}))"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.split() == [kept[name]["declared"].iloc[0] for name in names], (of, names)


DECLARED = f"""
import hashlib, json
from reproduction import causes
of = vars(causes).get("GAPS") or causes.gaps()  # in one place before

for belief in (fields for each in of.values() for fields in each.fields.values() if "sia_belief" in fields):
    belief["sia_belief"] = "scaled"  # the name of "bootstrapped" today

{inspect.getsource(causes.declared).replace("of: Causes", "of")}
"""
"""Today's digest, of commits that have others."""


def test_what_is_kept_is_of_commits_that_there_are() -> None:
    """A result is made anew by checking its commit out."""
    log, shallow = (
        subprocess.run(["git", *words], cwd=FOLDER, capture_output=True, text=True)
        for words in (["log", "--format=%H"], ["rev-parse", "--is-shallow-repository"])
    )
    if shallow.stdout != "false\n":
        pytest.skip("its history is not here")
    tables = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in FOLDER.glob("*.csv")]
    of = {commit for each in tables for column in ("commit", "at") if column in each for commit in each[column]}
    commits = {line[:10] for line in log.stdout.split()}
    assert of <= commits, of - commits
    kept = {(name, *of) for name in known() for of in KeptResults().read(name)[["size", "commit"]].to_numpy()}
    noted = set(KeptResults().notes()[["name", "size", "commit"]].itertuples(index=False, name=None))
    assert noted <= kept, noted - kept  # what was computed again is there


def test_every_kept_result_has_its_command_commit_and_interval_and_pages_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("reproduction.__main__.gap", None)  # what is kept is shown, of however many seeds
    for row in table.rows():
        assert not KeptResults().read(row["id"]).duplicated(["size", "seed", "measure"]).any(), row["id"]
        assert (row["again"] is None) == (row["no_again"] != ""), row["id"]
        assert not row["size"] or row["belief"] == (row["authors_data"] or row["built_in_data"])["belief"], row["id"]
        assert row["paper"] and (row["verdict"] != "not computable here" or row["reason"]), row
        if row["gap"]:
            assert main(["gap", row["id"]]) == 0, row["id"]
            assert causes.OTHER not in row["gap"]["said"], row["id"]
            lines = row["gap"]["lines"]
            parts = [line["cause"].partition(", ")[0] for line in lines if line["cause"].startswith(causes.UNEXPLAINED)]
            assert row["verdict"] != "contradicted" or not row["gap"]["not_parted"], row["id"]
            assert parts == [causes.UNEXPLAINED] * len({line["measure"] for line in lines}), row["id"]
            assert row["gap"]["seeds"] and row["gap"]["commit"] and "+" not in row["gap"]["commit"], row["id"]
            names = {"ours", "interaction", "with all", *causes.gaps()[row["id"]].fields}
            assert {each["cause"] for each in lines if not each["cause"].startswith(("paper", "unexpl"))} == names, row[
                "id"
            ]
        if row["verdict"] in table.UNLIKE:  # its causes are parted or can be, or a sentence says why not
            assert (row["gap"] is None) == (row["no_gap"] != ""), row["id"]
            exhibit = known()[row["id"]]
            assert exhibit.gap or row["no_gap"] == exhibit.no_gap != "", row["id"]
        for shown in (row["authors_data"], row["built_in_data"], *row["other_scales"]):
            if shown:
                assert sum(shown["outcomes"].values()) == len(shown["claims"]), row["id"]
                assert shown["belief"] and shown["scale"], row["id"]
                several = [
                    each for each in shown["claims"] if each["seeds"] > 1 and None not in (each["low"], each["high"])
                ]
                wide = any(
                    each["outcome"] == "open" or each["high"] - each["low"] > 0.1 * abs(each["ours"])
                    for each in several
                )
                few = isinstance(shown["seeds"], int) and shown["seeds"] < runner.MOST
                assert few if shown["more"] else not (wide and few), row["id"]  # all, once a claim was open when narrow
                assert not shown["more"] or shown["more"]["seeds"] == runner.MOST - shown["seeds"], row["id"]
                assert shown["claims"] and shown["machine_s"] >= 0 and len(shown["interval"]) == 2, row["id"]
                timed = known()[row["id"]].told(exhibits.RUNS)
                assert shown["seeds"] in (timed, table.ALIKE) or isinstance(shown["seeds"], int), row["id"]
                low, high = shown["interval"]
                assert known()[row["id"]].timed != "*" or 0 < low < shown["claims"][0]["ours"] < high, row["id"]
                assert shown["commit"] and "+" not in shown["commit"], row["id"]
                assert shown["command"].startswith(f"python -m reproduction run {row['id']} --size "), row["id"]
    for paper in reproductions():
        page = table.Evidence(paper.name)
        spans = page.table.query("exhibit == 'chronus.first_days'")["seeds"]
        assert set(spans) == ({3} if paper.name == "chronus" else set())  # not the draws of each
        told = [table.told_seeds(row) for row in page.rows if row["id"] == "chronus.first_days"]
        assert [" draws of 3 spans" in each for each in told] == [True] * (paper.name == "chronus")
        assert len(page.rows) == len(paper.exhibits) and set(page.table["verdict"]) <= {
            "reproduced",
            "partly",
            "contradicted",
            "undecided",
        }
        shown = page._repr_html_()
        assert "<table>" in shown
        unvaried = [what for row in page.rows for what in row["unvaried"]]
        assert all(shown.count(f"<li>{html.escape(what)}: ") == 1 for what in unvaried), "once, with its exhibits"
        for row in page.rows:
            several = len(table.kept_sizes(row)) > 1
            assert not several or html.escape(f"of size {row['size']}: {row['why_size']}") in shown, row["id"]
            assert (f"{row['id']} by scale" in shown) == bool(row["other_scales"]), row["id"]
            claims = [claim["measure"] for each in row["other_scales"] for claim in each["claims"]]
            assert not claims or set(claims) <= set(table.by_scale(row)["measure"])


@pytest.mark.parametrize("name", ["gavel.fig1b", "gavel.fig15", "hare.lemma2"])
def test_what_is_kept_is_found_again_and_what_differs_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptResults().read(name).query("size == 'full'")
    same, other = KeptResults(tmp_path / "same"), KeptResults(tmp_path / "other")
    same.add(name, kept)
    other.add(name, kept.assign(ours=1.0001 * kept["ours"]))
    other.note(name, "full", kept["commit"].iloc[0], "found once")
    for at, told in (("1+", "the same\n"), ("1+", "the same\n"), ("1", "the same\n"), ("1", "the same at 1 before\n")):
        monkeypatch.setattr("reproduction.__main__.commit", lambda at=at: at)  # +: of files that had been changed
        assert main(["check", name, "--out", str(same.folder)]) == 0
        assert f": {told}" in capsys.readouterr().out and same.notes()["at"].tolist() == [at]
        assert next(row for row in table.rows(same) if row["id"] == name)["again"] == at
    assert main(["check", name, "--out", str(other.folder)]) == 1
    assert " measures differ; " in capsys.readouterr().out and other.notes().empty
    assert next(row for row in table.rows(other) if row["id"] == name)["again"] is None


def test_a_result_that_cannot_be_computed_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    kept = KeptResults(tmp_path)
    for name, of in (("gavel.fig1b", "size == 'authors'"), ("hare.lemma2", "size == 'full'")):
        kept.add(name, KeptResults().read(name).query(of))
    assert main(["check", "gavel.fig1b", "hare.lemma2", "--out", str(tmp_path)]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert "gavel.fig1b, size authors" in first and ": not computed: " in first and second.endswith(": the same")
    assert kept.notes()["name"].tolist() == ["hare.lemma2"]


def test_a_row_is_of_the_nearest_size_with_all_its_seeds_and_no_other_is_computed_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size that has few is a trend until it has all, or ten; what decides no row is asked for by its name only."""
    name, kept = "gavel.information", KeptResults(tmp_path)
    every = KeptResults().read(name).query("size == 'authors'")
    first, few = every[every["seed"] == 0], every[every["seed"] < runner.FEWEST]
    for size, of, shown, why in (
        ("tiny", every, None, None),  # is no evidence
        ("authors", first, "authors", "no other is kept, and of it fewer than 10 seeds"),
        ("full", few, "full", "with 3 seeds, as none has 10"),
        ("authors_thrice", few, "authors_thrice", "with 3 seeds, as none has 10"),
        ("middle", every, "middle", "with 10 seeds, or all that are wanted"),
    ):
        kept.add(name, of.assign(size=size))
        row, *_ = table.rows(kept, name)
        assert row["size"] == shown, size
        assert row["why_size"] == (why if why is None or "no other" in why else f"nearest to the paper {why}")
        left_out = {each for each in sizes_of(name) if runner.decides_none(name, each, kept)}
        assert left_out == ({"authors_steady", "authors_whole"} if size == "middle" else set())
    kept.add(name, every[every["seed"] > 0].assign(size="authors"))
    row, *_ = table.rows(kept, name)
    alike = ("size", "seeds", "interval", "command", "commit", "verdict", "scale", "settings", "outcomes")
    assert row["size"] == "authors" and [row[each] for each in alike] == [row["authors_data"][each] for each in alike]
    assert (row["built_in_data"]["size"], [each["size"] for each in row["other_scales"]]) == (
        "middle",
        ["full", "authors_thrice"],
    )
    assert {(each["from"], each["to"]) for each in row["trends"]} == {("middle", "full"), ("authors", "authors_thrice")}
    left_out = {size for size in sizes_of(name) if runner.decides_none(name, size, kept)}
    assert left_out == {"middle", "full", "authors_steady", "authors_whole"}  # not what is begun nearer to the paper
    for seeds, shown in ((runner.ENOUGH - 1, "authors"), (runner.ENOUGH, "authors_thrice")):
        ten = KeptResults(tmp_path / str(seeds))
        for size, of in (("authors", every), ("authors_thrice", every[every["seed"] < seeds])):
            ten.add(name, of.assign(size=size))
        assert runner.ranked(name, ten)[0] == shown and runner.wanted(name, "authors_thrice", ten)
        assert runner.decides_none(name, "authors", ten) == (shown == "authors_thrice")
    monkeypatch.setattr("reproduction.__main__.run", lambda *of: None)
    for size, told in (("full", True), ("authors_thrice", False), ("tiny", False)):
        assert main(["run", "--size", size, "--out", str(tmp_path)]) == 0
        assert ("Left out: 1 exhibit whose verdict another size has." in capsys.readouterr().err) == told
    kept.add(name, every[every["seed"] >= runner.FEWEST].assign(size="authors_thrice"))
    row, *_ = table.rows(kept, name)
    assert row["size"] == "authors_thrice" and runner.decides_none(name, "authors", kept)
    every, name = KeptResults().read("chronus.fig7b").query("size == 'full'"), "chronus.fig7b"
    for size in ("full", "authors"):
        kept.add(name, every.assign(size=size))
    assert runner.ranked(name, kept)[0] == "full" and runner.decides_none(name, "authors", kept)  # stands beside
    assert runner.why_first(name, kept).endswith(
        ", or all that are wanted; beside, deciding nothing: the authors' data"
    )
    early = KeptResults().read("gavel.fig8").query("size == 'authors_thrice'")
    kept.add("gavel.fig8", early)
    assert runner.ranked("gavel.fig8", kept) == ["authors_thrice"] and early["seed"].nunique() >= runner.ENOUGH
    kept.add("gavel.fig8", early[early["seed"] < runner.FEWEST].assign(size="authors_steady"))
    assert runner.ranked("gavel.fig8", kept) == ["authors_steady", "authors_thrice"]
    assert runner.why_first("gavel.fig8", kept).endswith("; beside, deciding nothing: size authors_thrice")
    alone = KeptResults(tmp_path / "alone")
    alone.add(name, every.assign(size="authors"))
    assert [runner.decides_none(name, size, alone) for size in ("full", "authors_twice")] == [False, True]


def test_an_exhibit_that_is_not_checked_is_said_not_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "hadar.theorem2", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "hadar.theorem2: not checked, nothing is kept of it\n"


def test_a_time_of_another_machine_is_not_held_against_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = KeptResults().read("gavel.fig1b")
    mine["ours"] = 0.0  # changes the table of nobody else
    name, kept = "gavel.fig1b", KeptResults().read("gavel.fig1b").query("size == 'full'")
    first = kept["measure"].iloc[0]
    timed = {**known(), name: replace(known()[name], timed=first)}
    # 10 now: an order of magnitude differs, and what is as claimed on one machine only
    for other_s, most, code in (
        (30.0, None, 1),
        (30.0, math.inf, 0),
        (30.0, 20.0, 1),
        (99.0, math.inf, 1),
        (1.0, 5.0, 1),
    ):
        other = KeptResults(tmp_path / f"{other_s} {most}")
        runs = (kept.assign(ours=kept["ours"].where(kept["measure"] != first, at), seed=seed)
                for seed, at in enumerate((other_s, 0.9 * other_s, 1.1 * other_s)))  # fmt: skip
        other.add(name, pd.concat(runs))
        monkeypatch.setattr(runner, "exhibits", known if most is None else lambda: timed)
        timed[name] = replace(timed[name], claims=(Claim(first, "<", most or 0.0),))
        assert main(["check", name, "--out", str(other.folder)]) == code, (other_s, most)
    found = findings(timed[name], other.read(name))[0]
    assert 0.7 < found.low < 0.9 and 1.1 < found.high < 1.3  # by which it is judged, of the runs
    monkeypatch.setattr(table, "exhibits", lambda: timed)
    row = table._row(name, timed[name], other)
    assert row["interval"] == pytest.approx([0.9 / exhibits.MACHINES, 1.1 * exhibits.MACHINES])
    assert found.outcome == "holds" and timed[name].told(3) == "3 runs"
    assert runner.wanted(name, "full", other) == [3, 4]
    assert table.seeds_at(timed[name], pd.concat([kept, kept.assign(seed=1)])) == "2 runs"  # by chance alike
    figure = known()["hops.fig15"]
    assert figure.is_timed("plan, 128 GPUs, gap 1%") and not figure.is_timed("jobs in the window, of 2000")


def test_a_seed_with_measures_of_two_commits_is_computed_once_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the quicker one of the commit that all seeds have."""
    kept, rows = KeptResults(tmp_path), cells({"a": [1.0], "b": [2.0]}).assign(cpu_s=[9.0, 9.0], commit=["old", "new"])
    for seed, commit_ in ((0, "old"), (1, "new")):
        kept.add("gavel.fig1b", rows.assign(seed=seed, commit=[commit_, "new"], cpu_s=9.0 - seed))
    assert [cell[1:] for cell in runner.kept_cells("gavel.fig1b", kept)] == [("s", 0, "old"), ("s", 0, "new")]
    computed: list[runner.Cell] = []
    monkeypatch.setattr("reproduction.__main__.compute", lambda cell: computed.append(cell) or rows)
    assert main(["check", "gavel.fig1b", "--out", str(tmp_path)]) == 0 and len(computed) == 1
    assert sorted(kept.notes()["commit"]) == ["new", "old"]


def test_a_measure_that_is_new_or_gone_differs() -> None:
    was, now = cells({"a": [1.0], "b": [math.nan], "c": [2.0]}), cells({"b": [math.nan], "c": [2.00001], "d": [1.0]})
    assert runner.otherwise("gavel.fig1b", was, now) == ["a: kept 1, now nan", "d: kept nan, now 1"]


@pytest.mark.parametrize(("name", "seed"), [("hare.fig13", 101), ("hare.fig13", 102), ("gavel.fig11", 101)])
def test_a_seed_that_is_not_kept_agrees_within_the_spread_of_those_that_are(name: str, seed: int) -> None:
    """Within the interval at 99.9 % of one more value, by those that are kept (normal)."""
    kept = KeptResults().read(name).query("size == 'full'")
    again = runner.compute(Cell(name, "full", seed, "")).set_index("measure")["ours"]
    assert seed not in set(kept["seed"]) and set(again.index) == set(kept["measure"])
    for measure, rows in kept.groupby("measure"):
        known, count = rows["ours"], len(rows)
        half = stats.t.ppf(0.9995, count - 1) * float(known.std()) * math.sqrt(1 + 1 / count)
        assert again[measure] == pytest.approx(known.mean(), abs=half + 1e-4 * abs(known.mean())), measure


def test_the_page_on_trust_has_the_numbers_that_are_kept() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "trust.md").read_text(encoding="utf-8")
    said = [[cell.strip() for cell in line.strip("| ").split("|")] for line in page.splitlines() if "| h |" in line]
    both = pd.concat([KeptResults().read(name) for name in ("gavel.tab3", "gavel.program")])
    kept = both.query("size == 'authors' and seed == 0 and unit == 'h'").set_index("measure")
    assert sorted(row[0] for row in said) == sorted(kept.index)
    for measure, _, theirs, ours in said:
        row = kept.loc[measure]
        assert [f"{row[name]:.4g}" for name in ("paper", "ours")] == [f"{float(text):.4g}" for text in (theirs, ours)]


@pytest.mark.parametrize("name", ["gavel.information", "hadar.information", "hops.information"])
def test_what_knowing_is_worth_is_drawn_from_what_is_kept(name: str) -> None:
    kept, figure = KeptResults().read(name), worth(name)
    means = kept.groupby(["size", "measure"], sort=False)["ours"].agg(stats.gmean)
    assert [(row.measure, row.ours) for row in figure.rows] == [
        (measure, pytest.approx(mean)) for (_, measure), mean in means.items()
    ]
    points = figure.panels["a"].frame
    exact, wrong = (points.loc[points["x"] == sd].set_index("line")["y"] for sd in (0.0, 0.3))
    assert len(exact) == len(wrong) and (points["low"] <= points["y"]).all() and (points["y"] <= points["high"]).all()
    shown = {row.measure: row.ours for row in figure.rows}
    for line in (line for line in wrong.index if not line.endswith("nothing")):
        at = next(measure for measure in shown if f"JCT, {line}, told types, error 0.3 / " in measure)
        assert wrong[line] == pytest.approx(shown[at])
    with pytest.raises(InputError, match=r"gavel\.fig99"):
        worth("gavel.fig99")


def test_a_size_comes_from_the_argument_then_the_environment_then_tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert size_name() == "tiny" and size_name("full") == "full"
    monkeypatch.setenv(VARIABLE, "middle")
    assert size_name() == "middle" and size_name("full") == "full"
    monkeypatch.setenv(VARIABLE, "huge")
    with pytest.raises(InputError, match=f"{VARIABLE}.*huge.*tiny, small, middle, full"):
        size_name()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["run", "--size", "huge"], "huge"),
        (["run", "gavel.fig99"], "gavel.fig9"),
        (["gap", "hare.fig99"], "hare.fig18"),
        (["run", "--workers", "0"], "workers"),
        (["run", "--seeds", "31"], "1 to 30"),
    ],
)
def test_bad_input_of_the_command_is_one_message(
    argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert said in capsys.readouterr().err
