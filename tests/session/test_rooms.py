"""Rooms: what is wrong in a declaration is said there; a package of its own is a room; one that fails is left out."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.package_support import installed, python, skeleton, wheel
from workbench import InputError, Knob, Room
from workbench.analysis.symbols import papers
from workbench.cli import main
from workbench.papers.hare.scheduler import OrderMechanism
from workbench.session.registry import paper_rooms, rooms

ROOT = Path(__file__).parents[2]


class Idle(workbench.Scheduler):
    """Gives nobody anything."""

    name, title = "mine", "Idle"

    def timing(self, knobs: Any) -> workbench.Timing:
        return workbench.Timing(360.0)

    def decide(self, snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
        return workbench.Decision(), memory


def idle(**fields: Any) -> Any:
    """A scheduler with other fields."""
    return type("Changed", (Idle,), fields)()


FULL = workbench.find_formulation("gavel.max_min_fairness")
HURRY = Knob("hurry", False, "Goes first", kind="bool")
NAMED = {name: {"formulations": (type("Named", (type(FULL),), {"name": name})(),)} for name in ("mine", "mine.lp")}


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"name": "My Room"}, "room, name: got 'My Room'; expected the name of its package"),
        ({"name": 3}, "room, name: got 3"),
        ({"titel": "Mine"}, r"room: got 'titel'; expected a field, one of name, .* \(did you mean title\?\)"),
        ({"title": 3}, "room mine, title: got 3; expected text"),
        ({"title": "Mine."}, "room mine, title: got 'Mine.'; expected a few words, without a full stop"),
        ({"picture": "radar"}, "room mine, picture: got 'radar'; expected one of gantt, tasks, leases"),
        ({"schedulers": Idle}, "room mine, schedulers: got <class .*Idle'>; expected a tuple of Schedulers"),
        ({"schedulers": (Idle)}, "expected a tuple of Schedulers: "),
        ({"schedulers": [Idle()]}, "expected a tuple of Schedulers: "),
        ({"schedulers": (Idle,)}, "expected an instance of the class: Idle()"),
        ({"schedulers": (FULL,)}, "expected an instance of workbench.Scheduler"),
        ({"formulations": (Idle(),)}, "expected an instance of workbench.Formulation"),
        ({"schedulers": (idle(name=None),)}, 'got Changed without a name; expected name = "mine.mine"'),
        ({"schedulers": (idle(name="other.x"),)}, "got 'other.x'; expected a name such as mine.mine"),
        ({"schedulers": (idle(name="good"),)}, r"'good'; expected .* mine.mine \(it begins with the room's name\)"),
        ({"schedulers": (idle(name="Mine"),)}, "expected a name such as mine.mine"),
        ({"schedulers": (Idle(), Idle())}, "room mine, schedulers: got 'mine'; expected each name once"),
        ({"schedulers": (idle(title=""),)}, "scheduler mine, title: got ''; expected a few words"),
        ({"schedulers": (idle(title="Idle."),)}, "without a full stop"),
        ({"schedulers": (idle(knobs=HURRY),)}, "scheduler mine, knobs: .*; expected a tuple of workbench.Knob"),
        ({"schedulers": (idle(knobs=("hurry",)),)}, r"got 'hurry'; expected workbench.Knob\("),
        ({"schedulers": (idle(knobs=(HURRY, HURRY)),)}, "got 'hurry'; expected each name once"),
        *(
            (
                {"schedulers": (idle(knobs=(replace(HURRY, name=name),)),)},
                f"scheduler mine, knobs: got '{name}'; expected no name of an argument of simulate",
            )
            for name in inspect.signature(workbench.simulate).parameters
        ),
        (
            {"schedulers": (idle(presets={"a": {"haste": 1}}, knobs=(HURRY,)),)},
            "preset a: got 'haste'; expected one",
        ),
        (
            {"schedulers": (idle(presets={"a": {"hurry": 3}}, knobs=(HURRY,)),)},
            "scheduler mine, preset a, knob hurry: got 3; expected true or",
        ),
        *(
            ({"schedulers": (idle(uses=given),)}, "scheduler mine, uses: got .*; expected a set of texts")
            for given in ("attributes.x", {3}, ["weight"], None)
        ),
        (
            {"schedulers": (idle(uses={"wieght"}),)},
            r"uses: got 'wieght'; expected one of \d+ names \(did you mean weight\?\)",
        ),
        ({"schedulers": (idle(uses={"node.attributes.rack"}),)}, r"\(did you mean nodes.attributes.NAME"),
        ({"schedulers": (idle(uses={"attribute.x"}),)}, r"got 'attribute.x'; .*\(did you mean attributes.NAME"),
        ({"schedulers": (idle(uses={"?"}),)}, r"got '\?'; expected one of attributes.NAME, models.attributes.NAME"),
        ({"schedulers": (idle(belief="hearsay"),)}, "scheduler mine, belief: got 'hearsay'; expected one of oracle"),
        ({"schedulers": (idle(belief=3),)}, "scheduler mine, belief: got 3; expected one of oracle"),
        ({"schedulers": (idle(packs="no"),)}, "scheduler mine, packs: got 'no'; expected True or False"),
        ({"schedulers": (idle(presets={"a": {}}, knobs=(HURRY,)),)}, "got no knob preset; expected a knob `preset`"),
        ({"explanations": {"mine": print}}, "room mine, explanations: got 'mine'; expected a scheduler of the room"),
        (
            {"schedulers": (Idle(),), "explanations": {"mine": 3}},
            "explanations, mine: got 3; expected explain",
        ),
        ({"schedulers": (Idle(),), "explanations": {"mine": lambda: 1}}, r"got a function\(\); expected explain"),
        ({"explanations": [print]}, r"explanations: got \[.*; expected {scheduler: function}"),
        ({"studies": {"other.x": print}}, "studies: got 'other.x'; expected a name such as mine.mine"),
        ({"mechanisms": {"x": Idle}}, "room mine, mechanisms, x: got <class .*; expected a subclass of contract.Mech"),
        (
            {"mechanisms": {"plan": OrderMechanism}},
            "mechanisms: got 'plan'; expected a name beside shares, plan, leases",
        ),
        ({"mechanisms": {"a b\n": OrderMechanism}}, r"mechanisms: got 'a b\\n'; expected a name such as mine.mine"),
        ({"mechanisms": {3: OrderMechanism}}, "mechanisms: got 3; expected a name such as mine.mine"),
        ({"estimators": "low_rank"}, "estimators: got 'low_rank'; expected a tuple of names"),
        ({"estimators": ("nope",)}, "room mine, estimators, belief: got 'nope'; expected one of oracle"),
        ({"notebook": "nope"}, "room mine, notebook: got 'nope'; expected its place and a name: 07_mine"),
        ({"symbols": {"a job": "j"}}, "symbols, a job: got 'j'; expected a formulation and its symbol \\(\"lp j\""),
        (
            {"symbols": {"a job": "lp j"}},
            "symbols, a job: got 'lp'; expected a formulation of the room: nothing .there are none",
        ),
        ({"symbols": {"a job": "mine j"}, **NAMED["mine"]}, 'the room in its name: name = "mine.mine"'),
        ({"symbols": {"a job": "mine.lp j"}, **NAMED["mine.lp"]}, "got 'mine.lp'; expected lp: the room is left out"),
    ],
)
def test_a_wrong_declaration_is_told_where_it_is_written(declared: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told.replace("(Mine(),)", "")):
        Room(**{"name": "mine", **declared})


def test_the_fields_of_a_room_are_given_by_name() -> None:
    with pytest.raises(InputError, match=r"room: got 'mine'; expected all fields by name: Room\("):
        Room("mine")  # type: ignore[misc]
    with pytest.raises(InputError, match="room, name: got nothing; expected the name of its package"):
        Room(title="Mine")
    with pytest.raises(InputError, match=r"knob: got no argument help; expected knob\(name, default, help\)"):
        Knob("a", 1.0)  # type: ignore[call-arg]


def test_a_default_is_of_the_knobs_kind_as_a_given_value_is() -> None:
    """So that one setting is one run, whether it was given or not."""
    for knob, value in ((Knob("a", "no", "x", kind="bool"), False), (Knob("a", 5, "x"), 5.0)):
        assert (knob.default, type(knob.default)) == (value, type(value))


@pytest.mark.parametrize(
    ("knob", "told"),
    [
        ({"name": "two words", "default": 1.0}, "knob: got 'two words'; expected a name of letters"),
        ({"name": "a", "default": "x", "kind": "float"}, "knob a, default: got 'x'; expected a number"),
        (
            {"name": "a", "default": 2, "kind": "int", "maximum": 1},
            "knob a, default: got 2; expected a whole",
        ),
        (
            {"name": "a", "default": 2, "kind": "integer"},
            "knob a, kind: got 'integer'; expected bool",
        ),
        (
            {"name": "a", "default": 1.0, "minimum": 3, "maximum": 0},
            "maximum: got 0; expected no less than the minimum",
        ),
        ({"name": "a", "default": 1.0, "min": 0}, "knob: got 'min'; expected a field, .*did you mean .*minimum"),
        ({"name": "a", "default": 1.0, "help": ""}, "knob a, help: got nothing; expected a sentence"),
        ({"name": "a", "default": 10**400}, "knob a, default: got 1000.*; expected a number"),
    ],
)
def test_a_wrong_knob_is_told_where_it_is_written(knob: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Knob(**{"help": "Help", **knob})


def test_the_shipped_rooms_are_whole() -> None:
    assert workbench.skipped_rooms() == {}
    assert [room.name for room in papers()] == ["gavel", "hadar", "hops", "hare", "chronus"]
    for room in papers():
        assert room.citation and (ROOT / "notebooks" / f"{room.notebook}.ipynb").is_file()
        title = room.citation.rpartition(" (")[0]
        assert title in (ROOT / "notebooks" / f"{room.notebook}.ipynb").read_text(encoding="utf-8")
    for room in rooms():
        assert set(room.explanations) == {found.name for found in room.schedulers}
    names = [found.name for room in rooms() for found in room.schedulers]
    assert len(set(names)) == len(names)


def test_the_lists_of_papers_name_every_room() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/papers.md"))
    for room in paper_rooms():
        assert room.title in readme and f"- **{room.title}** (`notebooks/{room.notebook}.ipynb`)" in page


FIVE_BROKEN = '''
import pathlib, sys
import workbench.papers
workbench.papers.__path__.append(str(pathlib.Path.cwd()))
pathlib.Path("dropped").mkdir()
pathlib.Path("dropped/__init__.py").write_text("import sys\\nraise ImportError('no licence')\\n")
pathlib.Path("second").mkdir()
pathlib.Path("second/__init__.py").write_text("""
from workbench import Room
from workbench.baselines.las import Las

