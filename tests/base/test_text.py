"""Text from users is text wherever it is shown, names hold nothing unseen, and Dask examples are secure."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import mistune
import pandas as pd
import pytest

import workbench
from tests.simulation.support import make
from workbench import Scenario
from workbench.base.errors import InputError
from workbench.cli import main
from workbench.scenario.scenario import json_schema
from workbench.simulation.run import Run

PROJECT = Path(__file__).parents[2]
UNSEEN = [
    "\x00",
    "\t",
    "\n",
    "\x1b",
    "\x7f",
    "\x85",
    "\u061c",
    "\u200e",
    "\u200f",
    "\u2028",
    "\u2029",
    "\u202a",
    "\u202e",
]
UNSEEN += ["\u2066", "\u2069", "\ud800"]
SEEN = ["naïve", "名前", "می‌خواهم", "👩‍💻", "a b", "[a](javascript:alert(1))", "=1+1"]
LINK = "[a](javascript:alert(1)) *b* <img src=x> $x$ `c` ![d](http://e)"


@pytest.mark.parametrize("letter", UNSEEN, ids=ascii)
def test_no_name_holds_what_is_not_seen(letter: str) -> None:
    good = make([{"steps": 3.0, "user": "u"}]).to_dict()
    places = [("name",), ("jobs", 0, "name"), ("jobs", 0, "user"), ("cluster", "nodes", 0, "name")]
    for *way, last in places:
        data = json.loads(json.dumps(good))
        found = data
        for step in way:
            found = found[step]
        found[last] = f"a{letter}b"
        with pytest.raises(InputError, match=r"expected text") as caught:
            Scenario.from_dict(data)
        assert letter == "\n" or letter not in str(caught.value)
    with pytest.raises(InputError):
        Scenario.from_dict({**good, "schedulers": [{"scheduler": "las", "knobs": {"x": f"a{letter}b"}}]})
    if letter in "\t\n":
        assert Scenario.from_dict({**good, "description": f"a{letter}b"})
    else:
        with pytest.raises(InputError):
            Scenario.from_dict({**good, "description": f"a{letter}b"})


def test_the_schema_says_the_same() -> None:
    pattern = json_schema()["$defs"]["Entity"]["properties"]["name"]["pattern"]
    for letter in UNSEEN[:-1]:
        assert not re.fullmatch(pattern, f"a{letter}b")
    for name in SEEN:
        assert re.fullmatch(pattern, name)
        assert make([{"steps": 3.0, "name": name}]).jobs[0].name == name


def test_markdown_shows_a_name_and_makes_no_link_of_it() -> None:
    from workbench.base.text import in_markdown

    shown = str(mistune.create_markdown(escape=False)(in_markdown(LINK)))
    text = re.sub(r"<[^>]*>", "", shown)
    assert re.findall(r"<(\w+)", shown) == ["p"] and text.strip().replace("&lt;", "<").replace("&gt;", ">") == LINK
    cells = json.loads((PROJECT / "notebooks" / "08_what_if.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    made = [source for source in sources if "Markdown(" in source and "conclusions" in source]
    assert made and all("{in_markdown(said)}" in source for source in made)


def test_a_spreadsheet_runs_no_formula_and_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    names = ["=cmd()", "+1", "-1", "@sum", "plain"]
    run = workbench.simulate(make([{"steps": 3.0, "name": name} for name in names]), "fifo")
    run.save(tmp_path / "run")
    assert Run.load(tmp_path / "run").jobs["job"].tolist() == names
    from workbench.analysis.charts import gantt, to_csv

    drawing = gantt(run.timeline, run.jobs, run.decisions, run.events)
    table = drawing.table
    assert set(names) <= set(table.astype(str).to_numpy().ravel())
    exported = pd.read_csv(io.StringIO(to_csv(drawing)), dtype=str, keep_default_na=False)
    texts = set(exported.to_numpy().ravel())
    assert not texts & {"=cmd()", "+1", "@sum"} and {"'=cmd()", "'+1", "'@sum"} <= texts


def test_a_terminal_is_not_moved_by_what_a_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "turned\u202e.json"
    path.write_text('{"a\x1b[2J": 1}', encoding="utf-8")
    assert main(["validate", str(path)]) == 2
    path.write_text('{"\u202eab": 1}', encoding="utf-8")
    assert main(["validate", str(path)]) == 2
    out, err = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & set(out + err) and "\\u202e" in err


def test_dask_examples_speak_tls_and_an_open_port_elsewhere_is_refused() -> None:
    for path in [PROJECT / "README.md", *PROJECT.glob("docs/*.md"), *PROJECT.glob("notebooks/*.ipynb")]:
        assert "tcp://..." not in path.read_text(encoding="utf-8"), path
    text = (PROJECT / "docs" / "questions.md").read_text(encoding="utf-8")
    assert "Security.temporary()" in text and "runs code as you" in " ".join(text.split())
    with pytest.raises(InputError, match="expected tls://"):
        workbench.sweep(make([{"steps": 3.0}]), "fifo", dask="tcp://10.0.0.5:8786")
