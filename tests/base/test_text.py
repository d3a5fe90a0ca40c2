"""Text from users is text wherever it is shown, names hold nothing unseen, and Dask examples are secure."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import mistune
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.simulation.support import make
from workbench import Scenario
from workbench.analysis.metrics import METRICS, Summary, table
from workbench.base.errors import InputError
from workbench.base.labels import label_of, unit_beside, with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration, parse_duration
from workbench.cli import main
from workbench.scenario.scenario import json_schema
from workbench.scheduling.estimators.by_name import ESTIMATORS
from workbench.session.registry import formulations, schedulers
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


# Numbers as people read them


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0, 3, "0"),
        (-0.0, 3, "0"),
        (0.012345, 3, "0.0123"),
        (12.345, 3, "12.3"),
        (-12.345, 3, "-12.3"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (1234.6, 3, "1,235"),
        (1234.6, 4, "1,235"),
        (9999.6, 4, "10,000"),
        (12345.6, 4, "12,346"),
        (1_000_000, 6, "1,000,000"),
        (12_345_678, 3, "12,345,678"),
        (2.0, 4, "2"),
        (1e-6, 3, "1e-06"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "-∞"),
        (math.nan, 3, ""),
    ],
)
def test_as_many_digits_as_asked_and_all_before_the_point(value: float, digits: int, text: str) -> None:
    assert short_number(value, digits) == text


def test_what_is_unknown_is_said_as_the_reader_wants() -> None:
    assert short_number(math.nan, unknown="unknown") == "unknown"
    assert short_number(1.5, unknown="unknown") == "1.5"


# Labels made from names, and the unit beside them: every metric and every knob that there is

KNOBS = {knob.name: knob for found in (*schedulers(), *formulations(), *ESTIMATORS) for knob in found.knobs}


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("slo_lease_s", "s", "SLO lease"),
        ("be_order", "", "Best-effort order"),
        ("profile_gpus", "GPUs", "Profile GPUs"),
        ("threshold_gpu_s", "GPU s", "Threshold (GPU s)"),
        ("most_jobs", "jobs", "Most jobs"),
        ("miss_reward", "1", "Miss reward"),
        ("runtime_cv", "1", "Runtime CV"),
        ("learning_rate", "GPU-hours", "Learning rate (GPU-hours)"),
        ("gpus", "GPUs", "GPUs"),
        ("f", "1", "f"),
        ("size_class", "", "Class"),
    ],
)
def test_a_name_becomes_a_label(name, unit, label):
    assert label_of(name, unit) == label


def test_no_label_of_a_knob_has_small_letters_where_the_field_has_capitals():
    words = {word for knob in KNOBS.values() for word in knob.label.replace("(", "").replace(")", "").split()}
    spoilt = {"Gpu", "gpu", "gpus", "Gpus", "Slo", "slo", "Jct", "jct", "Lp", "lp", "Mip", "mip", "cv", "Be", "1"}
    assert words and not words & spoilt
    assert all("_" not in word for word in words)


@pytest.mark.parametrize(
    ("label", "unit", "beside"),
    [
        ("SLO violations", "jobs", "jobs"),
        ("Preemptions", "preemptions", ""),
        ("Jobs finished", "jobs", ""),
        ("Mean GPU time per job", "GPU time", ""),
        ("GPUs held", "%", "%"),
        ("Makespan", "s", "s"),
        ("Throughput", "steps/s", "steps/s"),
        ("Mean latency ratio", "1", ""),
    ],
)
def test_a_unit_that_the_label_says_is_not_said_again(label, unit, beside):
    assert unit_beside(label, unit) == beside


def test_one_thing_is_in_the_singular():
    said = [with_unit(text, unit) for text, unit in (("1", "jobs"), ("2", "jobs"), ("−1", "GPUs"), ("1", "steps/s"))]
    assert said == ["1 job", "2 jobs", "−1 GPU", "1 steps/s"]
    assert with_unit("0.5", "1") == "0.5" and with_unit("2 h", "") == "2 h" and with_unit("1.00", "USD") == "1.00 USD"


def test_the_table_of_measures_says_each_unit_once():
    values = dict.fromkeys((found.name for found in METRICS), 2.0)
    rows = table(Summary(values, {}), [found.name for found in METRICS])
    for label, unit in zip(rows["label"], rows["unit"], strict=True):
        assert unit == unit_beside(label, unit), label
    unit = rows.set_index("label")["unit"]
    assert unit["SLO violations"] == "jobs" and unit["Preemptions"] == "" and unit["Utilisation"] == "%"


# Durations: what people may write, what they are shown, and that nothing is lost between the two


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90 s", 90),
        ("5 min", 300),
        ("5m", 300),
        ("2 h 30 min", 9000),
        ("2h30min", 9000),
        ("2 hours, 30 minutes", 9000),
        ("1.5 h", 5400),
        ("3 d", 259200),
        ("1 week", 604800),
        ("250 ms", 0.25),
        (".5 s", 0.5),
        ("1e3", 1000),
        ("1:30:00", 5400),
        ("0:00:01.5", 1.5),
        ("  7\u00a0d ", 604800),
        ("-5 min", -300),
        ("\u22125 min", -300),
        ("0", 0),
    ],
)
def test_accepted_spellings(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", " ", "soon", "5 parsecs", "2 h 30", "h", "1,5 h", "5 min 5 min", "nan", "inf", "1e999", "--5", "1:75:00"],
)
def test_rejected_text_says_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 90 s, 5 min, 2 h 30 min"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (90, "1 min 30 s"),
        (5400, "1 h 30 min"),
        (5400.1, "1 h 30 min 0.1 s"),
        (86400, "1 d"),
        (864000, "10 d"),
        (1_000_000, "11 d 13 h 46 min 40 s"),
        (-300, "-5 min"),
        (math.nan, ""),
        (math.inf, "\u221e"),
        (-math.inf, "-\u221e"),
        (1e300, "1e+300 s"),
    ],
)
def test_exact_text(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "parts", "text"),
    [
        (1_000_000, 2, "11 d 14 h"),
        (1_000_000, 3, "11 d 13 h 47 min"),
        (86399.9, 2, "1 d"),
        (3725.4567, 3, "1 h 2 min 5 s"),
        (3725.4567, 2, "1 h 2 min"),
        (12.34567, 2, "12.3 s"),
        (59.999, 3, "1 min"),
        (0.000123456, 1, "0.000123 s"),
        (-0.0, 2, "0 s"),
    ],
)
def test_readable_text_rounds_the_last_unit(seconds: float, parts: int, text: str) -> None:
    assert format_duration(seconds, parts=parts) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_text_reads_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_a_number_alone_is_in_the_unit_that_is_told() -> None:
    assert [parse_duration("45"), parse_duration("45", unit="min"), parse_duration("45 s", unit="h")] == [45, 2700, 45]