ROOM = Room(name="second", schedulers=(Las(),))
""")
for folder, name in (("srtf", "srtf"), ("third", "thirdly"), ("thirdly", "thirdly")):
    pathlib.Path(folder).mkdir()
    pathlib.Path(folder, "__init__.py").write_text(f"""
from workbench import Room
from workbench.baselines.las import Las

ROOM = Room(name={folder!r}, schedulers=(type("Other", (Las,), {{"name": {name!r}}})(),))
""")
for name in ("gavel", "hadar", "hare", "chronus"):
    sys.modules[f"workbench.papers.{name}"] = None  # to import it is an ImportError
import workbench
from widgets import CompareLab, Lab, WhatIfLab
from workbench.session.api import with_usable_schedulers
left_out = workbench.skipped_rooms()
twice, longer = "srtf of workbench.baselines.srtf", "thirdly"
assert sorted(left_out) == ["chronus", "dropped", "gavel", "hadar", "hare", "second", twice, longer], left_out
assert left_out["second"].startswith("room second, schedulers: got 'las'; expected a name such as second.mine")
assert left_out[twice] == f"room {twice}: got 'srtf'; expected a name that no other room has"
assert left_out[longer].endswith("got 'thirdly'; expected names that no other room has")
assert workbench.skipped_rooms()["dropped"] == "ImportError: no licence (dropped/__init__.py:2)"
for lab in (CompareLab(), Lab("hops"), WhatIfLab()):
    [note] = [each for each in lab.scenario.notes if "gavel.max_min_fairness" in each]
    assert note.startswith("Left out of its schedulers: "), note
    assert ": gavel cannot be used: ModuleNotFoundError: " in note, note
    assert with_usable_schedulers(lab.scenario) == lab.scenario
planned = workbench.preset("start_here").replace(schedulers=[{"scheduler": name} for name in ("hadare", "fifo")])
found = workbench.compare(planned)
assert found.labels == ("fifo",) and "schedulers: hadare: hadar cannot" in found.runs[0].scenario.notes[0]

@workbench.formulation("mine", base="hops.round")
def mine(m, data):
    "Hops as it is"

assert workbench.solve("preset:hops_example", "mine").objective == workbench.solve(
    "preset:hops_example", "hops.round").objective

for ask in (lambda: workbench.formulation("sequence", mechanism="order"),
            lambda: workbench.marginal_values("preset:start_here"),
            lambda: workbench.compare(planned.replace(schedulers=planned.schedulers[:1]))):
    try:
        ask()
    except workbench.InputError as error:
        told = ("cannot: ModuleNotFoundError", "cannot be used: Module", "got nothing; expected one of hops.round, ",
                "got 'order'; expected one of shares, plan, leases (without those of chronus, ")
        assert any(each in str(error) for each in told), error
    else:
        raise AssertionError(ask)
'''


def test_shipped_rooms_that_cannot_be_imported_take_nothing_else_with_them(tmp_path: Path) -> None:
    python(tmp_path, "-c", FIVE_BROKEN)


# ---- packages of their own ----

SEEN = """
import json, sys, workbench
from workbench.analysis.symbols import papers
from workbench.cli import main
name = sys.argv[1]
run = workbench.simulate("preset:start_here", name)
print(json.dumps({
    "papers": [room.name for room in papers()],
    "in": [name in {found.name for found in workbench.schedulers()}, name in workbench.paper_map().columns],
    "letters": workbench.symbol_index().set_index("idea")[name].loc["a job"],
    "symbols": int((workbench.symbol_table()["paper"] == name).sum()),
    "objective": workbench.solve("preset:start_here", f"{name}.max_min_share").objective,
    "finished": bool(run.jobs["finish_s"].notna().all()),
    "why": workbench.explain(run, run.jobs["job"][0], 0.0).sentences,
    "skipped": workbench.skipped_rooms(),
}))
main(["list", "--json"])
"""


@pytest.fixture(scope="module")
def sixth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the skeleton, and what its wheel holds."""
    folder = tmp_path_factory.mktemp("sixth")
    package = skeleton("sixth", folder)
    (folder / "site").mkdir()
    installed(folder / "site", wheel("sixth", package, folder))
    return folder


