"""A scenario file from a stranger can at worst be refused: in words, soon, and the lab stays as it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calls import calls_at_most
from tests.widgets.lab.support import Waiter, titles
from widgets import GavelLab
from widgets.lab.results import PAGES
from widgets.parts.files import MOST_BYTES
from workbench.base.errors import WorkbenchError
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario

GOOD = json.loads(preset("start_here").to_json())
MOST_CALLS = 5_000
SAID = 2000
"""A line of words, whatever the file says."""


def with_(path: str, value: Any) -> bytes:
    data = copy.deepcopy(GOOD)
    *steps, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = data
    for step in steps:
        place = place[step]
    place[last] = value
    return json.dumps(data).encode()


HOSTILE = {
    "empty": b"",
    "not text": b"\xff\xfe\x00\x01",
    "another encoding": json.dumps(GOOD).encode("utf-16"),
    "not JSON": b"import os",
    "a list": b"[]",
    "a number": b"1",
    "deep lists": b"[" * 200_000,
    "deep lists that end": b"[" * 50_000 + b"]" * 50_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a number too long to read": b'{"seed": ' + b"9" * 100_000 + b"}",
    "infinite": b'{"seed": 1e999}',
    "NaN": json.dumps(GOOD).replace("1.0", "NaN", 1).encode(),
    "a key twice": b'{"seed": 1, "seed": 2}',
    "an unknown key": with_("surprise", 1),
    "an unknown key of a job": with_("jobs.0.__class__", "os"),
    "more nodes than there are": with_("cluster.nodes.0.count", 10**12),
    "more GPUs than there are": with_("cluster.nodes.0.gpus", 10**12),
    "negative steps": with_("jobs.0.steps", -1),
    "a gang without end": with_("jobs.0.gpus", 10**30),
    "a name without end": with_("jobs.0.name", "x" * 1_000_000),
    "a seed without end": with_("seed", 10**60),
    "a plan of nobody's": with_("schedulers", [{"scheduler": "os.system", "knobs": {}}]),
    "a knob of nobody's": with_("schedulers", [{"scheduler": "fifo", "knobs": {"__import__": "os"}}]),
    "too large": b" " * (MOST_BYTES + 1),
}


def upload(content: bytes, name: str = "from a stranger.json") -> Any:
    return ({"name": name, "content": memoryview(content), "size": len(content), "type": "", "last_modified": None},)


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_scenario_is_refused_soon_and_in_words(work: Waiter, content: bytes) -> None:
    lab = GavelLab()
    before = lab.scenario
    with calls_at_most(MOST_CALLS):
        lab._frame.file.load(upload(content))
    said = lab._frame.file.said
    assert said.tone == "bad" and said.text and len(said.text) < SAID and "\n" not in said.text
    assert lab.scenario == before and lab.state == "ready" and lab._frame.undo.disabled


def test_tags_in_a_file_are_text_on_the_page(work: Waiter) -> None:
    data = copy.deepcopy(GOOD)
    tag = "<img src=x onerror=alert(1)>"
    data["name"], data["description"] = "a name", tag
    data["jobs"][0]["name"] = tag
    lab = GavelLab()
    lab._frame.file.load(upload(json.dumps(data).encode(), f"{tag}.json"))
    if lab._frame.file.said.tone != "bad":
        lab.solve()
        work.answer()
        lab._results.select(tag)
        shown = [
            lab._scenario.about.value,
            lab._note.value,
            lab._results._job.value,
            lab._results.compared.measures.value,
        ]
        shown += [lab._results._table.text.value, lab._scenario.also.value]
        for name in (*PAGES, *titles(lab)):
            lab._results.open(name)
            shown.append(lab._results._table.text.value)
        assert not any("<img" in text for text in shown)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but the whole."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for key, part in parts for each in [(*here, key), *paths(part, (*here, key))]]


PATHS = paths(GOOD)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), min_size=1, max_size=3), st.integers(0, 2))
def test_whatever_stands_in_a_file_it_is_a_scenario_or_an_error_of_ours(changes: list[Any], drop: int) -> None:
    data = copy.deepcopy(GOOD)
    for path, value in changes:
        place = data
        for step in path[:-1]:
            if not isinstance(place, (dict, list)) or (isinstance(place, list) and step >= len(place)):
                break
            place = place[step] if isinstance(place, list) else place.get(step, {})
        if isinstance(place, dict):
            place.pop(path[-1], None) if drop == 0 else place.__setitem__(path[-1], value)
        elif isinstance(place, list) and isinstance(path[-1], int) and path[-1] < len(place):
            place[path[-1]] = value
    try:
        found = Scenario.from_json(json.dumps(data), "file")
    except WorkbenchError as error:
        assert str(error).startswith("file") or "file" in str(error).splitlines()[0]
    else:
        assert Scenario.from_json(found.to_json()) == found


def test_files_are_refused_by_their_size_before_they_are_read(work: Waiter) -> None:
    class Unread:
        nbytes = MOST_BYTES + 1

        def __bytes__(self) -> bytes:
            raise AssertionError("it was read")

    lab = GavelLab()
    lab._frame.file.load(({"name": "large.json", "content": Unread(), "size": MOST_BYTES + 1},))
    assert "large.json" in lab._frame.file.said.text and "8 MB" in lab._frame.file.said.text