def test_a_wheel_brings_a_paper(sixth: Path) -> None:
    seen, _, listed = python(sixth / "site", "-c", SEEN, "sixth").stdout.partition("\n")
    found = json.loads(seen)
    assert found["papers"] == ["gavel", "hadar", "hops", "hare", "chronus", "sixth"]
    assert found["in"] == [True, True] and found["letters"] == "j" and found["symbols"] >= 6
    assert 0 < found["objective"] <= 1 and found["finished"] and not found["skipped"]
    assert any("worst off" in sentence for sentence in found["why"])
    named = [each for each in json.loads(listed) if each["name"] == "sixth"]
    assert [(each["kind"], each["paper"]) for each in named] == [("scheduler", "sixth")]


WRONG = {
    "lost": ("from . import explain", "import no_such", r"No module named 'no_such' \(.*lost/__init__.py:5\)"),
    "twice": ('name="twice",', 'name="twice", name="again",', "SyntaxError: keyword argument repeated"),
    "bare": ("schedulers=(SCHEDULER,)", "schedulers=SCHEDULER", "room bare, schedulers: got .*; expected a tuple"),
    "nameless": ('name="nameless",', "", "room, name: got nothing; expected the name of its package"),
    "silent": ("ROOM = ", "ROOMS = ", r"silent, ROOM: got nothing; expected ROOM = Room\(...\)"),
    "other": ('name="other"', 'name="another"', "room another, formulations: got 'other.max_min_share'"),
    "guarded": (
        "from workbench.scheduling.declared_room import Room",
        "import sys; sys.exit('no licence')",
        "SystemExit: no licence",
    ),
    "nowhere": (
        'example="start_here"',
        'example="no_preset"',
        "example: got 'no_preset'; expected a built-in",
    ),
    "ordering": (
        'example="start_here"',
        'mechanisms=__import__("workbench.papers.hare", fromlist=["ROOM"]).ROOM.mechanisms',
        "room ordering of .*: got 'order'; expected names that no other room has",
    ),
    "taken": (
        "schedulers=(SCHEDULER,)",
        "schedulers=(SCHEDULER, __import__('workbench').find_scheduler('fifo'))",
        "room taken, schedulers: got 'fifo'; expected a name such as taken.mine",
    ),
}
"""Of a room by name, what is written in its `__init__` instead of what, and the reason why it is left out."""
OUTSIDE = {
    "gavel of dlsched-second": "got 'gavel'; expected a name that no other room has",
    "unmarked": r"workbench.papers.unmarked, ROOM: got nothing; expected ROOM = Room\(...\)",
    "pointed": "entry point of dlsched-pointed: got 'pointed:ROOM'; expected the module alone.* pointed = \"pointed\"",
}
"""Rooms left out for what stands outside them: another has the name, the entry point names more than a module, a folder
lacks its `__init__.py`."""
ALONE = '''"""A room that is one module."""

from workbench.baselines.las import Las
from workbench.scheduling.declared_room import Room


class Alone(Las):
    name, title = "alone", "Alone"


ROOM = Room(name="alone", schedulers=(Alone(),))
'''


def test_rooms_that_cannot_be_used_are_left_out_with_their_reasons(sixth: Path, tmp_path: Path) -> None:
    """Beside two that can be used, one of them named in two words."""
    installed(tmp_path, wheel("sixth", sixth / "sixth", tmp_path))
    for name in ("goodput_fair", "pointed"):
        installed(tmp_path, wheel(name, skeleton(name, tmp_path), tmp_path))
    [points] = tmp_path.glob("dlsched_pointed*.dist-info/entry_points.txt")
    points.write_text("[workbench.papers]\npointed = pointed:ROOM\n", encoding="utf-8")
    second = tmp_path / "source" / "second"
    second.mkdir(parents=True)
    text = 'import no_such\nfrom workbench import Room\n\nROOM = Room(name="gavel")\n'
    (second / "__init__.py").write_text(text, encoding="utf-8")
    installed(tmp_path, wheel("gavel", second.parent, tmp_path, "second"))
    for name, (right, wrong, _) in WRONG.items():
        installed(tmp_path, wheel(name, skeleton(name, tmp_path), tmp_path))
        room = tmp_path / name / "__init__.py"
        text = room.read_text(encoding="utf-8")
        assert right in text
        room.write_text(text.replace(right, wrong), encoding="utf-8")
    (tmp_path / "papers" / "unmarked").mkdir(parents=True)
    (tmp_path / "papers" / "unmarked" / "scheduler.py").write_text("", encoding="utf-8")
    (tmp_path / "papers" / "alone.py").write_text(ALONE, encoding="utf-8")
    (tmp_path / "papers" / "baselines" / "folder").mkdir(parents=True)
    a_folder = ALONE.replace("alone", "folder")
    (tmp_path / "papers" / "baselines" / "folder" / "__init__.py").write_text(a_folder, encoding="utf-8")
    code = """
import json, re, sys, workbench, workbench.baselines, workbench.papers
wrong, outside = map(json.loads, sys.argv[1:3])
workbench.papers.__path__.append(sys.argv[3])
workbench.baselines.__path__.append(sys.argv[3] + "/baselines")
told, reasons = workbench.skipped_rooms(), {room: reason for room, (_, _, reason) in wrong.items()} | outside
assert set(told) == set(reasons), told
assert len(workbench.schedulers()) == 35
assert workbench.find_scheduler("alone").title == workbench.find_scheduler("folder").title == "Alone"
assert not set(wrong) & set(workbench.paper_map().columns)
assert workbench.find_scheduler("gavel.fifo").title
for room, reason in reasons.items():
    assert re.search(reason, told[room]), told[room]
for room in wrong:
    for ask in (workbench.find_scheduler, workbench.find_formulation):
        for name in (room, f"{room}.max_min_share"):
            try:
                ask(name)
            except workbench.InputError as error:
                assert told[room] in str(error), error
try:
    workbench.find_scheduler("nobody")
except workbench.InputError as error:
    assert "without those of unmarked, bare, " in str(error), error
from widgets import GoodputFairLab, SixthLab
assert "Rooms left out: unmarked: " in SixthLab()._choice.left_out.value
assert GoodputFairLab()._choice.scheduler.name == "goodput_fair"
try:
    from widgets import Goodput_fairLab
except ImportError as error:
    assert "cannot import name" in str(error), error
else:
    raise AssertionError("a lab is named as Python names classes")
try:
    from widgets import LostLab
except workbench.InputError as error:
    assert "lab: got 'lost'; expected a room that can be used; lost cannot: ModuleNotFoundError: " in str(error)
else:
    raise AssertionError("a lab of a room that is left out")
from workbench.cli import main
sys.exit(main(["list", "--json"]))
"""
    listed = python(tmp_path, "-c", code, json.dumps(WRONG), json.dumps(OUTSIDE), str(tmp_path / "papers"))
    assert len([e for e in json.loads(listed.stdout) if e["kind"] == "scheduler"]) == 35
    lines = listed.stderr.splitlines()
    assert len(lines) == len(WRONG) + len(OUTSIDE) and all(line.startswith("left out: room ") for line in lines)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Sixth", "small letters"),
        ("6th", "small letters"),
        ("a-b", "small letters"),
        ("class", "no word of Python's"),
        ("x" * 41, "at most 40"),
        ("gavel", "a name that no room or scheduler has"),
        ("hadare", "a name that no room or scheduler has"),
        ("what_if", "a name that no room or scheduler has"),
        ("compare", "a name that no command has"),
        ("new_paper", "a name that no command has"),
        ("match", "no word of Python's"),
        ("json", "a name that no module"),
        ("numpy", "a name that no module"),
    ],
)
def test_names_that_cannot_be(name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-paper", name, "--to", str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "NAME: got " in line and told in line and not list(tmp_path.iterdir())


def test_nothing_is_overwritten(sixth: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (sixth / "sixth").rglob("*.py")}
    assert main(["new-paper", "sixth", "--to", str(sixth)]) == 2
    assert "expected a new folder (nothing is overwritten)" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (sixth / "sixth").rglob("*.py")} == before
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["new-paper", "sixth", "--to", str(tmp_path / "file")]) == 2
    assert "--to: got " in capsys.readouterr().err


def test_folders_are_made_and_where_one_happens_to_be_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = tmp_path / "here", tmp_path / "new" / "there"
    for each in ("tenth.py", "ninth/__init__.py"):
        (here / each).parent.mkdir(parents=True, exist_ok=True)
        (here / each).write_text("", encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.syspath_prepend("")  # as `python -m workbench` has it
    for name in ("tenth", "ninth"):
        assert main(["new-paper", name, "--to", str(there)]) == 0
        assert f"--no-build-isolation -e {there / name}\n" in capsys.readouterr().out
    built = [sys.executable, "-m", "pip", "wheel", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*built, "-w", str(tmp_path), str(there / "tenth")], check=True)
    assert [each.name for each in tmp_path.glob("*.whl")] == ["dlsched_tenth-0.1.0-py3-none-any.whl"]
    assert main(["new-paper", "tenth", "--to", str(here)]) == 2
    assert "a name that no module" in capsys.readouterr().err
